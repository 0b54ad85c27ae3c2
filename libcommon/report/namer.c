// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/namer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

#include "base/array.h"
#include "base/order.h"
#include "base/recent.h"
#include "process/clock.h"
#include "process/trust.h"
#include "process/workers.h"
#include "report/known_names.h"
#include "report/namer_work.h"

#define AREA_BYTES (16 << 20)
/* names of trusted files, and all others: these cannot take the room of those */
#define MAX_KNOWN_BYTES (64 << 20)
#define MAX_SHARE_BYTES (MAX_KNOWN_BYTES / 4)	/* of one owner, if its sources are untrusted */
#define MAX_IDLE_BYTES (8 << 20)	/* if known names take more, those that nobody asks for are forgotten */
#define WAIT_MS 20
/*
 * How long a report waits for the names of all untrusted sources together: files of other users, and processes' code in no
 * file. A limit for each source would not do, because a user may have any number of them. The owners of sources have equal
 * shares of this time; at the end, others get what an owner leaves. For trusted files, only time that brought no answer
 * counts. When the time is over, no new names of that kind are asked for.
 */
#define MAX_WAITED_NS 800000000
/* while a process is measured: from one question for its new JIT frames to the next */
#define FOLLOW_NS 200000000
#define NEW_FILE_S 3600

/* The share of one owner of files, or of one user whose processes have code in no file. */
struct share {
	uint64_t owner;
	uint64_t waited_ns;
	size_t known_bytes[2];	/* [is_trusted()]: of names that are known */
	size_t nr_sources;	/* sources whose names are still to be asked for in this report */
	bool used;		/* forget_shares(): it has a source */
	UT_hash_handle hh;
};

/* Sources that the same workers name: none can hold up those of another set. */
enum set {
	OTHERS_FILES,	/* each owner's by a worker that no other owner's files can take over */
	TRUSTED_FILES,	/* module_is_trusted() */
	CODE_IN_NO_FILE,	/* each user's by a worker of its own, too */
	NR_SETS
};
#define NR_OTHERS 4	/* owners, or users, at a time whose workers keep what they know */

/* One file, or one process's code in no file. All frames of a source are asked for together, and given up together. */
struct source {
	uint64_t key;		/* module ID, or JIT_SOURCE | PID */
	int error;		/* 0, or why it was given up */
	enum set set;
	struct share *share;
	uint32_t uid;		/* of a process: whose it was; UINT32_MAX: not known */
	unsigned slow;		/* how often it did not answer in time, though it is trusted: the disk may be slow at first */
	bool passed_over;	/* it was not asked, because the time was over */
	bool gone;		/* its file was gone before it was read; it may be found again */
	bool lacks_names;	/* a debuginfod may have a debug file for it */
	bool has_dump;		/* of a process: its jitdump is not to be looked for any more */
	uint64_t *wanted;	/* frames to ask for */
	size_t nr, room;
	UT_hash_handle hh;
};
#define JIT_SOURCE (1ULL << 32)
#define MAX_SLOW 3

struct namer {
	const struct frame_names *names;
	struct namer_options options;
	struct workers *workers[NR_SETS];
	struct source *sources;
	struct known_names known[2];	/* [is_trusted()] */
	bool interrupted;
	bool some_gone;		/* a source was gone */
	struct share *shares;
	uint64_t share_ns;	/* how long a report may wait for the sources of the owner that is asked now */
	uint64_t waited_ns[2];	/* [is_trusted()]; of trusted ones, only what brought no answer */
	uint64_t followed_ns, nr_questions;
	uint64_t nr_ended;	/* workers for code in no file, when that was last looked at */
	uint64_t given_up_key;	/* of the source that was given up last */
	struct namer_losses losses;
	uint64_t frames[MAX_NAMED];	/* of the next request */
	uint64_t request[NAMER_MAX_REQUEST / sizeof(uint64_t) + 1];
};

/*
 * What a job is for, in its tag, beside the source's key. Only for ASK, somebody waits: its tag has the question's number, too,
 * because the answer to an earlier question, whose report was interrupted, may still come.
 */
#define PREPARE (1ULL << 33)
#define FOLLOW (1ULL << 34)
#define ASK (1ULL << 35)
#define QUESTION_SHIFT 36
#define SOURCE_OF_TAG(tag) ((tag) & (PREPARE - 1))

static int interrupt_fd(const struct namer *n)
{
	return n->options.interrupt_fd ? n->options.interrupt_fd() : -1;
}

