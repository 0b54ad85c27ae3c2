// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/foreign.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/order.h"
#include "process/trust.h"
#include "process/workers.h"
#include "unwind/foreign_work.h"

/*
 * Memory: a worker's own, and the area that it shares with us. What a file takes to compile is some
 * four times its .eh_frame: an eighteenth of all is enough for most, and one compiler has half of
 * all for what is larger.
 */
#define MAX_COMPILERS  4
#define SHARE_OF_MOST  18
#define CALL_CPU_MS    300
#define COMPILE_CPU_MS 2000 /* a file of 100 MB of .eh_frame takes a second */

/*
 * A process that kept a worker waiting twice is left alone: briefly, for the machine may just be
 * busy, and each time twice as long. What the caller waits for, answers and failures alike, takes
 * these shares of the time at most: of one process, and of one user other than root; of all of
 * root's, and of all others'. A JVM that begins takes a tenth.
 */
#define LEFT_ALONE_NS     500000000
#define MAX_LEFT_ALONE_NS 10000000000
#define MAX_WAITED_NS     300000000
#define SHARE_OF_ONE      8
#define SHARE_OF_ALL      4

#define NR_READERS 2
#define WAIT_MS    20 /* from one look at the workers to the next */
/* each time that there are so many more, those of processes that are gone are forgotten */
#define ACCOUNTS 1024

#define IS_CODE (1ULL << 32) /* in a job's tag: of FOREIGN_CODE */

#define OF_USER (1ULL << 32) /* in an account's ID: it is a user's, not a process's */

struct account {
	uint64_t id;
	uint64_t waited_ns; /* by the caller */
	uint64_t until_ns;  /* it is left alone */
	uint64_t alone_ns;  /* for so long the next time; 0: it has kept no worker waiting */
	UT_hash_handle hh;
};

struct foreign {
	/* for what the caller waits for */
	struct workers *reader, *parser;
	/* beside it */
	struct workers *compilers, *big_compiler, *readers, *namer;
	int epoll_fd;             /* of all */
	struct account *accounts; /* of processes and users */
	uint64_t began_ns;
	uint64_t roots_waited_ns, others_waited_ns; /* for their processes */
};

static int watch(const struct foreign *f, const struct workers *workers)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(f->epoll_fd, EPOLL_CTL_ADD, workers_fd(workers), &event) ? -errno : 0;
}

static int begin(struct foreign *f, struct workers **workers, unsigned nr, uint64_t area,
		 const struct worker_limits *limits)
{
	int error =
		workers_new(workers, nr, area, limits, limits->open ? foreign_parse : foreign_read);

	return error ? error : watch(f, *workers);
}

/*
 * Four compilers, two readers, who reads functions, and who reads and parses for the caller: half
 * of all; the big compiler has the other. Each has a third of its share for its answer, and the
 * rest is its own.
 */
static int start(struct foreign *f, uint64_t bytes)
{
	uint64_t most = bytes / SHARE_OF_MOST, area = most / 3;
	const struct worker_limits reads = { .cpu_ms = CALL_CPU_MS,
					     .bytes = most - area,
					     .first = true };
	const struct worker_limits parses = {
		.cpu_ms = CALL_CPU_MS,
		.bytes = most - area,
		.first = true,
		.open = foreign_open,
		.apart = OWNERS_APART,
	};
	const struct worker_limits compiles = {
		.cpu_ms = COMPILE_CPU_MS,
		.bytes = most - area,
		.first = true,
		.open = foreign_open,
		.apart = UINT64_MAX,
	};
	const struct worker_limits much = {
		.cpu_ms = COMPILE_CPU_MS,
		.bytes = bytes / 2 - bytes / 16,
		.first = true,
		.open = foreign_open,
		.apart = UINT64_MAX,
	};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int error = f->epoll_fd < 0 ? -errno : 0;

	if (!error)
		error = begin(f, &f->reader, 1, area, &reads);
	if (!error)
		error = begin(f, &f->parser, 1, area, &parses);
	if (!error)
		error = begin(f, &f->readers, NR_READERS, area, &reads);
	if (!error)
		error = begin(f, &f->namer, 1, area, &parses);
	if (!error)
		error = begin(f, &f->compilers, clamped(cpus, 2, MAX_COMPILERS), area, &compiles);
	if (!error)
		error = begin(f, &f->big_compiler, 1, bytes / 16, &much);
	if (error)
		return error;
	/* what nearly every run needs */
	workers_start(f->reader);
	workers_start(f->parser);
	workers_start(f->readers);
	workers_start(f->compilers);
	return 0;
}

