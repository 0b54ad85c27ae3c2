// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/hotspot/hotspot_methods.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"

#define LEAST_ROOM 4096 /* for the answer to a question to be worth it */

struct known_method {
	struct hotspot_method_key key;
	uint32_t number;
	UT_hash_handle hh;
};

/* what lies at an address in an epoch that has not ended: a sample of the epoch was in it */
struct seen_method {
	uint64_t address, identity, bytecode;
	uint32_t bytecode_bytes, epoch; /* METHOD_EPOCH() */
	uint64_t until_ns;              /* then it is read again: one that is redefined may move */
	UT_hash_handle hh;
};
#define SEEN_NS 1000000000

static void forget_seen(struct hotspot_methods *m)
{
	user_room_give(m->user, HASH_COUNT(m->by_address) * sizeof(*m->by_address));
	hash_free_all(m->by_address);
}

void hotspot_methods_free(struct hotspot_methods *m)
{
	user_room_give(m->user, HASH_COUNT(m->by_key) * sizeof(*m->by_key));
	hash_free_all(m->by_key);
	forget_seen(m);
}

/* ---- epochs ---- */

#define MAX_BEGUN 4096 /* processes of which it is known */

/* one that no process has had; the places of 0 and METHOD_NO_EPOCH are left out */
static uint32_t next_epoch(void)
{
	static uint32_t last;

	do
		last++;
	while (last % METHOD_EPOCHS <= METHOD_NO_EPOCH);
	return last;
}

struct begun {
	pid_t pid;
	UT_hash_handle hh;
};

/* Is it begun for the first time? False, too, when there have been many. */
static bool is_first_time(pid_t pid)
{
	static struct begun *all;
	struct begun *begun;

	HASH_FIND_INT(all, &pid, begun);
	if (begun || HASH_COUNT(all) >= MAX_BEGUN)
		return false;
	begun = calloc(1, sizeof(*begun));
	if (!begun)
		return false;
	begun->pid = pid;
	HASH_ADD_INT(all, pid, begun);
	return true;
}

void hotspot_methods_begin(struct hotspot_methods *m, pid_t pid, struct room_user *user)
{
	*m = (struct hotspot_methods){ .user = user,
				       .first_ns = is_first_time(pid) ? clock_ns() : UINT64_MAX };
}

/*
 * What is read first is taken to hold since the process was first known: else threads that wait
 * from then on had no names in a JVM that has ever thrown a class away. That is an epoch of its
 * own. If the JVM never has, it holds since ever.
 */
void hotspot_methods_note_unloaded(struct hotspot_methods *m, int64_t unloaded)
{
	bool is_first = !m->epoch;

	if (unloaded < 0 || (!is_first && unloaded == m->unloaded))
		return;
	m->unloaded = unloaded;
	m->first_epoch = is_first && m->first_ns != UINT64_MAX ? next_epoch() : 0;
	m->epoch = next_epoch();
	m->epoch_ns = unloaded ? clock_ns() : 0;
	forget_seen(m);
}

uint32_t hotspot_methods_epoch(const struct hotspot_methods *m, uint64_t time_ns)
{
	if (m->epoch && time_ns > m->epoch_ns)
		return m->epoch;
	return m->first_epoch && time_ns > m->first_ns ? m->first_epoch : METHOD_NO_EPOCH;
}

static bool is_of_epoch(const struct hotspot_methods *m, uint64_t second)
{
	uint32_t epoch = METHOD_EPOCH(second);

	return epoch > METHOD_NO_EPOCH &&
	       (epoch == m->epoch % METHOD_EPOCHS || epoch == m->first_epoch % METHOD_EPOCHS);
}

/* ---- methods ---- */

static struct known_method *find(const struct hotspot_methods *m,
				 const struct hotspot_method_key *key)
{
	struct known_method *known;

	HASH_FIND(hh, m->by_key, key, sizeof(*key), known);
	return known;
}

/* False: it is not known, or its name was forgotten: then it is to be read again */
static bool is_known(struct hotspot_methods *m, struct hotspot_names *names,
		     const struct hotspot_method_key *key)
{
	struct known_method *known = find(m, key);

	if (!known || hotspot_names_use(names, known->number))
		return known;
	HASH_DEL(m->by_key, known);
	user_room_give(m->user, sizeof(*known));
	free(known);
	return false;
}

/* of the two words of a frame */
static struct hotspot_method_key key_of(const uint64_t *words)
{
	return (struct hotspot_method_key){ METHOD_ADDRESS(words[0]), METHOD_IDENTITY(words[1]) };
}

uint32_t hotspot_methods_find(const struct hotspot_methods *m, const uint64_t *words)
{
	struct hotspot_method_key key = key_of(words);
	const struct known_method *known = find(m, &key);

	return known ? known->number : 0;
}

static void add(struct hotspot_methods *m, struct hotspot_names *names,
		const struct hotspot_named *named)
{
	struct known_method *known;

	if (find(m, &named->key))
		return;
	known = user_room_new(m->user, sizeof(*known));
	if (!known)
		return;
	known->key = named->key;
	known->number = hotspot_names_add(names, (const struct hotspot_name *)(named + 1), m->user);
	HASH_ADD(hh, m->by_key, key, sizeof(known->key), known);
}

static struct seen_method *find_seen(const struct hotspot_methods *m, uint64_t address)
{
	struct seen_method *seen;

