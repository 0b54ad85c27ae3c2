// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/name_jobs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/memory_limit.h"
#include "base/order.h"

#define LEAST_AREA (256 << 10)
#define MOST_AREA  (4 << 20)
#define MANY_JOBS  4096 /* of an owner, that wait for a worker */
#define NR_OTHERS  4    /* workers of a set: so many owners, or users, are served at a time */

static const struct worker_set {
	unsigned nr, part; /* all of them together may take memory_limit / part */
	uint64_t apart;
	bool keeps;
} sets[NR_NAME_SETS] = {
	[OTHERS_FILES] = { NR_OTHERS, 2, UINT64_MAX, false },
	[TRUSTED_FILES] = { 1, 1, 0, false },
	[CODE_IN_NO_FILE] = { NR_OTHERS, 2, OWNERS_APART, true },
};

_Static_assert(NAMER_MAX_REQUEST <= LEAST_AREA, "a request is in the area");

/* for answers: 4 MB, but less if there is little memory */
static size_t area_bytes(void)
{
	return clamped(memory_limit / 128, LEAST_AREA, MOST_AREA);
}

static int start_workers(struct workers **workers, const struct worker_set *set)
{
	/* the worker may wait for a child of its own, the demangler */
	const struct worker_limits limits = {
		.sleep_ms = 300,
		.cpu_ms = 700,
		.bytes = memory_limit / set->part / set->nr,
		.parent = true,
		.first = true,
		.open = namer_open,
		.apart = set->apart,
		.keeps = set->keeps,
	};

	return workers_new(workers, set->nr, area_bytes(), &limits, namer_work);
}

int name_jobs_init(struct name_jobs *jobs, struct name_sources *sources)
{
	int error = 0;

	*jobs = (struct name_jobs){ .sources = sources };
	for (enum name_set set = 0; set < NR_NAME_SETS && !error; set++)
		error = start_workers(&jobs->workers[set], &sets[set]);
	return error;
}

void name_jobs_free(struct name_jobs *jobs)
{
	for (enum name_set set = 0; set < NR_NAME_SETS; set++)
		workers_free(jobs->workers[set]);
}

/* ---- tags ---- */

#define KIND_SHIFT   NAME_SOURCE_BITS
#define NUMBER_SHIFT (KIND_SHIFT + 2)

static uint64_t tag_of(const struct name_job *job)
{
	return job->source | (uint64_t)job->kind << KIND_SHIFT |
	       (uint64_t)job->number << NUMBER_SHIFT;
}

static struct name_job job_of(enum name_set set, uint64_t tag)
{
	return (struct name_job){
		.kind = tag >> KIND_SHIFT & 3,
		.set = set,
		.source = tag & ((1ULL << KIND_SHIFT) - 1),
		.number = tag >> NUMBER_SHIFT,
	};
}

/* ---- questions ---- */

static char *put_string(char *to, const char *string)
{
	return stpcpy(to, string) + 1;
}

/* A worker that has ended had jitdumps open: these must be opened again. */
static void note_ends(struct name_jobs *jobs)
{
	uint64_t nr = workers_nr_ended(jobs->workers[CODE_IN_NO_FILE]);

	for (struct name_source *source = jobs->sources->all; source && nr != jobs->nr_ended;
	     source = source->hh.next)
		source->has_dump = false;
	jobs->nr_ended = nr;
}

/* Writes jobs->request. Returns its size */
static size_t write_request(struct name_jobs *jobs, uint64_t key, bool asks_debug,
			    const uint64_t *frames, size_t nr)
{
	const struct module *module = name_sources_module(jobs->sources, key);
	const struct name_source *source = name_sources_find(jobs->sources, key);
	const struct symbol_options *options = modules_symbol_options(jobs->sources->modules);
	const struct debug_search *search = &options->search;
	const char *path = module && !module->image ? module->path : "",
		   *fetched = module && module->fetched ? module->fetched : "";
	struct namer_request *r = (struct namer_request *)jobs->request;
	char *end;

	note_ends(jobs);
	*r = (struct namer_request){
		.pid = key,
		.uid = source ? source->uid : UINT32_MAX,
		.nr = nr,
		.asks_debug = asks_debug,
		.no_demangle = options->no_demangle,
		.wants_dump = !module && !(source && source->has_dump),
	};
	if (module) {
		r->module_id = module->id;
		r->key = module->key;
		r->file = module_file(module);
		r->file.path = *path ? path : NULL;
		if (module->debug)
			r->debug = *module->debug;
	}
	end = (char *)(r + 1);
	if (nr)
		end = mempcpy(end, frames, nr * sizeof(*frames));
	end = put_string(end, strlen(path) < 2 * PATH_MAX ? path : "");
	end = put_string(end, fetched);
	for (size_t i = 0; i < search->nr_directories && r->nr_directories < NAMER_MAX_DIRECTORIES;
	     i++) {
		if (strlen(search->directories[i]) >= PATH_MAX)
			continue;
		end = put_string(end, search->directories[i]);
		r->nr_directories++;
	}
	return end - (char *)r;
}