static int start_workers(struct namer *n, enum set set)
{
	/* the worker starts the demangler, and may wait for it */
	const struct worker_limits limits = {
		.sleep_ms = 300, .cpu_ms = 700, .bytes = (size_t)512 << 20, .parent = true, .first = true, .open = namer_open,
		.apart = set == OTHERS_FILES ? UINT64_MAX : set == CODE_IN_NO_FILE ? OWNERS_APART : 0,
		.keeps = set == CODE_IN_NO_FILE,
	};

	return workers_new(&n->workers[set], set == TRUSTED_FILES ? 1 : NR_OTHERS, AREA_BYTES, &limits, namer_work);
}

int namer_new(struct namer **namer, const struct frame_names *names, const struct namer_options *options)
{
	struct namer *n = calloc(1, sizeof(*n));
	int error = 0;

	if (!n)
		return -ENOMEM;
	n->names = names;
	n->share_ns = MAX_WAITED_NS;
	n->options = *options;
	for (enum set set = 0; set < NR_SETS && !error; set++)
		error = start_workers(n, set);
	if (error)
		namer_free(n);
	else
		*namer = n;
	return error;
}

static void drop_source(struct namer *n, struct source *source)
{
	HASH_DEL(n->sources, source);
	free(source->wanted);
	free(source);
}

/* Those without sources and names. */
static void forget_shares(struct namer *n)
{
	struct share *share, *next;

	for (struct source *source = n->sources; source; source = source->hh.next)
		source->share->used = true;
	HASH_ITER(hh, n->shares, share, next) {
		if (!share->used && !share->known_bytes[false] && !share->known_bytes[true]) {
			HASH_DEL(n->shares, share);
			free(share);
			continue;
		}
		share->used = false;
	}
}

void namer_free(struct namer *n)
{
	struct source *source, *next;

	if (!n)
		return;
	known_names_free(&n->known[false]);
	known_names_free(&n->known[true]);
	HASH_ITER(hh, n->sources, source, next)
		drop_source(n, source);
	forget_shares(n);
	for (enum set set = 0; set < NR_SETS; set++)
		workers_free(n->workers[set]);
	free(n);
}

static uint64_t source_key(pid_t pid, uint64_t frame)
{
	return frame & FRAME_ADDRESS ? JIT_SOURCE | (uint32_t)pid : FRAME_MODULE(frame);
}

/* ---- sources ---- */

/* NULL: the source is a process with code in no file */
static const struct module *module_of(const struct namer *n, uint64_t source)
{
	return source & JIT_SOURCE ? NULL : modules_get(n->names->modules, source);
}

static enum set set_of(const struct namer *n, uint64_t key)
{
	const struct module *module = module_of(n, key);

	if (key & JIT_SOURCE)
		return CODE_IN_NO_FILE;
	return module && module_is_trusted(module) ? TRUSTED_FILES : OTHERS_FILES;
}

static bool is_trusted(const struct source *source)
{
	return source->set == TRUSTED_FILES;
}

static struct known_names *known_of(struct namer *n, uint64_t key)
{
	return &n->known[set_of(n, key) == TRUSTED_FILES];
}

/* NULL: no memory */
static struct share *share_of(struct namer *n, uint64_t owner)
{
	struct share *share;

	HASH_FIND(hh, n->shares, &owner, sizeof(owner), share);
	if (share)
		return share;
	share = calloc(1, sizeof(*share));
	if (!share)
		return NULL;
	share->owner = owner;
	HASH_ADD(hh, n->shares, owner, sizeof(share->owner), share);
	return share;
}

/* in whose name the workers are asked */
static uint64_t owner_of(const struct namer *n, uint64_t key)
{
	const struct module *module = module_of(n, key);
	const struct source *source;

	if (module)
		return module->owner;
	HASH_FIND(hh, n->sources, &key, sizeof(key), source);
	return source ? source->share->owner : owner_of_process((pid_t)key);
}

static struct source *source_of(struct namer *n, uint64_t key)
{
	struct source *source;

	HASH_FIND(hh, n->sources, &key, sizeof(key), source);
	if (source)
		return source;
	source = calloc(1, sizeof(*source));
	if (!source)
		return NULL;
	source->key = key;
	source->uid = UINT32_MAX;
	source->set = set_of(n, key);
	source->share = share_of(n, owner_of(n, key));
	if (!source->share) {
		free(source);
		return NULL;
	}
	HASH_ADD(hh, n->sources, key, sizeof(source->key), source);
	return source;
}

