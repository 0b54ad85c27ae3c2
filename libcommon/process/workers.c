// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "process/priority.h"
#include "process/worker_starter.h"

#define MS         1000000ULL
#define SLEEP_MS   100
#define KEPT_BYTES (2 << 20) /* of the area, and of an answer's copy, is kept from job to job */
#define END_MS     20        /* time for killed workers to end */
#define WAIT_MS    20        /* from one look at the workers to the next */
/* if other owners have used so much recently, one worker is kept free for root */
#define MUCH_NS  200000000
#define OWNERS   256 /* from so many on, owners without jobs and recent use are forgotten */
#define START_MS 100 /* jobs are given up once starts have failed for this long */
/* the pause between two starts is 1/8 of the time since the first failure, */
#define START_PAUSE    8
#define START_PAUSE_MS 200 /* and at most this */
/* the tool waits this long for the starter; later, it only looks for an answer now and then */
#define PATIENCE_MS     50
#define HUNG_MS         100 /* a killed worker that has not ended by then is hung */
#define MAX_HUNG        8   /* of one user: none of this user's jobs begins until they end */
#define MAX_HUNG_OF_ALL 64  /* of all users but root: one may have many IDs */
#define NR_OPENERS      2
#define OPENER_AREA     (128 << 10)
#define OPENER_BYTES    (32 << 20)
#define OPENER_CPU_MS   300

struct job {
	/* while no worker has begun it */
	struct job *next, **at; /* at: what points to it */
	struct owner *owner;
	UT_hash_handle hh;
	uint64_t tag;
	size_t bytes;
	uint64_t keep; /* workers_call() */
	/*
	 * while its file is being opened: the set that the job belongs to; NULL: that set was freed
	 */
	struct workers *set;
	struct worker *worker;
	/* the opener's request */
	worker_open_fn *open;
	uint8_t request[];
};

/* for whom jobs are done */
struct owner {
	uint64_t id;
	struct job *first, **last; /* jobs that no worker has begun, */
	size_t nr_waiting;         /* and how many these are */
	/* the time that its jobs and opening took (charge_worker()); halved each second */
	uint64_t used_ns, since_ns;
	UT_hash_handle hh;
	struct owner *prev, *next; /* of those with such jobs */
};

struct worker {
	pid_t pid; /* 0: not started, or the starter has not told yet; or -errno */
	int fd;
	uint8_t *area;       /* NULL: not started, and the starter is not asked to */
	bool busy, used;     /* used: it has had a job */
	uint64_t tag, owner; /* of its job, or of its last one */
	struct job *opening; /* the job, while its file is being opened */
	uint64_t kept; /* the .keep of the last job, whose file is still open; 0: no file is */
	int error;     /* why its job cannot be done; 0: it can */
	/* in ns */
	uint64_t awake;          /* when it was last seen awake */
	uint64_t ran_when_awake; /* CPU time until then */
	/* how long it had waited for a CPU by the first look after that */
	uint64_t queued_when_awake;
	bool queue_noted;
	uint64_t ran_before; /* CPU time before the job */
	uint64_t began;      /* when it got the job */
	uint64_t looked;     /* when it was last looked at */
	struct priority_watch priority;
};

struct workers {
	struct worker_kind kind;
	size_t nr_asked;
	struct job *waiting; /* by tag: no worker has begun them */
	uint64_t nr_ended;
	int epoll_fd;
	struct owner *owners, *with_jobs;
	/* since when no worker can be started; 0: the last start did not fail */
	uint64_t unstartable;
	uint64_t next_start; /* after a failure: no start before this time */
	int start_error;
	uint8_t *answer; /* a copy of the answer that was taken last */
	size_t answer_room;
	unsigned nr;
	struct worker workers[];
};

static struct worker_starter starter;
static unsigned nr_sets;

/*
 * killed workers that must be waited for. One that a hanging FUSE server blocks ends only when the
 * server does.
 */
struct ended_worker {
	pid_t pid;
	uint64_t owner, killed_ns;
};
static struct ended_worker *ended;
static size_t nr_ended, ended_room;

