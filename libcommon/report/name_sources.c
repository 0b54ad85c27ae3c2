// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/name_sources.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory_limit.h"
#include "base/order.h"
#include "process/trust.h"
#include "process/workers.h"
#include "stacks_abi.h"

/* of names of trusted files; of all others, which cannot take the room of those */
#define MAX_KNOWN_BYTES (memory_limit / 8)
#define MAX_SHARE_BYTES (MAX_KNOWN_BYTES / 4) /* of one owner, if its sources are untrusted */
/* if known names take more, those that nobody asks for are forgotten */
#define MAX_IDLE_BYTES (memory_limit / 64)
#define MAX_SLOW       3
#define LEAST_WANTED   16
#define LEAST_SOURCES  1024

void name_sources_init(struct name_sources *s, struct modules *modules)
{
	*s = (struct name_sources){ .modules = modules,
				    .most = LEAST_SOURCES,
				    .share_ns = NAME_WAIT_NS };
}

static void drop(struct name_sources *s, struct name_source *source)
{
	HASH_DEL(s->all, source);
	free(source->wanted);
	free(source);
}

/* Those without sources and names. */
static void forget_shares(struct name_sources *s)
{
	struct name_share *share, *next;

	for (struct name_source *source = s->all; source; source = source->hh.next)
		source->share->used = true;
	HASH_ITER(hh, s->shares, share, next) {
		if (!share->used && !share->known[false].bytes && !share->known[true].bytes) {
			HASH_DEL(s->shares, share);
			free(share);
			continue;
		}
		share->used = false;
	}
}

void name_sources_free(struct name_sources *s)
{
	struct name_source *source, *next;

	known_names_free(&s->known[false]);
	known_names_free(&s->known[true]);
	HASH_ITER(hh, s->all, source, next)
		drop(s, source);
	forget_shares(s);
}

/* ---- sources ---- */

#define ID_BITS 21
#define ID(key) ((uint32_t)((key) & (MAX_MODULES - 1)))
_Static_assert(MAX_MODULES == 1 << ID_BITS, "");
#define SERIAL_BITS (NAME_SOURCE_BITS - 1 - ID_BITS)

uint64_t name_source_of_file(const struct module *module)
{
	return (module->serial & ((1ULL << SERIAL_BITS) - 1)) << ID_BITS | module->id;
}

uint64_t name_source_key(const struct name_sources *s, pid_t pid, uint64_t frame)
{
	const struct module *module;

	if (frame & FRAME_ADDRESS)
		return PROCESS_SOURCE | (uint32_t)pid;
	module = modules_get(s->modules, FRAME_MODULE(frame));
	return module ? name_source_of_file(module) : FRAME_MODULE(frame);
}

bool name_source_may_have(uint64_t key, uint64_t frame)
{
	return frame & FRAME_ADDRESS ? key & PROCESS_SOURCE
				     : !(key & PROCESS_SOURCE) && FRAME_MODULE(frame) == ID(key);
}

struct module *name_sources_module(const struct name_sources *s, uint64_t key)
{
	struct module *module = key & PROCESS_SOURCE ? NULL : modules_get(s->modules, ID(key));

	return module && name_source_of_file(module) == key ? module : NULL;
}

enum name_set name_sources_set_of(const struct name_sources *s, uint64_t key)
{
	const struct module *module = name_sources_module(s, key);

	if (key & PROCESS_SOURCE)
		return CODE_IN_NO_FILE;
	return module && module_is_trusted(module) ? TRUSTED_FILES : OTHERS_FILES;
}

bool name_source_is_trusted(const struct name_source *source)
{
	return source->set == TRUSTED_FILES;
}

struct name_source *name_sources_find(const struct name_sources *s, uint64_t key)
{
	struct name_source *source;

	HASH_FIND(hh, s->all, &key, sizeof(key), source);
	return source;
}

uint64_t name_sources_owner(const struct name_sources *s, uint64_t key)
{
	const struct module *module = name_sources_module(s, key);
	const struct name_source *source;

	if (module)
		return module->owner;
	source = name_sources_find(s, key);
	return source ? source->share->owner : owner_of_process((pid_t)key);
}

/* NULL: no memory */
static struct name_share *share_of(struct name_sources *s, uint64_t owner)
{
	struct name_share *share;

	HASH_FIND(hh, s->shares, &owner, sizeof(owner), share);
	if (share)
		return share;
	share = calloc(1, sizeof(*share));
	if (!share)
		return NULL;
	share->owner = owner;
	share->known[false].user = user_room_of(&memory_room, OWNERS_UID(owner));
	if (!share->known[false].user) {
		free(share);
		return NULL;
	}
	HASH_ADD(hh, s->shares, owner, sizeof(share->owner), share);
	return share;
}

struct name_source *name_sources_get(struct name_sources *s, uint64_t key)
{
	struct name_source *source = name_sources_find(s, key);