/* Is the source a file that no process maps any more, and that is in no stack? */
static bool is_forgotten(void *namer, uint64_t source)
{
	const struct namer *n = namer;

	return !(source & JIT_SOURCE) && !modules_get(n->names->modules, source);
}

/* ---- requests ---- */

/* The source is a file, and it is not known yet what its debug file is. */
static bool must_ask_debug(const struct namer *n, uint64_t source)
{
	const struct module *module = module_of(n, source);

	return module && !module->debug;
}

static char *put_string(char *to, const char *string)
{
	return stpcpy(to, string) + 1;
}

/* With the workers that have ended, the jitdumps have gone that they had open. */
static void note_ends(struct namer *n)
{
	uint64_t nr = workers_nr_ended(n->workers[CODE_IN_NO_FILE]);

	for (struct source *source = n->sources; source && nr != n->nr_ended; source = source->hh.next)
		source->has_dump = false;
	n->nr_ended = nr;
}

/* Fills in the request for a source and the first nr_frames of n->frames, or for what its debug file is. Returns its size. */
static size_t describe(struct namer *n, uint64_t source, bool asks_debug, size_t nr_frames)
{
	const struct module *module = module_of(n, source);
	const struct symbol_options *options = modules_symbol_options(n->names->modules);
	const struct debug_search *search = &options->search;
	const char *path = module && !module->image ? module->path : "", *fetched = module && module->fetched ? module->fetched : "";
	struct namer_request *r = (struct namer_request *)n->request;
	struct source *of;
	char *end;

	note_ends(n);
	HASH_FIND(hh, n->sources, &source, sizeof(source), of);
	*r = (struct namer_request){
		.pid = source, .uid = of ? of->uid : UINT32_MAX, .nr = nr_frames, .asks_debug = asks_debug,
		.no_demangle = options->no_demangle, .wants_dump = !module && !(of && of->has_dump),
	};
	if (module) {
		r->module_id = module->id;
		r->key = module->key;
		r->file = module_file(module);
		r->file.path = *path ? path : NULL;
		if (module->debug)
			r->debug = *module->debug;
	}
	memcpy(r + 1, n->frames, nr_frames * sizeof(n->frames[0]));
	end = put_string((char *)((uint64_t *)(r + 1) + nr_frames), strlen(path) < 2 * PATH_MAX ? path : "");
	end = put_string(end, fetched);
	for (size_t i = 0; i < search->nr_directories && r->nr_directories < NAMER_MAX_DIRECTORIES; i++) {
		if (strlen(search->directories[i]) >= PATH_MAX)
			continue;
		end = put_string(end, search->directories[i]);
		r->nr_directories++;
	}
	return end - (char *)r;
}

/* Asks for the first nr_frames of n->frames, or for what its debug file is. 0 or -ENOMEM */
static int give_job(struct namer *n, enum set set, uint64_t tag, bool asks_debug, size_t nr_frames)
{
	uint64_t source = SOURCE_OF_TAG(tag);

	return workers_ask(n->workers[set], tag, owner_of(n, source), n->request,
			   describe(n, source, asks_debug, nr_frames));
}

/* ---- answers ---- */

/* why: what counts it in n->losses */
static void pass_over(struct source *source, size_t *why)
{
	*why += !source->passed_over;
	source->passed_over = true;
}

/* for more names of the source */
static bool has_room(const struct namer *n, const struct source *source)
{
	return n->known[is_trusted(source)].bytes < MAX_KNOWN_BYTES &&
	       (is_trusted(source) || source->share->known_bytes[false] < MAX_SHARE_BYTES);
}

static bool may_ask(struct namer *n, struct source *source)
{
	struct pollfd fd = { .fd = interrupt_fd(n), .events = POLLIN };

	if (!n->interrupted)
		n->interrupted = poll(&fd, 1, 0) > 0;
	if (source->error || is_forgotten(n, source->key) || n->interrupted)
		return false;
	if (!has_room(n, source)) {
		pass_over(source, &n->losses.no_room);
		return false;
	}
	if (n->waited_ns[is_trusted(source)] < MAX_WAITED_NS && (is_trusted(source) || source->share->waited_ns < n->share_ns))
		return true;
	pass_over(source, &n->losses.passed_over);
	return false;
}

static void give_up(struct namer *n, struct source *source, int error)
{
	n->losses.given_up += !source->error;
	source->error = error;
	n->given_up_key = source->key;
	n->losses.error = error;
}