/* opens the files for all workers that may not do so themselves */
static struct workers *openers;
static unsigned nr_opened_for;

/* Forgets killed workers that have ended. */
static void reap(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr_ended; i++)
		if (!waitpid(ended[i].pid, NULL, WNOHANG))
			ended[kept++] = ended[i];
	nr_ended = kept;
}

/* Would another of this owner's jobs leave another worker behind? */
static bool is_hung(uint64_t owner)
{
	size_t own = 0, all = 0;
	uint64_t now;

	if (nr_ended < MAX_HUNG || !OWNERS_UID(owner))
		return false;
	now = clock_ns();
	for (size_t i = 0; i < nr_ended; i++) {
		if (now - ended[i].killed_ns < HUNG_MS * MS)
			continue;
		own += OWNERS_UID(ended[i].owner) == OWNERS_UID(owner);
		all += OWNERS_UID(ended[i].owner) != 0;
	}
	return own >= MAX_HUNG || all >= MAX_HUNG_OF_ALL;
}

static void begin_starter(void)
{
	if (!starter.pid)
		/* if it fails, the tool starts the workers itself */
		worker_starter_begin(&starter);
	nr_sets++;
}

/* Workers that cannot be ended now are left to init. */
static void end_starter(void)
{
	if (--nr_sets)
		return;
	worker_starter_end(&starter);
	reap();
	for (uint64_t began = clock_ns(); nr_ended && clock_ns() - began < END_MS * MS; reap())
		usleep(200);
	free(ended);
	ended = NULL;
	nr_ended = ended_room = 0;
}

static size_t open_file(void *area, size_t bytes, size_t room, struct worker_file *file)
{
	worker_open_fn *open;

	(void)room;
	memcpy(&open, area, sizeof(open));
	*file = open((uint8_t *)area + sizeof(open), bytes - sizeof(open));
	return 0;
}

/* 0 or -errno */
static int begin_openers(struct workers *w)
{
	static const struct worker_limits limits = {
		.cpu_ms = OPENER_CPU_MS,
		.bytes = OPENER_BYTES,
		.first = true,
		.opens = true,
	};
	struct epoll_event event = { .events = EPOLLIN };
	int error;

	if (!w->kind.limits.open)
		return 0;
	nr_opened_for++;
	error = openers ? 0 : workers_new(&openers, NR_OPENERS, OPENER_AREA, &limits, open_file);
	if (error)
		return error;
	return epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, openers->epoll_fd, &event) ? -errno : 0;
}

static void end_openers(const struct workers *w)
{
	if (!w->kind.limits.open || --nr_opened_for)
		return;
	/* the sets that their jobs were for have been freed */
	for (unsigned i = 0; openers && i < openers->nr; i++)
		if (openers->workers[i].busy)
			free((void *)(uintptr_t)openers->workers[i].tag);
	workers_free(openers);
	openers = NULL;
}

int workers_new(struct workers **workers, unsigned nr, size_t area_bytes,
		const struct worker_limits *limits, worker_fn *work)
{
	struct workers *w = calloc(1, sizeof(*w) + nr * sizeof(w->workers[0]));
	int error;

	if (!w)
		return -ENOMEM;
	*w = (struct workers){
		.kind = { .limits = *limits, .work = work, .area_bytes = area_bytes },
		.nr = nr,
	};
	if (!w->kind.limits.sleep_ms)
		w->kind.limits.sleep_ms = SLEEP_MS;
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll_fd < 0) {
		free(w);
		return -errno;
	}
	begin_starter();
	error = begin_openers(w);
	if (error) {
		workers_free(w);
		return error;
	}
	*workers = w;
	return 0;
}

/* ---- starting and ending ---- */

/* The area is not used again, because a worker that cannot be ended may still write to it. */
static void drop_ends(struct workers *w, struct worker *worker)
{
	close(worker->fd);
	munmap(worker->area, w->kind.area_bytes);
	/* the priority of the next worker in its place depends on what this one took */
	*worker = (struct worker){ .priority = worker->priority };
}