int foreign_new(struct foreign **foreign, uint64_t bytes)
{
	struct foreign *f = calloc(1, sizeof(*f));
	int error;

	if (!f)
		return -ENOMEM;
	f->began_ns = clock_ns();
	f->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	error = start(f, bytes);
	if (error)
		foreign_free(f);
	else
		*foreign = f;
	return error;
}

void foreign_free(struct foreign *f)
{
	if (!f)
		return;
	hash_free_all(f->accounts);
	workers_free(f->reader);
	workers_free(f->parser);
	workers_free(f->readers);
	workers_free(f->namer);
	workers_free(f->compilers);
	workers_free(f->big_compiler);
	if (f->epoll_fd >= 0)
		close(f->epoll_fd);
	free(f);
}

/* ---- processes that keep us waiting ---- */

static void forget_accounts(struct foreign *f)
{
	struct account *account, *next;

	HASH_ITER(hh, f->accounts, account, next) {
		if (account->id & OF_USER || !kill((pid_t)account->id, 0) || errno != ESRCH)
			continue;
		HASH_DEL(f->accounts, account);
		free(account);
	}
}

/* NULL: no memory, and with `may_add` false, there is none */
static struct account *account_of(struct foreign *f, uint64_t id, bool may_add)
{
	struct account *account;

	HASH_FIND(hh, f->accounts, &id, sizeof(id), account);
	if (account || !may_add)
		return account;
	if (HASH_COUNT(f->accounts) % ACCOUNTS == ACCOUNTS - 1)
		forget_accounts(f);
	account = calloc(1, sizeof(*account));
	if (!account)
		return NULL;
	account->id = id;
	HASH_ADD(hh, f->accounts, id, sizeof(id), account);
	return account;
}

static bool is_slow(struct foreign *f, pid_t pid)
{
	const struct account *account = account_of(f, pid, false);

	return account && clock_ns() < account->until_ns;
}

/* what the caller waits for is counted by these; user NULL: it is root */
struct payers {
	struct account *process, *user;
	uint64_t *all_ns;
};

/* false: no memory */
static bool find_payers(struct foreign *f, pid_t pid, uint64_t owner, struct payers *p)
{
	uint64_t uid = owner >> 32;

	*p = (struct payers){ .all_ns = uid ? &f->others_waited_ns : &f->roots_waited_ns };
	p->user = uid ? account_of(f, OF_USER | uid, true) : NULL;
	p->process = account_of(f, pid, true); /* which may forget others of processes */
	return p->process && (p->user || !uid);
}

/* may the caller wait for it? */
static bool is_affordable(const struct foreign *f, const struct payers *p)
{
	uint64_t now = clock_ns(), passed = now - f->began_ns;
	uint64_t of_one = MAX_WAITED_NS + passed / SHARE_OF_ONE;

	return now >= p->process->until_ns && p->process->waited_ns <= of_one &&
	       (!p->user || p->user->waited_ns <= of_one) &&
	       *p->all_ns <= MAX_WAITED_NS + passed / SHARE_OF_ALL;
}

static void pay(const struct payers *p, uint64_t waited_ns)
{
	p->process->waited_ns += waited_ns;
	if (p->user)
		p->user->waited_ns += waited_ns;
	*p->all_ns += waited_ns;
}

/*
 * error: of its worker, with which it may have nothing to do; 0: it has answered, and is forgiven
 */
static void judge(struct foreign *f, pid_t pid, int error)
{
	struct account *account = account_of(f, pid, error != 0);

	if (account && !error)
		account->alone_ns = 0;
	if (!account || !error || error == -EAGAIN || error == -ENOMEM)
		return;
	if (account->alone_ns)
		account->until_ns = clock_ns() + account->alone_ns;
	account->alone_ns = account->alone_ns ? account->alone_ns * 2 : LEFT_ALONE_NS;
	if (account->alone_ns > MAX_LEFT_ALONE_NS)
		account->alone_ns = MAX_LEFT_ALONE_NS;
}

