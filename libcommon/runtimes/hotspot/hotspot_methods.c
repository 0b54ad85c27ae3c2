// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/hotspot/hotspot_methods.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define MAX_METHODS 200000 /* a program that makes them as it goes must not fill our memory */

struct known_method {
	struct hotspot_method_key key;
	uint32_t number;
	UT_hash_handle hh;
};

void hotspot_methods_free(struct hotspot_methods *m)
{
	hash_free_all(m->by_key);
}

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
	struct known_method *known = find(m, &named->key) ? NULL : calloc(1, sizeof(*known));

	if (!known)
		return;
	known->key = named->key;
	known->number = hotspot_names_add(names, (const struct hotspot_name *)(named + 1));
	HASH_ADD(hh, m->by_key, key, sizeof(known->key), known);
}

/* where the methods that a question asks for are among the frames */
struct asker {
	struct hotspot_methods *methods;
	struct hotspot_question *question;
	struct foreign *foreign;
	struct hotspot_names *names;
	uint64_t *frames;
	/* of those without an identity: that of the second word */
	uint32_t at[MAX_HOTSPOT_METHODS];
};

static void take(struct asker *a, const struct hotspot_named *named)
{
	const struct hotspot_question *q = a->question;

	if (named->gone || named->number >= q->nr_methods)
		return;
	if (named->name_bytes)
		add(a->methods, a->names, named);
	else if (!q->methods[named->number].key.identity)
		a->frames[a->at[named->number]] =
			METHOD_IDENTITY(named->key.identity) | named->place;
}

static void ask(struct asker *a)
{
	const struct hotspot_answer *answer;
	const struct hotspot_named *named;
	size_t bytes, at = sizeof(*answer);

	if (a->question->nr_methods && !hotspot_ask(a->foreign, a->question, &answer, &bytes))
		while ((named = hotspot_named_next(answer, bytes, &at)))
			take(a, named);
	a->question->nr_methods = 0;
}

static void ask_for(struct asker *a, const struct hotspot_method_question *method, uint32_t at)
{
	struct hotspot_question *q = a->question;

	for (uint32_t i = 0; i < q->nr_methods && method->key.identity; i++)
		if (!memcmp(&q->methods[i].key, &method->key, sizeof(method->key)))
			return;
	a->at[q->nr_methods] = at;
	q->methods[q->nr_methods++] = *method;
	if (q->nr_methods == MAX_HOTSPOT_METHODS)
		ask(a);
}

void hotspot_methods_read(struct hotspot_methods *m, struct hotspot_question *question,
			  struct foreign *foreign, struct hotspot_names *names, uint64_t *frames,
			  uint32_t nr)
{
	struct asker a = { .methods = m,
			   .question = question,
			   .foreign = foreign,
			   .names = names,
			   .frames = frames };

	for (uint32_t i = 0; i + 1 < nr; i++)
		if (hotspot_is_method(frames, nr, i) && frames[i + 1] & METHOD_UNSEEN)
			ask_for(&a,
				&(struct hotspot_method_question){
					.key.address = METHOD_ADDRESS(frames[i]),
					.bytecode = METHOD_BYTECODE(frames[i + 1]) },
				i + 1);
	ask(&a);
	for (uint32_t i = 0; i + 1 < nr && HASH_COUNT(m->by_key) < MAX_METHODS; i++) {
		struct hotspot_method_question method = { .key = key_of(&frames[i]) };

		if (hotspot_is_method(frames, nr, i) && !(frames[i + 1] & METHOD_UNSEEN) &&
		    !is_known(m, names, &method.key))
			ask_for(&a, &method, 0);
	}
	ask(&a);
}