	if (source)
		return source;
	source = calloc(1, sizeof(*source));
	if (!source)
		return NULL;
	source->key = key;
	source->uid = UINT32_MAX;
	source->set = name_sources_set_of(s, key);
	source->share = share_of(s, name_sources_owner(s, key));
	if (!source->share) {
		free(source);
		return NULL;
	}
	HASH_ADD(hh, s->all, key, sizeof(source->key), source);
	return source;
}

int name_sources_note_user(struct name_sources *s, pid_t pid, uint32_t uid)
{
	struct name_source *source = name_sources_find(s, PROCESS_SOURCE | (uint32_t)pid);
	struct name_share *share = source ? share_of(s, owner_of_user(uid)) : NULL;

	if (!source)
		return 0;
	if (!share)
		return -ENOMEM;
	source->share = share;
	source->uid = uid;
	return 0;
}

bool name_source_is_forgotten(const struct name_sources *s, uint64_t key)
{
	return !(key & PROCESS_SOURCE) && !name_sources_module(s, key);
}

static bool is_forgotten(void *sources, uint64_t key)
{
	return name_source_is_forgotten(sources, key);
}

static bool has_ended(const struct name_source *source)
{
	return source->key & PROCESS_SOURCE && kill((pid_t)source->key, 0) && errno == ESRCH;
}

/* Nothing is wanted of it, and nothing is to be said of it. */
static bool is_idle(const struct name_source *source)
{
	return !source->nr && !source->error && !source->passed_over && !source->gone;
}

void name_sources_bound(struct name_sources *s)
{
	struct name_source *source, *next;

	if (HASH_COUNT(s->all) < s->most)
		return;
	HASH_ITER(hh, s->all, source, next)
		if (!source->nr && !source->nr_followed &&
		    (is_forgotten(s, source->key) || has_ended(source) ||
		     (is_idle(source) && !source->lacks_names && !source->has_dump)))
			drop(s, source);
	forget_shares(s);
	s->most = 2 * HASH_COUNT(s->all) + LEAST_SOURCES;
}

void name_sources_forget(struct name_sources *s)
{
	struct name_source *source, *next;

	memset(s->waited_ns, 0, sizeof(s->waited_ns));
	for (struct name_share *share = s->shares; share; share = share->hh.next)
		share->waited_ns = 0;
	for (int trusted = 0; trusted < 2; trusted++)
		known_names_forget(&s->known[trusted], is_forgotten, s, MAX_IDLE_BYTES);
	HASH_ITER(hh, s->all, source, next)
		if (is_forgotten(s, source->key) || has_ended(source) || is_idle(source))
			drop(s, source);
	forget_shares(s);
}

/* ---- names ---- */

static struct known_names *known_of(struct name_sources *s, uint64_t key)
{
	return &s->known[name_sources_set_of(s, key) == TRUSTED_FILES];
}

const struct known_name *name_sources_known(struct name_sources *s, uint64_t key, uint64_t frame)
{
	return known_names_find(known_of(s, key), key, frame);
}

/* why: what counts it */
static void pass_over(struct name_source *source, size_t *why)
{
	*why += !source->passed_over;
	source->passed_over = true;
}

void name_sources_lack_room(struct name_sources *s, struct name_source *source)
{
	pass_over(source, &s->nr_no_room);
}

/* for more names of the source */
static bool has_room(struct name_sources *s, struct name_source *source)
{
	bool trusted = name_source_is_trusted(source);

	if (s->known[trusted].bytes < MAX_KNOWN_BYTES &&
	    (trusted || (source->share->known[false].bytes < MAX_SHARE_BYTES &&
			 user_room_has(source->share->known[false].user, 1))))
		return true;
	name_sources_lack_room(s, source);
	return false;
}

int name_sources_add(struct name_sources *s, struct name_source *source,
		     const struct named_frame *found, const char *symbol, const char *raw)
{
	bool trusted = name_source_is_trusted(source);

	if (!has_room(s, source))
		return 0;
	return known_names_add(&s->known[trusted], source->key, found, symbol, raw,
			       &source->share->known[trusted]);
}

void name_sources_forget_names(struct name_sources *s, const struct name_source *source)
{
	known_names_forget_source(&s->known[name_source_is_trusted(source)], source->key);
}

void name_source_sort_wanted(struct name_source *source)
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

/*
 * Stacks have the same frames again and again: before there is more room, each is kept once. 0 or
 * -ENOMEM
 */
static int make_room(struct name_source *source)
{
	if (source->nr < source->room)
		return 0;
	name_source_sort_wanted(source);
	return array_reserve(&source->wanted, &source->room, 2 * source->nr + LEAST_WANTED);
}

int name_sources_want(struct name_sources *s, pid_t pid, uint64_t frame, bool again)
{
	uint64_t key = name_source_key(s, pid, frame);
	struct known_names *names = known_of(s, key);
	const struct known_name *known = known_names_find(names, key, frame);
	struct name_source *source;

	if (known && !(again && key & PROCESS_SOURCE && known->named != names->round))
		return 0;
	source = name_sources_get(s, key);
	if (!source || make_room(source))
		return -ENOMEM;
	if (!source->nr || source->wanted[source->nr - 1] != frame)
		source->wanted[source->nr++] = frame;
	return 0;
}