/* ---- short jobs ---- */

static size_t set_path(struct foreign_request *r, const char *path)
{
	size_t bytes = path ? strnlen(path, FOREIGN_MAX_PATH - 1) : 0;

	memcpy(r->path, path ? path : "", bytes);
	r->path[bytes] = 0;
	return offsetof(struct foreign_request, path) + bytes + 1;
}

static bool has_gone(const struct worker_answer *got)
{
	const struct foreign_answer *answer = got->bytes;

	return !got->error && got->nr >= sizeof(*answer) && answer->error == FOREIGN_GONE;
}

/*
 * Asks about a process, for which `payer` waits: its user; owner: of what is read. 0 or -errno;
 * *bytes of *answer, behind its head, are valid until the next call
 */
static int call_for(struct foreign *f, struct workers *workers, uint64_t payer, uint64_t owner,
		    const void *request, size_t size, const struct foreign_answer **answer,
		    size_t *bytes)
{
	pid_t pid = ((const struct foreign_about *)request)->pid;
	uint64_t began = clock_ns();
	struct worker_answer got;
	struct payers payers;

	if (!find_payers(f, pid, payer, &payers) || !is_affordable(f, &payers))
		return -EAGAIN;
	got = workers_call(workers, owner, request, size, pid);
	if (has_gone(&got)) /* what it executed before: what was kept is its memory no more */
		got = workers_call(workers, owner, request, size, 0);
	pay(&payers, clock_ns() - began);
	judge(f, pid, got.error);
	if (!got.error && got.nr < sizeof(**answer))
		return -EBADMSG;
	*answer = got.bytes;
	*bytes = got.nr;
	if (got.error)
		return got.error;
	return (*answer)->error > 0 ? -EBADMSG : (*answer)->error;
}

static int call(struct foreign *f, struct workers *workers, uint64_t owner, const void *request,
		size_t size, const struct foreign_answer **answer, size_t *bytes)
{
	return call_for(f, workers, owner, owner, request, size, answer, bytes);
}

int foreign_identify(struct foreign *f, pid_t tid, const struct proc_mapping *mapping,
		     struct file_key *key)
{
	static struct foreign_request r;
	const struct foreign_answer *answer;
	size_t bytes;
	int error;

	if (mapping->looked) {
		*key = mapping->file;
		return mapping->file_error;
	}
	if (!f)
		return mapped_file_identify(tid, mapping, key);
	r = (struct foreign_request){ .about = { FOREIGN_FILE, tid }, .mapping = *mapping };
	error = call(f, f->reader, owner_of_process(tid), &r, set_path(&r, mapping->path), &answer,
		     &bytes);
	if (!error && bytes < sizeof(*answer) + sizeof(*key))
		error = -EBADMSG;
	if (!error)
		memcpy(key, answer + 1, sizeof(*key));
	return error;
}

static size_t set_job(struct foreign_job *job, pid_t pid, uint32_t uid, foreign_fn *work,
		      const void *question, size_t size)
{
	job->about = (struct foreign_about){ FOREIGN_CALL, pid, uid };
	job->work = work;
	memcpy(job->question, question, size);
	return offsetof(struct foreign_job, question) + size;
}

int foreign_call(struct foreign *f, pid_t pid, foreign_fn *work, const void *question, size_t size,
		 const void **answer, size_t *bytes)
{
	static struct foreign_job job;
	static _Alignas(16) uint8_t here[1 << 20];
	const struct foreign_answer *got;
	uint32_t uid;
	int error;

	if (!f) {
		*answer = here;
		return work(question, &(struct process_memory){ pid, -1 }, here, sizeof(here),
			    bytes);
	}
	uid = uid_of_process(pid);
	error = call(f, f->parser, owner_of_user(uid), &job,
		     set_job(&job, pid, uid, work, question, size), &got, bytes);
	if (error)
		return error;
	*answer = got + 1;
	*bytes -= sizeof(*got);
	return 0;
}