/* The job's file is not wanted any more. If its opener is at work, take_opened() frees the job. */
static void drop_opening(struct worker *worker)
{
	struct job *job = worker->opening;

	worker->opening = NULL;
	job->worker = NULL;
	if (workers_cancel(openers, (uintptr_t)job))
		free(job);
}

static void end(struct workers *w, struct worker *worker)
{
	if (worker->opening)
		drop_opening(worker);
	if (!worker->area) {
		worker->busy = false;
		worker->error = 0;
		return;
	}
	w->nr_ended++;
	worker_starter_cancel(&starter, &worker->pid);
	if (worker->pid > 0) {
		kill(worker->pid, SIGKILL);
		if (!array_reserve(&ended, &ended_room, nr_ended + 1))
			ended[nr_ended++] =
				(struct ended_worker){ worker->pid, worker->owner, clock_ns() };
	}
	drop_ends(w, worker);
}

/* A memory file that a worker cannot shorten. -1: there cannot be one */
static int new_area(size_t bytes)
{
	struct rlimit most;
	int fd;

	/* ftruncate() would raise SIGXFSZ */
	if (getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur < bytes)
		return -1;
	fd = memfd_create("ehperf-worker", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || (!ftruncate(fd, bytes) &&
		       !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)))
		return fd;
	close(fd);
	return -1;
}

static int begin(struct workers *w, struct worker *worker, int ends[2], int area)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, ends[0], &event))
		return -errno;
	if (area >= 0)
		return worker_starter_ask(&starter, &w->kind, ends[1], area, &worker->pid);
	worker->pid = fork();
	if (!worker->pid)
		worker_child_run(ends[1], &w->kind, worker->area);
	return worker->pid < 0 ? -EAGAIN : 0;
}

/* area: the starter forks the worker, and tells its PID later; -1: the tool itself forks it */
static int start_with(struct workers *w, struct worker *worker, int area)
{
	void *memory = mmap(NULL, w->kind.area_bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_NORESERVE | (area < 0 ? MAP_ANONYMOUS : 0), area, 0);
	int ends[2], error;

	if (memory == MAP_FAILED)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		munmap(memory, w->kind.area_bytes);
		return -ENOMEM;
	}
	worker->area = memory;
	worker->fd = ends[0];
	error = begin(w, worker, ends, area);
	/* processes that are forked later, such as other workers, must not see it */
	madvise(memory, w->kind.area_bytes, MADV_DONTFORK);
	close(ends[1]);
	if (error)
		drop_ends(w, worker);
	return error;
}

/*
 * 0; -EAGAIN: the starter was asked for this worker or another one, and has not answered yet; or
 * -errno
 */
static int start_by_starter(struct workers *w, struct worker *worker)
{
	int area, patience = 0, error = worker_starter_take(&starter, 0);

	if (error)
		return error;
	if (!worker->area) {
		patience = PATIENCE_MS;
		area = new_area(w->kind.area_bytes);
		if (area < 0)
			return -ENOMEM;
		error = start_with(w, worker, area);
		close(area);
	}
	if (!error)
		error = worker_starter_take(&starter, patience);
	if (!error && worker->pid < 0) {
		error = worker->pid;
		drop_ends(w, worker);
	}
	return error;
}

static int start(struct workers *w, struct worker *worker)
{
	int error = -ECHILD;

	if (!starter.awaited && clock_ns() < w->next_start)
		return w->start_error;
	reap();
	if (starter.pid)
		error = start_by_starter(w, worker);
	if (error != -ECHILD && error != -ENOMEM)
		return error;
	if (error == -ECHILD)
		worker_starter_end(&starter);
	end(w, worker);
	return start_with(w, worker, -1);
}

void workers_start(struct workers *w)
{
	if (w->workers[0].pid <= 0)
		start(w, &w->workers[0]);
	if (w->kind.limits.open)
		workers_start(openers);
}

/* ---- accounts of owners ---- */