static void note_waited(struct namer *n, struct source *source, uint64_t began_ns)
{
	if (source->error || !is_trusted(source))
		n->waited_ns[is_trusted(source)] += clock_ns() - began_ns;
	if (!is_trusted(source))
		source->share->waited_ns += clock_ns() - began_ns;
}

/* Can that be said of this frame of the source? The worker may have been taken over. */
static bool is_sound(const struct source *source, const struct named_frame *found)
{
	return source_key((pid_t)source->key, found->frame) == source->key &&
	       !(source->key & JIT_SOURCE && (found->has_vaddr || found->has_function));
}

/*
 * Takes the names in an answer. Returns how many frames have an answer now; -EBADMSG: it is no valid answer; -ENOMEM.
 * asked: these frames, in their order; NULL with FOLLOW, where frames without a name are left out, and are asked for again: the
 * runtime may name them later.
 */
static ssize_t take(struct namer *n, struct source *source, const uint64_t *asked, size_t max, const struct worker_answer *answer)
{
	const char *at = answer->bytes, *end = at + answer->nr;
	struct named_frame found;
	ssize_t nr = 0;

	for (; at < end; nr++) {
		const char *symbol, *raw;

		if ((size_t)(end - at) < sizeof(found) || (size_t)nr >= max)
			return -EBADMSG;
		memcpy(&found, at, sizeof(found));
		if (!is_sound(source, &found) || (asked && found.frame != asked[nr]))
			return -EBADMSG;
		symbol = at + sizeof(found);
		if (found.symbol_bytes > end - symbol || found.raw_bytes > end - symbol - found.symbol_bytes)
			return -EBADMSG;
		raw = symbol + found.symbol_bytes;
		at = raw + found.raw_bytes;
		if ((found.symbol_bytes && symbol[found.symbol_bytes - 1]) || (found.raw_bytes && at[-1]))
			return -EBADMSG;
		source->lacks_names |= found.lacks_names != 0;
		source->has_dump = !found.wants_dump;
		source->gone |= asked && found.gone;
		n->some_gone |= source->gone;
		if (!asked && !found.symbol_bytes)
			continue;
		if (!has_room(n, source)) {
			pass_over(source, &n->losses.no_room);
			continue;
		}
		if (known_names_add(&n->known[is_trusted(source)], source->key, &found, found.symbol_bytes ? symbol : NULL,
				    found.raw_bytes ? raw : NULL, &source->share->known_bytes[is_trusted(source)]))
			return -ENOMEM;
	}
	return nr;
}

/* Takes what a file says of its debug file; nothing, if it cannot be read now. 0, -EBADMSG or -ENOMEM */
static int take_debug_key(struct namer *n, uint64_t source, const struct worker_answer *answer)
{
	struct module *module = modules_get(n->names->modules, source);
	struct debug_key key;

	if (!answer->nr)
		return 0;
	if (answer->nr != sizeof(key))
		return -EBADMSG;
	memcpy(&key, answer->bytes, sizeof(key));
	if (!debug_key_is_sound(&key))
		return -EBADMSG;
	free(module->debug);
	module->debug = malloc(sizeof(key));
	if (!module->debug)
		return -ENOMEM;
	*module->debug = key;
	return 0;
}

/* If its debug file is known now, its names are read with that. 0 or -errno */
static int go_on_preparing(struct namer *n, struct source *source, const struct worker_answer *answer)
{
	int error;

	if (!must_ask_debug(n, source->key))
		return 0;
	error = take_debug_key(n, source->key, answer);
	if (error || must_ask_debug(n, source->key))
		return error;
	return give_job(n, source->set, PREPARE | source->key, false, 0);
}

/* May a trusted source be asked once more? Its disk, or the machine, was slow perhaps. */
static bool may_try_again(struct source *source, int error)
{
	return (error == -ETIMEDOUT || error == -EAGAIN || error == -ENOMEM || error == -ECHILD) && is_trusted(source) &&
	       source->slow++ < MAX_SLOW;
}

/* Its module's names are read when it is seen next. */
static void see_again(struct namer *n, const struct source *source)
{
	struct module *module = modules_get(n->names->modules, source->key);

	if (module)
		module->seen = false;
}

/* Takes an answer that nobody waits for: an error, what a file says of its debug file, or names of JIT code. */
static void take_aside(struct namer *n, const struct worker_answer *answer)
{
	struct source *source = source_of(n, SOURCE_OF_TAG(answer->tag));
	int error = answer->error;

	if (!source)
		return;
	if (!error && answer->tag & PREPARE)
		error = go_on_preparing(n, source, answer);
	else if (!error && answer->tag & FOLLOW && take(n, source, NULL, MAX_NAMED, answer) == -EBADMSG)
		error = -EBADMSG;
	if (error && may_try_again(source, error))
		see_again(n, source);
	else if (error)
		give_up(n, source, error);
}