	HASH_FIND(hh, m->by_address, &address, sizeof(address), seen);
	return seen;
}

static void add_seen(struct hotspot_methods *m, const struct hotspot_named *named, uint32_t epoch)
{
	struct seen_method *seen = find_seen(m, named->key.address);

	if (!seen) {
		seen = user_room_new(m->user, sizeof(*seen));
		if (!seen)
			return;
		seen->address = named->key.address;
		HASH_ADD(hh, m->by_address, address, sizeof(seen->address), seen);
	}
	seen->identity = named->key.identity;
	seen->bytecode = named->bytecode;
	seen->bytecode_bytes = named->bytecode_bytes;
	seen->epoch = epoch;
	seen->until_ns = clock_ns() + SEEN_NS;
}

/* a question about methods, and whom it is for */
struct asker {
	struct hotspot_methods *methods;
	struct hotspot_question *question;
	struct foreign *foreign;
	struct hotspot_names *names;
	uint32_t epoch; /* METHOD_EPOCH() of what the host has recorded */
};

/* is_of_now: no class was thrown away since the sample. Before that, other things may lie there. */
static void take(struct asker *a, const struct hotspot_named *named, bool is_of_now)
{
	const struct hotspot_question *q = a->question;
	const struct hotspot_method_key *asked = &q->methods[named->number];

	if (named->gone || !named->name_bytes || named->number >= q->nr_methods ||
	    named->key.address != asked->address)
		return;
	if (!asked->identity) {
		if (!is_of_now)
			return;
		add_seen(a->methods, named, a->epoch);
	}
	add(a->methods, a->names, named);
}

static void ask(struct asker *a)
{
	const struct hotspot_answer *answer;
	const struct hotspot_named *named;
	size_t bytes, at = sizeof(*answer);
	bool is_of_now;

	if (a->question->nr_methods && !hotspot_ask(a->foreign, a->question, &answer, &bytes)) {
		is_of_now = answer->unloaded >= 0 && answer->unloaded == a->methods->unloaded;
		hotspot_methods_note_unloaded(a->methods, answer->unloaded);
		while ((named = hotspot_named_next(answer, bytes, &at)))
			take(a, named, is_of_now);
	}
	a->question->nr_methods = 0;
}

static void ask_for(struct asker *a, const struct hotspot_method_key *key)
{
	struct hotspot_question *q = a->question;

	for (uint32_t i = 0; i < q->nr_methods; i++)
		if (!memcmp(&q->methods[i], key, sizeof(*key)))
			return;
	q->methods[q->nr_methods++] = *key;
	if (q->nr_methods == MAX_HOTSPOT_METHODS)
		ask(a);
}

/* The second word that the kernel would have written; the same one, if nobody knows. */
static uint64_t identified(const struct hotspot_methods *m, const uint64_t *words)
{
	const struct seen_method *seen = find_seen(m, METHOD_ADDRESS(words[0]));
	uint64_t bytecode = METHOD_BYTECODE(words[1]), place;

	if (!seen || seen->epoch != METHOD_EPOCH(words[1]))
		return words[1];
	place = bytecode - seen->bytecode;
	/* a native one has none: 0, or where that of others begins */
	if (seen->bytecode_bytes ? place >= seen->bytecode_bytes : place && bytecode)
		return words[1];
	return METHOD_IDENTITY(seen->identity) | (seen->bytecode_bytes ? place : METHOD_NO_PLACE);
}

static bool is_unseen(const uint64_t *frames, uint32_t nr, uint32_t i)
{
	return hotspot_is_method(frames, nr, i) && frames[i + 1] & METHOD_UNSEEN;
}

static bool is_fresh(const struct asker *a, uint64_t address)
{
	const struct seen_method *seen = find_seen(a->methods, address);

	return seen && seen->epoch == a->epoch && clock_ns() < seen->until_ns;
}

static void identify(struct asker *a, uint64_t *frames, uint32_t nr)
{
	struct hotspot_methods *m = a->methods;

	for (uint32_t i = 0; i < nr && user_room_has(m->user, LEAST_ROOM); i++)
		if (is_unseen(frames, nr, i) && is_of_epoch(m, frames[i + 1])) {
			a->epoch = METHOD_EPOCH(frames[i + 1]); /* the same in all of a stack */
			if (!is_fresh(a, METHOD_ADDRESS(frames[i])))
				ask_for(a,
					&(struct hotspot_method_key){ METHOD_ADDRESS(frames[i]) });
		}
	ask(a);
	for (uint32_t i = 0; i < nr; i++)
		if (is_unseen(frames, nr, i))
			frames[i + 1] = identified(m, &frames[i]);
}

void hotspot_methods_read(struct hotspot_methods *m, struct hotspot_question *question,
			  struct foreign *foreign, struct hotspot_names *names, uint64_t *frames,
			  uint32_t nr)
{
	struct asker a = { m, question, foreign, names, 0 };

	identify(&a, frames, nr);
	for (uint32_t i = 0; i < nr && user_room_has(m->user, LEAST_ROOM); i++) {
		struct hotspot_method_key key;

		if (!hotspot_is_method(frames, nr, i) || is_unseen(frames, nr, i))
			continue;
		key = key_of(&frames[i]);
		if (!is_known(m, names, &key))
			ask_for(&a, &key);
	}
	ask(&a);
}