/* CPU time since the worker was started */
static uint64_t ran_ns(const struct worker *worker)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(worker->pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* time that the worker has waited for a CPU since it was started; 0: the kernel does not say */
static uint64_t queued_ns(const struct worker *worker)
{
	unsigned long long queued = 0;
	char name[40];
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/schedstat", worker->pid);
	file = fopen(name, "re");
	if (file && fscanf(file, "%*u %llu", &queued) != 1)
		queued = 0;
	if (file)
		fclose(file);
	return queued;
}

static void note_awake(struct worker *worker, uint64_t now, uint64_t ran)
{
	worker->awake = worker->looked = now;
	worker->ran_when_awake = ran;
	worker->queue_noted = false; /* it is read at the first look: most have answered by then */
}

/* Halves used_ns for each whole second that has passed. */
static uint64_t recently_used(struct owner *owner, uint64_t now)
{
	uint64_t seconds = (now - owner->since_ns) / 1000000000;

	owner->used_ns = seconds < 64 ? owner->used_ns >> seconds : 0;
	owner->since_ns += seconds * 1000000000;
	return owner->used_ns;
}

static void charge(struct workers *w, uint64_t owner_id, uint64_t since, uint64_t until)
{
	struct owner *owner;

	HASH_FIND(hh, w->owners, &owner_id, sizeof(owner_id), owner);
	if (owner && until > since)
		owner->used_ns = recently_used(owner, clock_ns()) + until - since;
}

/*
 * Charges the owner for the job: with CPU time; or, if workers read files and memory themselves,
 * with all time, because other processes may wait for locks that a worker holds.
 */
static void charge_worker(struct workers *w, const struct worker *worker)
{
	if (!w->kind.limits.open)
		charge(w, worker->owner, worker->began, clock_ns());
	else
		charge(w, worker->owner, worker->ran_before, ran_ns(worker));
}

static void forget_owners(struct workers *w)
{
	uint64_t now = clock_ns();
	struct owner *owner, *next;

	HASH_ITER(hh, w->owners, owner, next) {
		if (owner->first || recently_used(owner, now))
			continue;
		HASH_DEL(w->owners, owner);
		free(owner);
	}
}

static struct owner *owner_of(struct workers *w, uint64_t id)
{
	struct owner *owner;

	HASH_FIND(hh, w->owners, &id, sizeof(id), owner);
	if (owner)
		return owner;
	if (HASH_COUNT(w->owners) % OWNERS == OWNERS - 1)
		forget_owners(w);
	owner = calloc(1, sizeof(*owner));
	if (!owner)
		return NULL;
	owner->id = id;
	owner->last = &owner->first;
	HASH_ADD(hh, w->owners, id, sizeof(owner->id), owner);
	return owner;
}

/* Takes the job from its queue. */
static struct job *take(struct workers *w, struct job *job)
{
	*job->at = job->next;
	*(job->next ? &job->next->at : &job->owner->last) = job->at;
	if (!--job->owner->nr_waiting)
		DL_DELETE(w->with_jobs, job->owner);
	HASH_DEL(w->waiting, job);
	return job;
}

void workers_free(struct workers *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < w->nr; i++)
		end(w, &w->workers[i]);
	for (struct owner *owner = w->owners; owner; owner = owner->hh.next)
		while (owner->first)
			free(take(w, owner->first));
	end_openers(w);
	end_starter();
	hash_free_all(w->owners);
	close(w->epoll_fd);
	free(w->answer);
	free(w);
}

/* ---- asking ---- */

/* 0 or -ECHILD */
static int hand_over(struct workers *w, struct worker *worker, const struct job *job,
		     struct worker_file file)
{
	struct worker_message message = { .bytes = job->bytes, .file = file };

	message.file.keep = job->keep;
	memcpy(worker->area, job->request, job->bytes);
	worker->ran_before = ran_ns(worker);
	worker->began = clock_ns();
	note_awake(worker, worker->began, worker->ran_before);
	if (w->kind.limits.first)
		priority_watch(&worker->priority, worker->pid, worker->ran_before);
	if (worker_message_send(worker->fd, &message, MSG_DONTWAIT)) {
		worker->kept = file.fd >= 0 || file.fd == WORKER_KEPT ? job->keep : 0;
		return 0;
	}
	end(w, worker);
	return -ECHILD;
}