/* Takes an answer. False: there is none yet. Only answers to ASK are for the caller */
static bool take_answer(struct namer *n, enum set set, struct worker_answer *answer)
{
	if (!workers_take(n->workers[set], answer))
		return false;
	if (!(answer->tag & ASK))
		take_aside(n, answer);
	return true;
}

/* ---- wanted frames ---- */

/* Sorts the wanted frames, and keeps each of them once. */
static void sort_wanted(struct source *source)
{
	size_t kept = 0;

	if (!source->nr)
		return;
	qsort(source->wanted, source->nr, sizeof(*source->wanted), order_numbers);
	for (size_t i = 0; i < source->nr; i++)
		if (!i || source->wanted[i] != source->wanted[i - 1])
			source->wanted[kept++] = source->wanted[i];
	source->nr = kept;
}

#define LEAST_WANTED 256

/* Stacks have the same frames again and again: before there is more room, each is kept once. 0 or -ENOMEM */
static int make_room(struct source *source)
{
	if (source->nr < source->room)
		return 0;
	sort_wanted(source);
	return array_reserve(&source->wanted, &source->room, 2 * source->nr + LEAST_WANTED);
}

/*
 * again: also if it was named before the last namer_forget(), in no file: other code may have taken its place. 0 or -ENOMEM
 */
static int want(struct namer *n, pid_t pid, uint64_t frame, bool again)
{
	uint64_t key = source_key(pid, frame);
	struct known_names *names = known_of(n, key);
	const struct known_name *known = known_names_find(names, key, frame);
	struct source *source;

	if (known && !(again && key & JIT_SOURCE && known->named != names->round))
		return 0;
	source = source_of(n, key);
	if (!source || make_room(source))
		return -ENOMEM;
	if (!source->nr || source->wanted[source->nr - 1] != frame)
		source->wanted[source->nr++] = frame;
	return 0;
}

/* ---- forgetting ---- */

static bool has_ended(const struct source *source)
{
	return source->key & JIT_SOURCE && kill((pid_t)source->key, 0) && errno == ESRCH;
}

void namer_forget(struct namer *n)
{
	struct source *source, *next;

	memset(n->waited_ns, 0, sizeof(n->waited_ns));	/* for the next report */
	for (struct share *share = n->shares; share; share = share->hh.next)
		share->waited_ns = 0;
	source_places_begin();
	for (int trusted = 0; trusted < 2; trusted++)
		known_names_forget(&n->known[trusted], is_forgotten, n, MAX_IDLE_BYTES);
	HASH_ITER(hh, n->sources, source, next)
		if (is_forgotten(n, source->key) || has_ended(source) || (!source->nr && !source->error && !source->passed_over && !source->gone))
			drop_source(n, source);
	forget_shares(n);
}

/* ---- asking without waiting ---- */

/*
 * Can its file perhaps not be found when the report is made? Who builds and tests programs removes them, or writes new ones in
 * their place, soon after they have been written.
 */
static bool may_vanish(const struct module *module)
{
	return module->elsewhere || module->key.mtime_s > time(NULL) - NEW_FILE_S;
}

static int see_module(struct namer *n, uint32_t id)
{
	struct module *module = modules_get(n->names->modules, id);

	if (!module || module->seen || !may_vanish(module))
		return 0;
	module->seen = true;
	return give_job(n, set_of(n, id), PREPARE | id, must_ask_debug(n, id), 0);
}

/*
 * Wants the names of a file that may vanish soon: the worker may have to forget what it has read of the file, to
 * make room for others.
 */
static int see_frame(struct namer *n, pid_t pid, uint64_t frame)
{
	const struct module *module = modules_get(n->names->modules, FRAME_MODULE(frame));
	int error = see_module(n, FRAME_MODULE(frame));

	return !error && module && module->seen ? want(n, pid, frame, true) : error;
}

/* Gives all processes of one user with code in no file the same share. 0 or -ENOMEM */
static int note_user(struct namer *n, pid_t pid, uint32_t uid)
{
	uint64_t key = JIT_SOURCE | (uint32_t)pid;
	struct source *source;
	struct share *share;

	HASH_FIND(hh, n->sources, &key, sizeof(key), source);
	if (!source)
		return 0;
	share = share_of(n, owner_of_user(uid));
	if (!share)
		return -ENOMEM;
	source->share = share;
	source->uid = uid;
	return 0;
}

