// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/namer.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/recent.h"
#include "report/name_jobs.h"
#include "report/name_sources.h"

#define WAIT_MS    20
#define FOLLOW_NS  200000000 /* so often, new JIT frames are asked for during the measurement */
#define NEW_FILE_S 3600

struct namer {
	struct namer_options options;
	struct name_sources sources;
	struct name_jobs jobs;
	bool interrupted;
	uint64_t followed_ns, nr_questions;
	int not_fetched;
};

static int interrupt_fd(const struct namer *n)
{
	return n->options.interrupt_fd ? n->options.interrupt_fd() : -1;
}

int namer_new(struct namer **namer, struct modules *modules, const struct namer_options *options)
{
	struct namer *n = calloc(1, sizeof(*n));
	int error;

	if (!n)
		return -ENOMEM;
	n->options = *options;
	name_sources_init(&n->sources, modules);
	error = name_jobs_init(&n->jobs, &n->sources);
	if (error)
		namer_free(n);
	else
		*namer = n;
	return error;
}

void namer_free(struct namer *n)
{
	if (!n)
		return;
	name_jobs_free(&n->jobs);
	name_sources_free(&n->sources);
	free(n);
}

void namer_forget(struct namer *n)
{
	source_places_begin();
	name_sources_forget(&n->sources);
}

/* ---- answers ---- */

/* The source is a file, and it is not known yet what its debug file is. */
static bool must_ask_debug(const struct namer *n, uint64_t source)
{
	const struct module *module = name_sources_module(&n->sources, source);

	return module && !module->debug;
}

/*
 * Takes the names in an answer. Returns how many frames have an answer now; -EBADMSG: it is no
 * valid answer; -ENOMEM. asked: these frames, in their order. NULL: of NAME_FOLLOW, whose frames
 * without a name are asked for again, since the runtime may name them later.
 */
static ssize_t take(struct namer *n, struct name_source *source, const uint64_t *asked, size_t max,
		    const struct worker_answer *answer)
{
	struct answered_frame frame;
	size_t at = 0;
	ssize_t nr = 0;
	int more;

	for (; (more = name_answer_next(source, answer, &at, &frame)) > 0; nr++) {
		if ((size_t)nr >= max || (asked && frame.found.frame != asked[nr]))
			return -EBADMSG;
		source->lacks_names |= frame.found.lacks_names != 0;
		source->has_dump = !frame.found.wants_dump;
		source->gone |= asked && frame.found.gone;
		n->sources.some_gone |= source->gone;
		if (asked && frame.found.no_room)
			name_sources_lack_room(&n->sources, source);
		if ((asked || frame.symbol) &&
		    name_sources_add(&n->sources, source, &frame.found, frame.symbol, frame.raw))
			return -ENOMEM;
	}
	return more < 0 ? more : nr;
}

/*
 * Takes what a file says of its debug file; nothing, if it cannot be read now. 0, -EBADMSG or
 * -ENOMEM
 */
static int take_debug_key(struct namer *n, uint64_t source, const struct worker_answer *answer)
{
	struct module *module = name_sources_module(&n->sources, source);
	struct debug_key key;
	int known = name_answer_debug(answer, &key);

	if (known <= 0)
		return known;
	free(module->debug);
	module->debug = malloc(sizeof(key));
	if (!module->debug)
		return -ENOMEM;
	*module->debug = key;
	return 0;
}

/* If its debug file is known now, its names are read with that. 0 or -errno */
static int go_on_preparing(struct namer *n, const struct name_job *job,
			   const struct worker_answer *answer)
{
	int error;

	if (!must_ask_debug(n, job->source))
		return 0;
	error = take_debug_key(n, job->source, answer);
	if (error || must_ask_debug(n, job->source))
		return error;
	return name_jobs_give(&n->jobs, job, false, NULL, 0);
}

/* A question is answered, or taken back; the source may be younger than it. */
static void count_followed(struct name_source *source)
{
	if (source->nr_followed)
		source->nr_followed--;
}

/* Its module's names are read when it is seen next. */
static void see_again(struct namer *n, uint64_t key)
{
	struct module *module = name_sources_module(&n->sources, key);

	if (module)
		module->seen = false;
}