/* 0 or -errno */
static int ask_opener(struct workers *w, struct job *job, uint64_t owner)
{
	job->open = w->kind.limits.open;
	return workers_ask(openers, (uintptr_t)job, owner, &job->open,
			   offsetof(struct job, request) - offsetof(struct job, open) + job->bytes);
}

/* Has the job's file opened; the job is the worker's from now on. 0 or -errno */
static int ask_to_open(struct workers *w, struct worker *worker, struct job *job, uint64_t owner)
{
	int error = ask_opener(w, job, owner);

	if (error)
		return error;
	job->set = w;
	job->worker = worker;
	worker->opening = job;
	worker->began = clock_ns();
	return 0;
}

/* The error is the job's answer; the worker itself need not be there. */
static void fail(struct worker *worker, uint64_t tag, int error)
{
	worker->busy = true;
	worker->tag = tag;
	worker->error = error;
}

/* The opener has answered: a job's file is open, or cannot be opened. */
static void take_opened(struct worker_answer *opened)
{
	struct job *job = (struct job *)(uintptr_t)opened->tag;
	struct worker *worker = job->worker;
	uint64_t owner = worker ? worker->owner : 0;
	int error;

	if (worker) {
		worker->opening = NULL;
		charge(job->set, owner, worker->began, clock_ns());
		error = opened->error ?: hand_over(job->set, worker, job, opened->file);
		if (error)
			fail(worker, job->tag, error);
	}
	worker_file_close(&opened->file);
	free(job);
}

static void take_all_opened(const struct workers *w)
{
	struct worker_answer opened;

	while (w->kind.limits.open && workers_take(openers, &opened))
		take_opened(&opened);
}

/*
 * Must the last free worker be kept for root? The other owners count as one, because one user may
 * have many user IDs.
 */
static bool must_keep_last(const struct workers *w, uint64_t now)
{
	uint64_t used = 0;
	unsigned busy = 0;

	if (w->nr == 1)
		return false;
	for (unsigned i = 0; i < w->nr; i++)
		busy += w->workers[i].busy && OWNERS_UID(w->workers[i].owner);
	if (busy + 1 < w->nr)
		return false;
	for (struct owner *owner = w->owners; owner; owner = owner->hh.next)
		used += OWNERS_UID(owner->id) ? recently_used(owner, now) : 0;
	return used > MUCH_NS;
}

/*
 * May the worker serve this owner, after its earlier jobs? A file of another owner may have taken
 * the worker over.
 */
static bool is_own(const struct workers *w, const struct worker *worker, const struct owner *owner)
{
	return worker->used && !((worker->owner ^ owner->id) & w->kind.limits.apart);
}

static bool has_own(const struct workers *w, const struct owner *owner, bool busy)
{
	for (unsigned i = 0; i < w->nr; i++)
		if (w->workers[i].busy == busy && is_own(w, &w->workers[i], owner))
			return true;
	return false;
}

/*
 * The owner whose job is next: the one that has used least recently. NULL: no job can begin.
 * only_own: no worker can be started, so only owners who have one are asked
 */
static struct owner *next_owner(const struct workers *w, bool only_own)
{
	uint64_t now = clock_ns(), least = UINT64_MAX;
	struct owner *next = NULL;
	bool only_first;

	if (!w->with_jobs)
		return NULL;
	only_first = must_keep_last(w, now);
	for (struct owner *owner = w->with_jobs; owner; owner = owner->next) {
		uint64_t used;

		if ((OWNERS_UID(owner->id) && only_first) ||
		    (w->kind.limits.keeps && has_own(w, owner, true)) ||
		    (only_own && !has_own(w, owner, false)))
			continue;
		used = recently_used(owner, now);
		if (used >= least)
			continue;
		least = used;
		next = owner;
	}
	return next;
}

/*
 * Which idle worker gets the owner's next job? The owner's own, else an unused one, else another
 * owner's, which is replaced: rather of an owner who has no job waiting. NULL: all are busy
 */