uint32_t foreign_read_text(struct foreign *f, const struct foreign_text *text, void *to,
			   uint32_t bytes)
{
	static struct foreign_request r;
	const struct foreign_answer *answer;
	uint64_t owner;
	size_t got;

	if (!f)
		return foreign_text_here(text, to, bytes);
	if (bytes > FOREIGN_TEXT_BYTES)
		return 0;
	/* the process may be gone */
	owner = text->file.path ? text->owner : owner_of_process(text->pid);
	r = (struct foreign_request){
		.about = { FOREIGN_TEXT, text->pid },
		.address = text->address,
		.bytes = bytes,
		.file = text->file,
		.key = text->key,
		.file_offset = text->file_offset,
	};
	if (call_for(f, f->reader, owner_of_user(text->uid), owner, &r,
		     set_path(&r, text->file.path), &answer, &got) ||
	    answer->nr > bytes || got != sizeof(*answer) + answer->nr)
		return 0;
	memcpy(to, answer + 1, answer->nr);
	return answer->nr;
}

int foreign_read_region(struct foreign *f, pid_t pid, uint64_t address, uint32_t bytes,
			uint64_t *hash, struct unwind_table *table)
{
	struct foreign_region r = {
		.about = { FOREIGN_REGION, pid }, .address = address, .bytes = bytes, .hash = *hash
	};
	const struct foreign_answer *answer = NULL;
	struct compiled compiled;
	size_t got = 0;
	int error;

	if (!f)
		return foreign_region_here(&r, &(struct process_memory){ pid, -1 }, hash, table);
	r.about.uid = uid_of_process(pid);
	error = call(f, f->parser, owner_of_user(r.about.uid), &r, sizeof(r), &answer, &got);
	if (answer && got >= sizeof(*answer) + sizeof(*hash))
		memcpy(hash, answer + 1, sizeof(*hash));
	else if (!error)
		error = -EBADMSG;
	if (!error)
		error = compiled_read(&compiled, (const uint8_t *)(answer + 1) + sizeof(*hash),
				      got - sizeof(*answer) - sizeof(*hash));
	if (!error)
		*table = compiled.table;
	return error;
}

void foreign_read_stacks(struct foreign *f, pid_t pid, struct foreign_stack *stacks, size_t nr,
			 size_t most, const char **bytes)
{
	struct foreign_stacks r = { .about = { FOREIGN_STACK, pid }, .nr = nr, .most = most };
	const struct foreign_answer *answer;
	size_t got, sum = 0;

	*bytes = NULL;
	memcpy(r.stacks, stacks, nr * sizeof(*stacks));
	for (size_t i = 0; i < nr; i++)
		stacks[i].bytes = 0;
	if (call(f, f->reader, owner_of_process(pid), &r, sizeof(r), &answer, &got) ||
	    got < sizeof(*answer) + sizeof(r.stacks))
		return;
	memcpy(r.stacks, answer + 1, sizeof(r.stacks));
	for (size_t i = 0; i < nr; i++)
		sum += r.stacks[i].bytes;
	if (sum > most || got != sizeof(*answer) + sizeof(r.stacks) + sum)
		return;
	for (size_t i = 0; i < nr; i++)
		stacks[i].bytes = r.stacks[i].bytes;
	*bytes = (const char *)(answer + 1) + sizeof(r.stacks);
}

/* ---- reading processes ---- */

int foreign_ask_maps(struct foreign *f, pid_t pid, uint32_t uid, uint64_t tag)
{
	static struct foreign_request r;

	if (is_slow(f, pid))
		return -EAGAIN;
	r = (struct foreign_request){ .about = { FOREIGN_MAPS, pid } };
	return workers_ask(f->readers, tag, owner_of_user(uid), &r, set_path(&r, NULL));
}

static int unpack_maps(struct proc_maps *maps, const struct worker_answer *got)
{
	const struct foreign_answer *answer = got->bytes;
	int error;

	if (got->nr < sizeof(*answer) || answer->error > 0)
		return -EBADMSG;
	if (answer->error)
		return answer->error;
	error = foreign_unpack_maps(maps, answer, got->nr);
	maps->tid = answer->tid;
	if (!error && !maps->nr)
		error = -ESRCH; /* a zombie, or a kernel thread */
	return error;
}