/*
 * Takes an answer that nobody waits for: an error, what a file says of its debug file, or names of
 * JIT code.
 */
static void take_aside(struct namer *n, const struct name_job *job,
		       const struct worker_answer *answer)
{
	struct name_source *source = name_source_is_forgotten(&n->sources, job->source)
					     ? NULL
					     : name_sources_get(&n->sources, job->source);
	int error = answer->error;

	if (!source)
		return;
	if (job->kind == NAME_FOLLOW)
		count_followed(source);
	if (!error && job->kind == NAME_PREPARE)
		error = go_on_preparing(n, job, answer);
	else if (!error && job->kind == NAME_FOLLOW &&
		 take(n, source, NULL, MAX_NAMED, answer) == -EBADMSG)
		error = -EBADMSG;
	if (error && name_source_may_try_again(source, error))
		see_again(n, job->source);
	else if (error)
		name_sources_give_up(&n->sources, source, error);
}

/* Takes an answer. False: there is none yet. Only answers to NAME_ASK are for the caller */
static bool take_answer(struct namer *n, enum name_set set, struct name_job *job,
			struct worker_answer *answer)
{
	if (!name_jobs_take(&n->jobs, set, job, answer))
		return false;
	if (job->kind != NAME_ASK)
		take_aside(n, job, answer);
	return true;
}

/* ---- asking without waiting ---- */

/* May its file be gone by the report? Builds and tests remove or replace new files soon. */
static bool may_vanish(const struct module *module)
{
	return module->elsewhere || module->key.mtime_s > time(NULL) - NEW_FILE_S;
}

static int see_module(struct namer *n, struct module *module)
{
	struct name_job job = { .kind = NAME_PREPARE, .source = name_source_of_file(module) };

	if (module->seen || !may_vanish(module))
		return 0;
	job.set = name_sources_set_of(&n->sources, job.source);
	if (name_jobs_are_many(&n->jobs, &job)) /* it may be seen again */
		return 0;
	module->seen = true;
	return name_jobs_give(&n->jobs, &job, must_ask_debug(n, job.source), NULL, 0);
}

/*
 * Wants the names of a file that may vanish soon: the worker may have to forget what it has read of
 * the file, to make room for others.
 */
static int see_frame(struct namer *n, pid_t pid, uint64_t frame)
{
	struct module *module = modules_get(n->sources.modules, FRAME_MODULE(frame));
	int error = module ? see_module(n, module) : 0;

	return !error && module && module->seen ? name_sources_want(&n->sources, pid, frame, true)
						: error;
}

int namer_see(struct namer *n, pid_t pid, uint32_t uid, const uint64_t *frames, size_t nr)
{
	int error = 0;

	for (size_t i = 0; i < nr && !error; i++)
		if (frame_in_no_file(frames[i]))
			error = name_sources_want(&n->sources, pid, frames[i], true);
		else if (!FRAME_IS_RUNTIME(frames[i]) && !FRAME_IS_MARK(frames[i]))
			error = see_frame(n, pid, frames[i]);
	return error ? error : name_sources_note_user(&n->sources, pid, uid);
}

static bool may_ask(struct namer *n, struct name_source *source)
{
	struct pollfd fd = { .fd = interrupt_fd(n), .events = POLLIN };

	if (!n->interrupted)
		n->interrupted = poll(&fd, 1, 0) > 0;
	return !n->interrupted && name_sources_may_ask(&n->sources, source);
}

/*
 * Asks for the wanted frames now, because a runtime may move its code, or put other code in its
 * place. 0 or -errno
 */
static int follow_code(struct namer *n, struct name_source *source)
{
	struct name_job job = { .kind = NAME_FOLLOW, .set = source->set, .source = source->key };
	int error = 0;

	/* it is being prepared; these are asked for later */
	if ((must_ask_debug(n, source->key) && !source->error) ||
	    name_jobs_are_many(&n->jobs, &job))
		return 0;
	name_source_sort_wanted(source);
	for (size_t at = 0, some; at < source->nr && !error && may_ask(n, source); at += some) {
		some = source->nr - at < MAX_NAMED ? source->nr - at : MAX_NAMED;
		error = name_jobs_give(&n->jobs, &job, false, source->wanted + at, some);
		source->nr_followed += !error;
	}
	name_source_drop_wanted(source);
	return error;
}