static struct worker *worker_for(struct workers *w, const struct owner *owner)
{
	enum { LAST_HAS_JOBS = 1, LAST_HAS_NONE, UNUSED, OWN };
	struct worker *best = NULL;
	int rank, best_rank = 0;

	for (unsigned i = 0; i < w->nr; i++) {
		struct worker *worker = &w->workers[i];
		struct owner *last;

		if (worker->busy)
			continue;
		HASH_FIND(hh, w->owners, &worker->owner, sizeof(worker->owner), last);
		rank = last && last->first ? LAST_HAS_JOBS : LAST_HAS_NONE;
		if (!worker->used)
			rank = UNUSED;
		if (is_own(w, worker, owner))
			rank = OWN;
		if (rank <= best_rank)
			continue;
		best = worker;
		best_rank = rank;
	}
	return best;
}

/* The owner's first job begins. 0 or -errno */
static int begin_job(struct workers *w, struct worker *worker, struct owner *owner)
{
	static const struct worker_file kept = { .fd = WORKER_KEPT };
	int error = worker->pid > 0 ? 0 : start(w, worker);
	struct job *job = owner->first;
	bool opens = w->kind.limits.open && (!job->keep || job->keep != worker->kept);

	if (!error)
		error = opens ? ask_to_open(w, worker, job, owner->id)
			      : hand_over(w, worker, job, kept);
	if (error)
		return error;
	worker->tag = job->tag;
	worker->owner = owner->id;
	worker->busy = worker->used = true;
	take(w, job);
	if (!opens)
		free(job);
	return 0;
}

/* A failed fork() takes as long as one that succeeds, and there may be thousands of jobs. */
static void note_unstartable(struct workers *w, int error)
{
	uint64_t now = clock_ns(), pause;

	w->start_error = error;
	if (!w->unstartable)
		w->unstartable = now;
	pause = (now - w->unstartable) / START_PAUSE;
	if (!starter.awaited && now >= w->next_start)
		w->next_start = now + (pause < START_PAUSE_MS * MS ? pause : START_PAUSE_MS * MS);
}

/* The owner's first job is begun, or refused. 0 or -errno */
static int hand_to(struct workers *w, struct worker *worker, struct owner *owner)
{
	if (is_hung(owner->id)) {
		fail(worker, owner->first->tag, -ETIMEDOUT);
		free(take(w, owner->first));
		return 0;
	}
	if (worker->used && !is_own(w, worker, owner))
		end(w, worker);
	return begin_job(w, worker, owner);
}

/*
 * If a worker cannot be started now, a later call tries again; meanwhile, running workers get jobs
 * of the owners that they have served.
 */
static void hand_out(struct workers *w)
{
	bool unstartable = false;
	struct worker *worker;
	struct owner *owner;
	int error;

	take_all_opened(w);
	if (nr_ended)
		reap();
	while ((owner = next_owner(w, unstartable)) && (worker = worker_for(w, owner))) {
		error = hand_to(w, worker, owner);
		if (!error && !unstartable && !worker->error)
			w->unstartable = w->next_start = 0;
		if (!error)
			continue;
		note_unstartable(w, error);
		if (unstartable)
			break;
		unstartable = true;
	}
}

/* Gives up the first job if there is no worker for it, and none could be started for START_MS. */
static bool give_up(struct workers *w, struct worker_answer *answer)
{
	struct owner *owner = w->unstartable ? next_owner(w, false) : NULL;

	for (unsigned i = 0; i < w->nr; i++)
		if (w->workers[i].busy)
			return false;
	if (!owner || starter.awaited || clock_ns() - w->unstartable < START_MS * MS)
		return false;
	*answer = (struct worker_answer){ .tag = owner->first->tag,
					  .error = w->start_error,
					  .file.fd = -EBADF };
	free(take(w, owner->first));
	w->nr_asked--;
	return true;
}