int name_jobs_give(struct name_jobs *jobs, const struct name_job *job, bool asks_debug,
		   const uint64_t *frames, size_t nr)
{
	size_t bytes = write_request(jobs, job->source, asks_debug, frames, nr);

	return workers_ask(jobs->workers[job->set], tag_of(job),
			   name_sources_owner(jobs->sources, job->source), jobs->request, bytes);
}

bool name_jobs_are_many(const struct name_jobs *jobs, const struct name_job *job)
{
	uint64_t owner = name_sources_owner(jobs->sources, job->source);

	return owner && workers_nr_waiting(jobs->workers[job->set], owner) > MANY_JOBS;
}

bool name_jobs_cancel(struct name_jobs *jobs, enum name_set set, struct name_job *job)
{
	uint64_t tag;

	if (!workers_cancel_any(jobs->workers[set], &tag))
		return false;
	*job = job_of(set, tag);
	return true;
}

void name_jobs_give_up(struct name_jobs *jobs, const struct name_job *job)
{
	workers_give_up(jobs->workers[job->set], tag_of(job));
}

struct worker_file name_jobs_open(struct name_jobs *jobs, const struct name_source *source)
{
	size_t bytes = write_request(jobs, source->key, false, NULL, 0);

	return workers_open(jobs->workers[source->set], source->share->owner, jobs->request, bytes);
}

/* ---- answers ---- */

bool name_jobs_take(struct name_jobs *jobs, enum name_set set, struct name_job *job,
		    struct worker_answer *answer)
{
	if (!workers_nr_asked(jobs->workers[set]) || !workers_take(jobs->workers[set], answer))
		return false;
	*job = job_of(set, answer->tag);
	return true;
}

/* Is it a possible answer for this source? The worker may have been taken over. */
static bool is_sound(const struct name_source *source, const struct named_frame *found)
{
	return name_source_may_have(source->key, found->frame) &&
	       !(source->key & PROCESS_SOURCE && (found->has_vaddr || found->has_function));
}

/*
 * Reads a string of so many bytes with its NUL, and advances *at; *string is NULL if there are
 * none. False: it does not end there
 */
static bool next_string(const char **at, const char *end, uint16_t bytes, const char **string)
{
	*string = bytes ? *at : NULL;
	if (bytes > end - *at || (bytes && (*at)[bytes - 1]))
		return false;
	*at += bytes;
	return true;
}

int name_answer_next(const struct name_source *source, const struct worker_answer *answer,
		     size_t *at, struct answered_frame *frame)
{
	const char *bytes = answer->bytes, *from = bytes + *at, *end = bytes + answer->nr;

	if (from == end)
		return 0;
	if ((size_t)(end - from) < sizeof(frame->found))
		return -EBADMSG;
	memcpy(&frame->found, from, sizeof(frame->found));
	from += sizeof(frame->found);
	if (!is_sound(source, &frame->found) ||
	    !next_string(&from, end, frame->found.symbol_bytes, &frame->symbol) ||
	    !next_string(&from, end, frame->found.raw_bytes, &frame->raw))
		return -EBADMSG;
	*at = from - bytes;
	return 1;
}

int name_answer_debug(const struct worker_answer *answer, struct debug_key *key)
{
	if (!answer->nr)
		return 0;
	if (answer->nr != sizeof(*key))
		return -EBADMSG;
	memcpy(key, answer->bytes, sizeof(*key));
	return debug_key_is_sound(key) ? 1 : -EBADMSG;
}