static void take_answers(struct namer *n, enum name_set set)
{
	struct worker_answer answer;
	struct name_job job;

	while (take_answer(n, set, &job, &answer))
		;
}

int namer_follow(struct namer *n)
{
	struct name_source *source, *next;
	uint64_t now = clock_ns();
	int error = 0;

	for (enum name_set set = 0; set < NR_NAME_SETS; set++)
		take_answers(n, set);
	if (now - n->followed_ns < FOLLOW_NS)
		return 0;
	n->followed_ns = now;
	name_sources_bound(&n->sources);
	HASH_ITER(hh, n->sources.all, source, next)
		if (source->nr && !error)
			error = follow_code(n, source);
	return error;
}

/* ---- asking and waiting ---- */

/*
 * The source's worker has been ended: files of this owner that it had prepared are prepared when
 * they are seen again.
 */
static void prepare_again(struct namer *n, const struct name_source *source)
{
	for (uint32_t id = 1; id <= modules_last_id(n->sources.modules); id++) {
		struct module *module = modules_get(n->sources.modules, id);

		if (module && module->seen &&
		    name_sources_set_of(&n->sources, name_source_of_file(module)) == source->set &&
		    module->owner == source->share->owner)
			module->seen = false;
	}
}

/* Waits for the answer to this job. False: it was interrupted, or no answer will come */
static bool await(struct namer *n, const struct name_source *source, const struct name_job *job,
		  struct worker_answer *answer)
{
	struct workers *workers = n->jobs.workers[source->set];
	struct pollfd fds[] = {
		{ .fd = workers_fd(workers), .events = POLLIN },
		{ .fd = interrupt_fd(n), .events = POLLIN },
	};
	uint64_t end_ns = name_sources_end_of_wait(&n->sources, source);
	struct name_job answered;

	/* answers to questions of a report that was interrupted are skipped */
	while (!take_answer(n, source->set, &answered, answer) || answered.kind != NAME_ASK ||
	       answered.number != job->number) {
		if (!workers_nr_asked(workers))
			return false;
		if (clock_ns() > end_ns) {
			name_jobs_give_up(&n->jobs, job);
			prepare_again(n, source);
			*answer = (struct worker_answer){ .error = -ETIME };
			return true;
		}
		poll(fds, 2, WAIT_MS);
		if (fds[1].revents)
			n->interrupted = true;
		if (n->interrupted)
			return false;
	}
	return true;
}

/*
 * Asks which debug file the file has, if that is not known yet, then for these frames; waits. What
 * is not answered stays unknown. 0 or -ENOMEM
 */
static int ask(struct namer *n, struct name_source *source, const uint64_t *frames, size_t nr)
{
	bool asks_debug = must_ask_debug(n, source->key);
	ssize_t done;

	for (; (nr || asks_debug) && may_ask(n, source); frames += done, nr -= done) {
		struct name_job job = { .kind = NAME_ASK,
					.set = source->set,
					.source = source->key,
					.number = ++n->nr_questions };
		size_t some = nr < MAX_NAMED ? nr : MAX_NAMED;
		struct worker_answer answer = {};
		uint64_t began = clock_ns();

		done = 0;
		if (asks_debug)
			some = 0;
		if (name_jobs_give(&n->jobs, &job, asks_debug, frames, some))
			return -ENOMEM;
		if (!await(n, source, &job, &answer))
			return 0;
		if (name_source_may_try_again(source, answer.error)) {
			name_sources_note_wait(&n->sources, source, began, true);
			continue;
		}
		if (!answer.error && asks_debug)
			done = take_debug_key(n, source->key, &answer);
		else if (!answer.error)
			done = take(n, source, frames, some, &answer);
		if (!answer.error && (done < 0 || (!done && !asks_debug)))
			answer.error = -EBADMSG;
		if (answer.error)
			name_sources_fail(&n->sources, source, answer.error);
		name_sources_note_wait(&n->sources, source, began, source->error);
		if (answer.error)
			return done == -ENOMEM ? -ENOMEM : 0;
		asks_debug = false;
	}
	return 0;
}