static int add_job(struct workers *w, uint64_t tag, uint64_t owner_id, const void *request,
		   size_t bytes, uint64_t keep)
{
	struct owner *owner;
	struct job *job;

	if (bytes > w->kind.area_bytes)
		return -E2BIG;
	owner = owner_of(w, owner_id);
	job = owner ? malloc(sizeof(*job) + bytes) : NULL;
	if (!job)
		return -ENOMEM;
	*job = (struct job){
		.at = owner->last, .owner = owner, .tag = tag, .bytes = bytes, .keep = keep
	};
	memcpy(job->request, request, bytes);
	*owner->last = job;
	owner->last = &job->next;
	if (!owner->nr_waiting++)
		DL_APPEND(w->with_jobs, owner);
	HASH_ADD(hh, w->waiting, tag, sizeof(job->tag), job);
	w->nr_asked++;
	hand_out(w);
	return 0;
}

int workers_ask(struct workers *w, uint64_t tag, uint64_t owner, const void *request, size_t bytes)
{
	return add_job(w, tag, owner, request, bytes, 0);
}

static bool cancel(struct workers *w, struct job *job)
{
	if (!job)
		return false;
	free(take(w, job));
	w->nr_asked--;
	return true;
}

bool workers_cancel(struct workers *w, uint64_t tag)
{
	struct job *job;

	HASH_FIND(hh, w->waiting, &tag, sizeof(tag), job);
	return cancel(w, job);
}

bool workers_cancel_any(struct workers *w, uint64_t *tag)
{
	if (w->waiting)
		*tag = w->waiting->tag;
	return cancel(w, w->waiting);
}

void workers_give_up(struct workers *w, uint64_t tag)
{
	if (workers_cancel(w, tag))
		return;
	for (unsigned i = 0; i < w->nr; i++) {
		struct worker *worker = &w->workers[i];

		if (!worker->busy || worker->tag != tag)
			continue;
		w->nr_asked--;
		if (worker->opening) { /* the worker knows nothing of the job yet */
			charge(w, worker->owner, worker->began, clock_ns());
			drop_opening(worker);
			worker->busy = false;
			continue;
		}
		if (worker->error) { /* it does not have the job */
			worker->busy = false;
			worker->error = 0;
			continue;
		}
		charge_worker(w, worker);
		end(w, worker);
	}
}

/* ---- answers ---- */

/* 0, or why its job is given up */
static int look_at(const struct workers *w, struct worker *worker)
{
	uint64_t half = w->kind.limits.sleep_ms * MS / 2, now = clock_ns(),
		 unseen = now - worker->looked, ran, busy;

	/*
	 * what kept the tool from looking, such as the hypervisor, may have kept the worker from
	 * running
	 */
	if (unseen > half)
		worker->awake += unseen - half;
	worker->looked = now;
	if (!worker->queue_noted && now - worker->awake > MS) {
		worker->queued_when_awake = queued_ns(worker);
		worker->queue_noted = true;
	}
	if (now - worker->awake < half)
		return 0;
	ran = ran_ns(worker);
	if (w->kind.limits.first)
		priority_watch(&worker->priority, worker->pid, ran);
	if (ran - worker->ran_before > w->kind.limits.cpu_ms * MS)
		return -ETIME;
	if (worker_state(worker->pid) == 'R' || ran - worker->ran_when_awake > MS) {
		note_awake(worker, now, ran);
		return 0;
	}
	/* on a busy machine, the worker may have waited for a CPU until now */
	busy = ran - worker->ran_when_awake + queued_ns(worker) - worker->queued_when_awake;
	return now - worker->awake < 2 * half + busy ? 0 : -ETIMEDOUT;
}

/*
 * An attacker who has taken over the worker could change the answer while the tool reads it. 0 or
 * -ENOMEM
 */
static int copy_answer(struct workers *w, const struct worker *worker, size_t bytes)
{
	if (w->answer_room > KEPT_BYTES || w->answer_room <= bytes) {
		free(w->answer);
		w->answer_room = 0;
		w->answer = malloc(bytes + 1);
		if (!w->answer)
			return -ENOMEM;
		w->answer_room = bytes + 1;
	}
	memcpy(w->answer, worker->area, bytes);
	if (bytes > KEPT_BYTES)
		madvise(worker->area, w->kind.area_bytes, MADV_REMOVE);
	return 0;
}

