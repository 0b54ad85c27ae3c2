// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/user_room.h"

#include <stdlib.h>

#include "base/hash.h"

struct room_user {
	struct user_room *room;
	struct room_user *whole; /* the user in room->whole; NULL: there is none */
	uint32_t uid;
	size_t bytes;
	UT_hash_handle hh;
};

void user_room_empty(struct user_room *room)
{
	for (struct room_user *user = room->users; user; user = user->hh.next)
		if (user->whole)
			user_room_give(user->whole, user->bytes);
	hash_free_all(room->users);
	room->taken = 0;
}

struct room_user *user_room_of(struct user_room *room, uint32_t uid)
{
	struct room_user *user, *whole = NULL;

	HASH_FIND(hh, room->users, &uid, sizeof(uid), user);
	if (user)
		return user;
	if (room->whole)
		whole = user_room_of(room->whole, uid);
	user = whole || !room->whole ? calloc(1, sizeof(*user)) : NULL;
	if (!user)
		return NULL;
	*user = (struct room_user){ .room = room, .whole = whole, .uid = uid };
	HASH_ADD(hh, room->users, uid, sizeof(uid), user);
	return user;
}

size_t user_room_taken(const struct user_room *room)
{
	return room->taken;
}

bool user_room_has(const struct room_user *user, size_t bytes)
{
	const struct user_room *room = user->room;
	uint64_t share = room->root_as_others
				 ? left_by_others(user->bytes, room->taken, room->max) / 2
				 : user_share(user->uid, user->bytes, room->taken, room->max);

	return user->bytes + bytes <= share && (!user->whole || user_room_has(user->whole, bytes));
}

void user_room_charge(struct room_user *user, size_t bytes)
{
	user->bytes += bytes;
	user->room->taken += bytes;
	if (user->whole)
		user_room_charge(user->whole, bytes);
}

bool user_room_take(struct room_user *user, size_t bytes)
{
	if (!user_room_has(user, bytes))
		return false;
	user_room_charge(user, bytes);
	return true;
}

void user_room_give(struct room_user *user, size_t bytes)
{
	user->bytes -= bytes;
	user->room->taken -= bytes;
	if (user->whole)
		user_room_give(user->whole, bytes);
}

void *user_room_new(struct room_user *user, size_t bytes)
{
	void *made;

	if (!user_room_take(user, bytes))
		return NULL;
	made = calloc(1, bytes);
	if (!made)
		user_room_give(user, bytes);
	return made;
}