void name_source_drop_wanted(struct name_source *source)
{
	free(source->wanted);
	source->wanted = NULL;
	source->nr = source->room = 0;
}

/* ---- time ---- */

bool name_sources_may_ask(struct name_sources *s, struct name_source *source)
{
	bool trusted = name_source_is_trusted(source);

	if (source->error || is_forgotten(s, source->key) || !has_room(s, source))
		return false;
	if (s->waited_ns[trusted] < NAME_WAIT_NS &&
	    (trusted || source->share->waited_ns < s->share_ns))
		return true;
	pass_over(source, &s->nr_passed_over);
	return false;
}

uint64_t name_sources_end_of_wait(const struct name_sources *s, const struct name_source *source)
{
	uint64_t all = NAME_WAIT_NS - s->waited_ns[false],
		 own = s->share_ns - source->share->waited_ns;

	return name_source_is_trusted(source) ? UINT64_MAX : clock_ns() + (own < all ? own : all);
}

void name_sources_note_wait(struct name_sources *s, struct name_source *source, uint64_t began_ns,
			    bool in_vain)
{
	uint64_t waited_ns = clock_ns() - began_ns;
	bool trusted = name_source_is_trusted(source);

	if (in_vain || !trusted)
		s->waited_ns[trusted] += waited_ns;
	if (!trusted)
		source->share->waited_ns += waited_ns;
}

bool name_source_may_try_again(struct name_source *source, int error)
{
	bool may_pass =
		error == -ETIMEDOUT || error == -EAGAIN || error == -ENOMEM || error == -ECHILD;

	return may_pass && name_source_is_trusted(source) && source->slow++ < MAX_SLOW;
}

void name_sources_give_up(struct name_sources *s, struct name_source *source, int error)
{
	s->nr_given_up += !source->error;
	source->error = error;
	s->given_up_key = source->key;
	s->given_up_error = error;
}

void name_sources_fail(struct name_sources *s, struct name_source *source, int error)
{
	bool had_all = !s->waited_ns[false] && s->share_ns == NAME_WAIT_NS;

	if (error == -ETIME && !name_source_is_trusted(source) && !had_all)
		pass_over(source, &s->nr_passed_over);
	else
		name_sources_give_up(s, source, error);
}

/* ---- turns ---- */

struct sized_source {
	uint64_t bytes; /* of the file */
	struct name_source *source;
};

static int smallest_first(const void *left, const void *right)
{
	const struct sized_source *l = left, *r = right;

	return order_of(l->bytes, r->bytes);
}

static uint64_t bytes_of(const struct name_sources *s, const struct name_source *source)
{
	const struct module *module = name_sources_module(s, source->key);

	return module ? module->key.bytes : 0;
}

int name_sources_begin_turns(struct name_sources *s, struct name_turns *turns)
{
	*turns = (struct name_turns){ .order = calloc(HASH_COUNT(s->all) + 1,
						      sizeof(*turns->order)) };
	if (!turns->order)
		return -ENOMEM;
	for (struct name_share *share = s->shares; share; share = share->hh.next)
		share->nr_sources = 0;
	for (struct name_source *source = s->all; source; source = source->hh.next) {
		if (name_source_is_trusted(source) || !source->nr)
			continue;
		turns->order[turns->nr++] = (struct sized_source){ bytes_of(s, source), source };
		turns->nr_owners += !source->share->nr_sources++;
	}
	qsort(turns->order, turns->nr, sizeof(*turns->order), smallest_first);
	if (turns->nr_owners)
		turns->share_ns = NAME_WAIT_NS / turns->nr_owners;
	return 0;
}

/* Those whose owners have used up their shares come after all others. NULL: none is left */
static struct name_source *next_of_others(struct name_turns *turns)
{
	while (turns->at < turns->nr) {
		struct sized_source next = turns->order[turns->at++];

		if (turns->all_had || next.source->share->waited_ns < turns->share_ns)
			return next.source;
		turns->order[turns->nr_put_off++] = next;
	}
	if (turns->all_had || !turns->nr_put_off)
		return NULL;
	turns->all_had = true;
	turns->at = 0;
	turns->nr = turns->nr_put_off;
	return next_of_others(turns);
}

struct name_source *name_sources_next_turn(struct name_sources *s, struct name_turns *turns)
{
	struct name_source *source = NULL;

	if (s->waited_ns[false] < NAME_WAIT_NS)
		source = next_of_others(turns);
	if (!source)
		return NULL;
	/* an owner that has used up the share gets time that the others have left */
	s->share_ns = turns->nr_owners > 1 && source->share->waited_ns < turns->share_ns
			      ? turns->share_ns
			      : NAME_WAIT_NS;
	turns->nr_owners -= !--source->share->nr_sources;
	return source;
}

void name_sources_end_turns(struct name_sources *s, struct name_turns *turns)
{
	s->share_ns = NAME_WAIT_NS;
	free(turns->order);
	*turns = (struct name_turns){};
}