int namer_see(struct namer *n, pid_t pid, uint32_t uid, const uint64_t *frames, size_t nr)
{
	int error = 0;

	for (size_t i = 0; i < nr && !error; i++)
		if (frame_in_no_file(frames[i]))
			error = want(n, pid, frames[i], true);
		else if (!FRAME_IS_RUNTIME(frames[i]) && !FRAME_IS_MARK(frames[i]))
			error = see_frame(n, pid, frames[i]);
	return error ? error : note_user(n, pid, uid);
}

/*
 * Asks for the wanted frames now, because a runtime may move its code, or put other code in its place. 0 or -errno
 */
static int follow_code(struct namer *n, struct source *source)
{
	int error = 0;

	if (must_ask_debug(n, source->key) && !source->error)	/* it is being prepared; these are asked for later */
		return 0;
	sort_wanted(source);
	for (size_t at = 0, some; at < source->nr && !error && may_ask(n, source); at += some) {
		some = source->nr - at < MAX_NAMED ? source->nr - at : MAX_NAMED;
		memcpy(n->frames, source->wanted + at, some * sizeof(*source->wanted));
		error = give_job(n, source->set, FOLLOW | source->key, false, some);
	}
	source->nr = 0;
	return error;
}

static void take_answers(struct namer *n, enum set set)
{
	struct worker_answer answer;

	while (workers_nr_asked(n->workers[set]) && take_answer(n, set, &answer))
		;
}

int namer_follow(struct namer *n)
{
	struct source *source, *next;
	uint64_t now = clock_ns();
	int error = 0;

	for (enum set set = 0; set < NR_SETS; set++)
		take_answers(n, set);
	if (now - n->followed_ns < FOLLOW_NS)
		return 0;
	n->followed_ns = now;
	HASH_ITER(hh, n->sources, source, next)
		if (source->nr && !error)
			error = follow_code(n, source);
	return error;
}

/* ---- asking and waiting ---- */

/* The source's worker has been ended: files of this owner that it had prepared are prepared when they are seen again. */
static void prepare_again(struct namer *n, const struct source *source)
{
	for (size_t id = 1; id <= modules_count(n->names->modules); id++) {
		struct module *module = modules_get(n->names->modules, id);

		if (module && module->seen && set_of(n, id) == source->set && module->owner == source->share->owner)
			module->seen = false;
	}
}

/* the time from which on an answer is too late */
static uint64_t end_of_wait(const struct namer *n, const struct source *source)
{
	uint64_t all = MAX_WAITED_NS - n->waited_ns[false], own = n->share_ns - source->share->waited_ns;

	return is_trusted(source) ? UINT64_MAX : clock_ns() + (own < all ? own : all);
}