/* 0; -EAGAIN: the worker's job goes on; or why it is given up */
static int receive(const struct workers *w, struct worker *worker, struct worker_message *message)
{
	bool opens = w->kind.limits.opens;
	int error = worker_message_receive(worker->fd, message, opens, MSG_DONTWAIT), given_up;

	given_up = error == -EAGAIN ? look_at(w, worker) : 0;
	if (given_up) /* an answer that has come meanwhile counts */
		error = worker_message_receive(worker->fd, message, opens, MSG_DONTWAIT);
	return error == -EAGAIN && given_up ? given_up : error;
}

/* True: the worker's job has ended. */
static bool take_from(struct workers *w, struct worker *worker, struct worker_answer *answer)
{
	struct worker_message message = { .file.fd = -EBADF };
	uint64_t tag = worker->tag;
	int error;

	if (worker->opening)
		return false;
	error = worker->error ? worker->error : receive(w, worker, &message);
	if (error == -EAGAIN && !worker->error)
		return false;
	if (!error && message.bytes > w->kind.area_bytes)
		error = -ECHILD;
	worker->busy = false;
	if (worker->error) {
		worker->error = 0;
	} else {
		charge_worker(w, worker);
		if (error)
			end(w, worker);
		else
			error = copy_answer(w, worker, message.bytes);
	}
	*answer = (struct worker_answer){
		.tag = tag,
		.error = error,
		.bytes = error ? NULL : w->answer,
		.nr = error ? 0 : message.bytes,
		.file = message.file,
	};
	w->nr_asked--;
	return true;
}

bool workers_take(struct workers *w, struct worker_answer *answer)
{
	hand_out(w);
	for (unsigned i = 0; i < w->nr; i++)
		if (w->workers[i].busy && take_from(w, &w->workers[i], answer)) {
			hand_out(w); /* this worker is free now */
			return true;
		}
	return give_up(w, answer);
}

uint64_t workers_nr_ended(const struct workers *w)
{
	return w->nr_ended;
}

size_t workers_nr_asked(const struct workers *w)
{
	return w->nr_asked;
}

size_t workers_nr_waiting(const struct workers *w, uint64_t id)
{
	const struct owner *owner;

	HASH_FIND(hh, w->owners, &id, sizeof(id), owner);
	return owner ? owner->nr_waiting : 0;
}

int workers_fd(const struct workers *w)
{
	return w->epoll_fd;
}

void workers_wait(const struct workers *w, int ms)
{
	struct pollfd fd = { .fd = w->epoll_fd, .events = POLLIN };

	poll(&fd, 1, ms < WAIT_MS ? ms : WAIT_MS);
}

struct worker_file workers_open(struct workers *w, uint64_t owner, const void *request,
				size_t bytes)
{
	struct job *job = calloc(1, sizeof(*job) + bytes);
	struct worker_answer opened = { .file.fd = -ENOMEM };
	int error;

	if (!job)
		return opened.file;
	job->bytes = bytes;
	memcpy(job->request, request, bytes);
	error = ask_opener(w, job, owner);
	while (!error) {
		if (!workers_take(openers, &opened)) {
			workers_wait(openers, WAIT_MS);
			continue;
		}
		if (opened.tag == (uintptr_t)job)
			break;
		take_opened(&opened);
	}
	error = error ? error : opened.error;
	if (error) {
		worker_file_close(&opened.file);
		opened.file.fd = error;
	}
	free(job);
	return opened.file;
}

struct worker_answer workers_call(struct workers *w, uint64_t owner, const void *request,
				  size_t bytes, uint64_t keep)
{
	struct worker_answer answer;
	int error = add_job(w, 0, owner, request, bytes, keep);

	if (error)
		return (struct worker_answer){ .error = error, .file.fd = -EBADF };
	while (!workers_take(w, &answer))
		workers_wait(w, WAIT_MS);
	return answer;
}