uint64_t foreign_take_maps(struct foreign *f, int *error, struct proc_maps *maps)
{
	struct worker_answer got;

	if (!workers_take(f->readers, &got))
		return 0;
	*maps = (struct proc_maps){};
	judge(f, (pid_t)got.tag, got.error);
	*error = got.error == -EAGAIN ? -EUSERS : got.error ?: unpack_maps(maps, &got);
	if (*error)
		proc_maps_free(maps);
	return got.tag;
}

size_t foreign_nr_maps(const struct foreign *f)
{
	return workers_nr_asked(f->readers);
}

/* ---- questions beside the caller ---- */

int foreign_ask(struct foreign *f, pid_t pid, foreign_fn *work, const void *question, size_t size,
		uint64_t tag)
{
	static struct foreign_job job;
	uint32_t uid;

	if (is_slow(f, pid))
		return -EAGAIN;
	/* processes of one user have their turns, too: in containers, that is root */
	uid = uid_of_process(pid);
	return workers_ask(f->namer, tag, owner_of_user(uid) | (uint32_t)pid, &job,
			   set_job(&job, pid, uid, work, question, size));
}

uint64_t foreign_take(struct foreign *f, const void **answer, size_t *bytes)
{
	struct worker_answer got;
	const struct foreign_answer *head;

	if (!workers_take(f->namer, &got))
		return 0;
	judge(f, (pid_t)got.tag, got.error);
	head = got.bytes;
	*answer = head + 1;
	*bytes = got.error || got.nr < sizeof(*head) || head->error ? 0 : got.nr - sizeof(*head);
	return got.tag;
}

void foreign_wait_answer(const struct foreign *f, int ms)
{
	workers_wait(f->namer, ms);
}

/* ---- compiling ---- */

static uint64_t tag_of(uint32_t id, bool of_code)
{
	return id | (of_code ? IS_CODE : 0);
}

int foreign_ask_table(struct foreign *f, uint32_t id, const struct mapped_file *file,
		      const struct file_key *key, uint64_t owner, bool of_code, bool much)
{
	struct workers *workers = much ? f->big_compiler : f->compilers;
	static struct foreign_request r;

	r = (struct foreign_request){
		.about.kind = of_code ? FOREIGN_CODE : FOREIGN_TABLE,
		.file = *file,
		.key = *key,
	};
	return workers_ask(workers, tag_of(id, of_code), owner, &r, set_path(&r, file->path));
}

bool foreign_cancel_table(struct foreign *f, uint32_t id, bool of_code)
{
	uint64_t tag = tag_of(id, of_code);

	return workers_cancel(f->compilers, tag) || workers_cancel(f->big_compiler, tag);
}

uint32_t foreign_take_table(struct foreign *f, bool *of_code, struct compiled *compiled)
{
	struct worker_answer got;
	int error;

	if (!workers_take(f->compilers, &got) && !workers_take(f->big_compiler, &got))
		return 0;
	*of_code = got.tag & IS_CODE;
	error = got.error;
	if (!error && got.nr < sizeof(struct foreign_answer))
		error = -EBADMSG;
	if (!error)
		error = ((const struct foreign_answer *)got.bytes)->error;
	if (!error)
		error = compiled_read(compiled, (const struct foreign_answer *)got.bytes + 1,
				      got.nr - sizeof(struct foreign_answer));
	if (error)
		*compiled = (struct compiled){
			.error = error < 0 ? error : -EBADMSG,
			.cpu_ns = error == -ETIME ? COMPILE_CPU_MS * 1000000ULL : 0,
		};
	return (uint32_t)got.tag;
}

size_t foreign_nr_tables(const struct foreign *f)
{
	return workers_nr_asked(f->compilers) + workers_nr_asked(f->big_compiler);
}

int foreign_fd(const struct foreign *f)
{
	return f->epoll_fd;
}

void foreign_wait(const struct foreign *f, int ms)
{
	struct pollfd fd = { .fd = f->epoll_fd, .events = POLLIN };

	poll(&fd, 1, ms < WAIT_MS ? ms : WAIT_MS);
}
