// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/hotspot/hotspot_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory_limit.h"
#include "base/search.h"

struct numbered {
	uint32_t number;
	bool used; /* since the last hotspot_names_forget() */
	struct room_user *user;
	UT_hash_handle hh;
	struct hotspot_name name; /* the last member: its parts follow */
};

struct hotspot_names {
	struct numbered *all;
	uint32_t last_number;
};

struct room_user *hotspot_user_of(uint32_t uid)
{
	static struct user_room room = { .whole = &memory_room };

	room.max = memory_room.max;
	return user_room_of(&room, uid);
}

struct hotspot_names *hotspot_names_new(void)
{
	return calloc(1, sizeof(struct hotspot_names));
}

/* of the name and all that belongs to it */
static size_t bytes_of(const struct hotspot_name *name)
{
	return hotspot_name_bytes(name->nr_places, name->nr_scopes, name->text_bytes);
}

static void drop(struct hotspot_names *names, struct numbered *name)
{
	user_room_give(name->user, sizeof(*name) + bytes_of(&name->name));
	HASH_DEL(names->all, name);
	free(name);
}

void hotspot_names_free(struct hotspot_names *names)
{
	struct numbered *name, *next;

	if (!names)
		return;
	HASH_ITER(hh, names->all, name, next)
		drop(names, name);
	free(names);
}

uint32_t hotspot_names_add(struct hotspot_names *names, const struct hotspot_name *name,
			   struct room_user *user)
{
	size_t bytes = bytes_of(name);
	struct numbered *added = names->last_number < UINT32_MAX
					 ? user_room_new(user, sizeof(*added) + bytes)
					 : NULL;

	if (!added)
		return 0;
	added->number = ++names->last_number;
	added->used = true;
	added->user = user;
	memcpy(&added->name, name, bytes);
	HASH_ADD(hh, names->all, number, sizeof(added->number), added);
	return added->number;
}

static struct numbered *find(const struct hotspot_names *names, uint32_t number)
{
	struct numbered *found;

	HASH_FIND(hh, names->all, &number, sizeof(number), found);
	return found;
}

const struct hotspot_name *hotspot_names_get(const struct hotspot_names *names, uint32_t number)
{
	const struct numbered *found = find(names, number);

	return found ? &found->name : NULL;
}

bool hotspot_names_use(struct hotspot_names *names, uint32_t number)
{
	struct numbered *found = find(names, number);

	if (found)
		found->used = true;
	return found;
}

void hotspot_names_forget(struct hotspot_names *names)
{
	struct numbered *name, *next;

	HASH_ITER(hh, names->all, name, next) {
		bool used = name->used;

		name->used = false;
		if (!used)
			drop(names, name);
	}
}

/* ---- parts ---- */

static const struct hotspot_place *places_of(const struct hotspot_name *name)
{
	return (const struct hotspot_place *)(name + 1);
}

static const struct hotspot_scope *scopes_of(const struct hotspot_name *name)
{
	return (const struct hotspot_scope *)(places_of(name) + name->nr_places);
}

static const char *text_of(const struct hotspot_name *name)
{
	return (const char *)(scopes_of(name) + name->nr_scopes);
}

void hotspot_name_fill(struct hotspot_name *name, const struct hotspot_scopes *s)
{
	uint8_t *at = (uint8_t *)(name + 1);

	name->nr_places = s->nr_places;
	name->nr_scopes = s->nr_scopes;
	name->text_bytes = s->text_bytes;
	at = mempcpy(at, s->places, s->nr_places * sizeof(s->places[0]));
	at = mempcpy(at, s->scopes, s->nr_scopes * sizeof(s->scopes[0]));
	memcpy(at, s->text, s->text_bytes);
}

bool hotspot_name_is_sound(const struct hotspot_name *name, size_t bytes)
{
	if (bytes < sizeof(*name) || name->name[sizeof(name->name) - 1] ||
	    hotspot_name_bytes(name->nr_places, name->nr_scopes, name->text_bytes) > bytes ||
	    !name->text_bytes || text_of(name)[name->text_bytes - 1])
		return false;
	for (uint32_t i = 0; i < name->nr_places; i++)
		if (places_of(name)[i].scope >= name->nr_scopes)
			return false;
	for (uint32_t i = 0; i < name->nr_scopes; i++)
		if (scopes_of(name)[i].name >= name->text_bytes ||
		    scopes_of(name)[i].file >= name->text_bytes || scopes_of(name)[i].caller > i)
			return false;
	return true;
}

/*
 * The number of the scope at this offset in the code: that of the first place that does not lie
 * before it.
 */
static uint32_t scope_of(const struct hotspot_name *name, uint32_t offset)
{
	const struct hotspot_place *places = places_of(name);
	uint32_t first = count_below(places, name->nr_places, at, offset);

	return first < name->nr_places ? places[first].scope : 0;
}

size_t hotspot_names_of(const struct hotspot_name *name, uint64_t frame,
			struct runtime_function *functions, size_t max)
{
	uint32_t scope = scope_of(name, HOTSPOT_OFFSET(frame));
	size_t nr = 0;

	while (scope < name->nr_scopes && nr < max) {
		const struct hotspot_scope *s = &scopes_of(name)[scope];

		functions[nr++] = (struct runtime_function){
			.name = text_of(name) + s->name,
			.file = text_of(name)[s->file] ? text_of(name) + s->file : NULL,
			.line = s->line,
		};
		scope = s->caller - 1; /* none: as far as can be */
	}
	return nr;
}