/* recent: frames, and stacks of them, that are wanted already, or known */
static int want_all(struct namer *n, const struct stack_entry *entry, struct recent_pair *recent)
{
	const struct stack_frames *user = entry->user;
	bool known = false;
	int error = 0;

	if (user) /* many entries share it */
		recent_place(recent, ~(uint64_t)(user->own ? entry->key.pid : 0), (uintptr_t)user,
			     &known);
	for (uint32_t i = 0; user && !known && i < user->nr && !error; i++) {
		uint64_t frame = user->frames[i];
		bool wanted;

		/* frames of runtimes are named elsewhere, and marks have no names */
		if (FRAME_IS_RUNTIME(frame) || FRAME_IS_MARK(frame))
			continue;
		recent_place(recent, name_source_key(&n->sources, entry->key.pid, frame), frame,
			     &wanted);
		if (!wanted)
			error = name_sources_want(&n->sources, entry->key.pid, frame, false);
	}
	if (error || !user || !user->own)
		return error;
	return name_sources_note_user(&n->sources, entry->key.pid, entry->key.uid);
}

static int want_all_of(struct namer *n, const struct stack_entry *entries, size_t nr)
{
	struct recent_pair *recent = calloc(RECENT_PAIRS, sizeof(*recent));
	int error = recent ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !error; i++)
		for (const struct stack_entry *entry = &entries[i]; entry && !error;
		     entry = entry->waker)
			error = want_all(n, entry, recent);
	free(recent);
	return error;
}

bool namer_fetch(struct namer *n, struct module *module)
{
	char path[PATH_MAX];
	int error;

	if (!n->options.debuginfod || module->fetch_tried || n->interrupted)
		return false;
	module->fetch_tried = true;
	error = debuginfod_fetch(n->options.debuginfod, module->build_id, module->build_id_bytes,
				 module_is_trusted(module), interrupt_fd(n), path);
	if (error == -EINTR)
		n->interrupted = true;
	if (error && error != -ENOENT)
		n->not_fetched = error;
	return !error && !modules_set_fetched(n->sources.modules, module, path);
}

bool namer_open_file(struct namer *n, struct module *module, struct opened_elf *opened,
		     struct debug_key *debug)
{
	struct name_source *source = name_sources_get(&n->sources, name_source_of_file(module));
	struct worker_file file;

	*opened = (struct opened_elf){ .fd = -EBADF };
	if (!source || ask(n, source, NULL, 0) || !module->debug)
		return false;
	file = name_jobs_open(&n->jobs, source);
	namer_take_files(opened, &file);
	*debug = *module->debug;
	return opened->fd >= 0 || module->image;
}

/*
 * Fetches a debug file for the source. True: it has come, and the names are to be asked for again
 */
static bool fetch_names(struct namer *n, const struct name_source *source)
{
	struct module *module =
		source->lacks_names ? name_sources_module(&n->sources, source->key) : NULL;

	if (!module || !namer_fetch(n, module))
		return false;
	name_sources_forget_names(&n->sources, source);
	return true;
}

/* Asks for the source's wanted frames, and once more if a debug file has come. */
static int ask_for_wanted(struct namer *n, struct name_source *source)
{
	int error;

	if (!source->nr)
		return 0;
	name_source_sort_wanted(source);
	error = ask(n, source, source->wanted, source->nr);
	if (!error && fetch_names(n, source))
		error = ask(n, source, source->wanted, source->nr);
	name_source_drop_wanted(source);
	return error;
}

/*
 * Cancels the jobs of namer_follow() that have not begun: the report, which waits, asks for what it
 * needs itself.
 */
static void stop_following(struct namer *n)
{
	struct name_source *source;
	struct name_job job;

	for (enum name_set set = 0; set < NR_NAME_SETS; set++)
		while (name_jobs_cancel(&n->jobs, set, &job))
			if (job.kind == NAME_PREPARE)
				see_again(n, job.source);
			else if ((source = name_sources_find(&n->sources, job.source)))
				count_followed(source);
}

