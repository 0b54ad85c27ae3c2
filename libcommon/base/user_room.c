// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/user_room.h"

#include <stdlib.h>

#include "base/hash.h"

struct room_user {
	struct user_room *room;
	uint32_t uid;
	size_t bytes;
	UT_hash_handle hh;
};

void user_room_empty(struct user_room *room)
{
	hash_free_all(room->users);
	room->taken = 0;
}

struct room_user *user_room_of(struct user_room *room, uint32_t uid)
{
	struct room_user *user;

	HASH_FIND(hh, room->users, &uid, sizeof(uid), user);
	if (user)
		return user;
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	*user = (struct room_user){ .room = room, .uid = uid };
	HASH_ADD(hh, room->users, uid, sizeof(uid), user);
	return user;
}

bool user_room_has(const struct room_user *user, size_t bytes)
{
	const struct user_room *room = user->room;

	return user->bytes + bytes <= user_share(user->uid, user->bytes, room->taken, room->max);
}

bool user_room_take(struct room_user *user, size_t bytes)
{
	if (!user_room_has(user, bytes))
		return false;
	user->bytes += bytes;
	user->room->taken += bytes;
	return true;
}

void user_room_give(struct room_user *user, size_t bytes)
{
	user->bytes -= bytes;
	user->room->taken -= bytes;
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
