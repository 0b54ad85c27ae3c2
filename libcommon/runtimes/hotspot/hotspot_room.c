// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/hotspot/hotspot_room.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/order.h"

struct hotspot_user {
	uint32_t uid;
	size_t bytes;
	UT_hash_handle hh;
};

static struct hotspot_user *users;
static size_t all_bytes;

struct hotspot_user *hotspot_user_of(uint32_t uid)
{
	struct hotspot_user *user;

	HASH_FIND(hh, users, &uid, sizeof(uid), user);
	if (user)
		return user;
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->uid = uid;
	HASH_ADD(hh, users, uid, sizeof(uid), user);
	return user;
}

bool hotspot_room_has(const struct hotspot_user *user, size_t bytes)
{
	size_t left = left_by_others(user->bytes, all_bytes, HOTSPOT_ROOM);

	return user->bytes + bytes <= (user->uid ? left / 2 : left);
}

bool hotspot_room_take(struct hotspot_user *user, size_t bytes)
{
	if (!hotspot_room_has(user, bytes))
		return false;
	user->bytes += bytes;
	all_bytes += bytes;
	return true;
}

void hotspot_room_give(struct hotspot_user *user, size_t bytes)
{
	user->bytes -= bytes;
	all_bytes -= bytes;
}