/* Waits for the answer to ASK with this tag. False: it was interrupted, or no answer will come */
static bool await(struct namer *n, const struct source *source, uint64_t tag, struct worker_answer *answer)
{
	struct workers *workers = n->workers[source->set];
	struct pollfd fds[] = {
		{ .fd = workers_fd(workers), .events = POLLIN },
		{ .fd = interrupt_fd(n), .events = POLLIN },
	};
	uint64_t end_ns = end_of_wait(n, source);

	/* answers to questions of a report that was interrupted are skipped */
	while (!take_answer(n, source->set, answer) || answer->tag != tag) {
		if (!workers_nr_asked(workers))
			return false;
		if (clock_ns() > end_ns) {
			workers_give_up(workers, tag);
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

/* Asks which debug file the file has, if that is not known yet, then for these frames; waits. What is not answered stays unknown. 0 or -ENOMEM */
static int ask(struct namer *n, struct source *source, const uint64_t *frames, size_t nr)
{
	ssize_t done;

	for (bool asks_debug = must_ask_debug(n, source->key); (nr || asks_debug) && may_ask(n, source); frames += done, nr -= done) {
		size_t some = nr < MAX_NAMED ? nr : MAX_NAMED;
		struct worker_answer answer = {};
		uint64_t began = clock_ns(), tag = ASK | source->key | ++n->nr_questions << QUESTION_SHIFT;
		bool failed;

		if (asks_debug)
			some = 0;
		if (some)
			memcpy(n->frames, frames, some * sizeof(*frames));
		if (give_job(n, source->set, tag, asks_debug, some))
			return -ENOMEM;
		if (!await(n, source, tag, &answer))
			return 0;
		if (may_try_again(source, answer.error)) {
			n->waited_ns[true] += clock_ns() - began;
			done = 0;
			continue;
		}
		if (answer.error)
			done = answer.error;
		else if (asks_debug)
			done = take_debug_key(n, source->key, &answer);
		else
			done = take(n, source, frames, some, &answer);
		failed = done < 0 || (!done && !asks_debug);
		if (answer.error == -ETIME && !is_trusted(source) && (n->waited_ns[false] || n->share_ns < MAX_WAITED_NS))
			pass_over(source, &n->losses.passed_over);	/* other sources have taken most of the time */
		else if (failed)
			give_up(n, source, answer.error ? answer.error : -EBADMSG);
		note_waited(n, source, began);
		if (failed)
			return done == -ENOMEM && !answer.error ? -ENOMEM : 0;	/* an answer's -ENOMEM is the worker's, not ours */
		asks_debug = false;
	}
	return 0;
}

/* recent: frames that are wanted already, or known */
static int want_all(struct namer *n, const struct stack_entry *entry, struct recent_pair *recent)
{
	int error = 0;

	for (uint32_t i = 0; entry->user && i < entry->user->nr && !error; i++) {
		uint64_t frame = entry->user->frames[i];
		bool known;

		/* frames of runtimes are named elsewhere, and marks have no names */
		if (FRAME_IS_RUNTIME(frame) || FRAME_IS_MARK(frame))
			continue;
		recent_place(recent, source_key(entry->key.pid, frame), frame, &known);
		if (!known)
			error = want(n, entry->key.pid, frame, false);
	}
	return error ? error : note_user(n, entry->key.pid, entry->key.uid);
}

static int want_all_of(struct namer *n, const struct stack_entry *entries, size_t nr)
{
	struct recent_pair *recent = calloc(RECENT_PAIRS, sizeof(*recent));
	int error = recent ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !error; i++)
		for (const struct stack_entry *entry = &entries[i]; entry && !error; entry = entry->waker)
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
	error = debuginfod_fetch(n->options.debuginfod, module->build_id, module->build_id_bytes, module_is_trusted(module),
				 interrupt_fd(n), path);
	if (error == -EINTR)
		n->interrupted = true;
	if (error && error != -ENOENT)
		n->losses.not_fetched = error;
	return !error && !module_set_fetched(module, path);
}

bool namer_open_file(struct namer *n, struct module *module, struct opened_elf *opened, struct debug_key *debug)
{
	struct source *source = source_of(n, module->id);
	struct worker_file file;

	*opened = (struct opened_elf){ .fd = -EBADF };
	if (!source || ask(n, source, NULL, 0) || !module->debug)
		return false;
	file = workers_open(n->workers[source->set], source->share->owner, n->request, describe(n, source->key, false, 0));
	namer_take_files(opened, &file);
	*debug = *module->debug;
	return opened->fd >= 0 || module->image;
}

/* Fetches a debug file for the source. True: it has come, and the names are to be asked for again */
static bool fetch_names(struct namer *n, const struct source *source)
{
	struct module *module = source->lacks_names ? modules_get(n->names->modules, source->key) : NULL;

	if (!module || !namer_fetch(n, module))
		return false;
	known_names_forget_source(&n->known[is_trusted(source)], source->key);
	return true;
}

/* Asks for the source's wanted frames, and once more if a debug file has come. */
static int ask_for_wanted(struct namer *n, struct source *source)
{
	int error;

	if (!source->nr)
		return 0;
	sort_wanted(source);
	error = ask(n, source, source->wanted, source->nr);
	if (!error && fetch_names(n, source))
		error = ask(n, source, source->wanted, source->nr);
	free(source->wanted);
	source->wanted = NULL;
	source->nr = source->room = 0;
	return error;
}

/* Cancels the jobs of namer_follow() that have not begun: the report, which waits, asks for what it needs itself. */
static void stop_following(struct namer *n)
{
	struct source *source, *next;

	HASH_ITER(hh, n->sources, source, next) {
		while (workers_cancel(n->workers[source->set], FOLLOW | source->key))
			;
		if (!(source->key & JIT_SOURCE) && workers_cancel(n->workers[source->set], PREPARE | source->key))
			see_again(n, source);
	}
}

static int ask_for_trusted(struct namer *n)
{
	struct source *source, *next;
	int error = 0;

	HASH_ITER(hh, n->sources, source, next)
		if (is_trusted(source) && !error)
			error = ask_for_wanted(n, source);
	return error;
}

static uint64_t bytes_of(const struct namer *n, const struct source *source)
{
	const struct module *module = module_of(n, source->key);

	return module ? module->key.bytes : 0;
}

/*
 * The smallest source whose owner has not used up the share; if all have, the smallest of all. NULL: no source is left
 */
static struct source *next_of_others(const struct namer *n, uint64_t share_ns)
{
	struct source *best = NULL;
	bool best_had = false;

	for (struct source *source = n->sources; source; source = source->hh.next) {
		bool had = source->share->waited_ns >= share_ns;

		if (is_trusted(source) || !source->nr || (best && (had != best_had ? had : bytes_of(n, source) >= bytes_of(n, best))))
			continue;
		best = source;
		best_had = had;
	}
	return best;
}

/* Returns how many owners have untrusted sources with wanted frames, and sets the owners' nr_sources. */
static size_t count_owners(struct namer *n)
{
	size_t nr = 0;

	for (struct share *share = n->shares; share; share = share->hh.next)
		share->nr_sources = 0;
	for (struct source *source = n->sources; source; source = source->hh.next)
		if (!is_trusted(source) && source->nr)
			nr += !source->share->nr_sources++;
	return nr;
}

static int ask_for_others(struct namer *n)
{
	size_t nr = count_owners(n), left = nr;
	uint64_t share_ns = nr ? MAX_WAITED_NS / nr : 0;
	struct source *source;
	int error = 0;

	while (!error && !n->interrupted && n->waited_ns[false] < MAX_WAITED_NS && (source = next_of_others(n, share_ns))) {
		/* an owner that has used up the share gets time that the others have left */
		n->share_ns = left > 1 && source->share->waited_ns < share_ns ? share_ns : MAX_WAITED_NS;
		error = ask_for_wanted(n, source);
		left -= !--source->share->nr_sources;
	}
	n->share_ns = MAX_WAITED_NS;
	for (source = n->sources; source && !error; source = source->hh.next)	/* no time is left: passes these over */
		if (!is_trusted(source))
			error = ask_for_wanted(n, source);
	return error;
}

int namer_learn(struct namer *n, const struct stack_entry *entries, size_t nr)
{
	struct source *source, *next;
	int error;

	n->interrupted = false;		/* the signal that has ended the measurement may have set it */
	stop_following(n);
	HASH_ITER(hh, n->sources, source, next)		/* debug files for what was named during the measurement */
		fetch_names(n, source);
	error = want_all_of(n, entries, nr);
	if (!error)
		error = ask_for_trusted(n);
	return error ? error : ask_for_others(n);
}

/* ---- finding ---- */

static struct frame_name name_of(const struct namer *n, const struct known_name *known, uint64_t frame)
{
	struct frame_name name = { .file_offset = FRAME_OFFSET(frame) };

	if (frame & FRAME_ADDRESS) {
		name = (struct frame_name){ .address = FRAME_ADDR(frame) };
	} else {
		name.file = modules_get(n->names->modules, FRAME_MODULE(frame));
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
	uint64_t key = source_key(pid, frame);
	struct known_names *names = known_of(n, key);
	const struct known_name *known = known_names_find(names, key, frame);
	struct source *source = known ? NULL : source_of(n, key);

	if (source && !ask(n, source, &frame, 1))
		known = known_names_find(names, key, frame);
	return name_of(n, known, frame);
}

struct namer_losses namer_losses(const struct namer *n)
{
	struct namer_losses losses = n->losses;
	const struct module *module = NULL;

	if (losses.given_up && n->given_up_key & JIT_SOURCE)
		losses.pid = (pid_t)n->given_up_key;
	else if (losses.given_up)
		module = modules_get(n->names->modules, n->given_up_key);
	losses.path = module ? module->path : NULL;
	return losses;
}

bool namer_lost_code(const struct namer *n, pid_t pid)
{
	uint64_t key = JIT_SOURCE | (uint32_t)pid;
	const struct source *source;

	HASH_FIND(hh, n->sources, &key, sizeof(key), source);
	return source && (source->error || source->passed_over);
}

const char *namer_gone(const struct namer *n, uint64_t frame)
{
	uint64_t key = FRAME_MODULE(frame);
	const struct module *module;
	const struct source *source;

	if (!n->some_gone || FRAME_IS_RUNTIME(frame) || frame_in_no_file(frame))
		return NULL;
	module = module_of(n, key);
	HASH_FIND(hh, n->sources, &key, sizeof(key), source);
	return module && source && source->gone ? module->path : NULL;
}