static int ask_for_trusted(struct namer *n)
{
	struct name_source *source, *next;
	int error = 0;

	HASH_ITER(hh, n->sources.all, source, next)
		if (name_source_is_trusted(source) && !error)
			error = ask_for_wanted(n, source);
	return error;
}

static int ask_for_others(struct namer *n)
{
	struct name_source *source;
	struct name_turns turns;
	int error = name_sources_begin_turns(&n->sources, &turns);

	while (!error && !n->interrupted && (source = name_sources_next_turn(&n->sources, &turns)))
		error = ask_for_wanted(n, source);
	name_sources_end_turns(&n->sources, &turns);
	/* no time is left: the rest are only counted as passed over */
	for (source = n->sources.all; source && !error; source = source->hh.next)
		if (!name_source_is_trusted(source))
			error = ask_for_wanted(n, source);
	return error;
}

int namer_learn(struct namer *n, const struct stack_entry *entries, size_t nr)
{
	struct name_source *source, *next;
	int error;

	n->interrupted = false; /* the signal that has ended the measurement may have set it */
	stop_following(n);
	/* debug files for what was named during the measurement */
	HASH_ITER(hh, n->sources.all, source, next)
		fetch_names(n, source);
	error = want_all_of(n, entries, nr);
	if (!error)
		error = ask_for_trusted(n);
	return error ? error : ask_for_others(n);
}

/* ---- finding ---- */

static struct frame_name name_of(const struct namer *n, const struct known_name *known,
				 uint64_t frame)
{
	struct frame_name name = { .file_offset = FRAME_OFFSET(frame) };

	if (frame & FRAME_ADDRESS) {
		name = (struct frame_name){ .address = FRAME_ADDR(frame) };
	} else {
		name.file = modules_get(n->sources.modules, FRAME_MODULE(frame));
		name.module = name.file ? name.file->path : NULL;
	}
	if (!known)
		return name;
	name.symbol = known->symbol;
	*(frame & FRAME_ADDRESS ? &name.region : &name.raw_symbol) = known->raw;
	name.offset = known->found.offset;
	name.has_vaddr = known->found.has_vaddr;
	name.vaddr = known->found.vaddr;
	name.has_function = known->found.has_function;
	name.function_vaddr = known->found.function_vaddr;
	name.is_jit = known->found.is_jit;
	return name;
}

struct frame_name namer_find(struct namer *n, pid_t pid, uint64_t frame)
{
	uint64_t key = name_source_key(&n->sources, pid, frame);
	const struct known_name *known = name_sources_known(&n->sources, key, frame);
	struct name_source *source = known ? NULL : name_sources_get(&n->sources, key);

	if (source && !ask(n, source, &frame, 1))
		known = name_sources_known(&n->sources, key, frame);
	return name_of(n, known, frame);
}

struct namer_losses namer_losses(const struct namer *n)
{
	const struct name_sources *s = &n->sources;
	const struct module *module = name_sources_module(s, s->given_up_key);

	return (struct namer_losses){
		.given_up = s->nr_given_up,
		.path = module ? module->path : NULL,
		.error = s->given_up_error,
		.pid = s->given_up_key & PROCESS_SOURCE ? (pid_t)s->given_up_key : 0,
		.passed_over = s->nr_passed_over,
		.no_room = s->nr_no_room,
		.not_fetched = n->not_fetched,
	};
}

bool namer_lost_code(const struct namer *n, pid_t pid)
{
	const struct name_source *source =
		name_sources_find(&n->sources, PROCESS_SOURCE | (uint32_t)pid);

	return source && (source->error || source->passed_over);
}

const char *namer_gone(const struct namer *n, uint64_t frame)
{
	const struct module *module;
	const struct name_source *source;
	uint64_t key;

	if (!n->sources.some_gone || FRAME_IS_RUNTIME(frame) || frame_in_no_file(frame))
		return NULL;
	key = name_source_key(&n->sources, 0, frame);
	module = name_sources_module(&n->sources, key);
	source = name_sources_find(&n->sources, key);
	return module && source && source->gone ? module->path : NULL;
}
