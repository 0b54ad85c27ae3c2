/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A room that users share, of memory: one user's leaves half of what the others' have left, so that
 * who comes later has some, too; root's may have all of that. Rooms may be parts of a larger one, in
 * which root is a user as others are: what is taken in a part is taken there, too.
 */
#ifndef EHPERF_BASE_USER_ROOM_H
#define EHPERF_BASE_USER_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/order.h"

/* Of max, of which all have `all` and this user has `own`: how much it may have of it. */
static inline uint64_t user_share(uint32_t uid, uint64_t own, uint64_t all, uint64_t max)
{
	uint64_t left = left_by_others(own, all, max);

	return uid ? left / 2 : left;
}

struct room_user;

struct user_room {
	size_t max;              /* bytes, of all users */
	struct user_room *whole; /* of which it is a part; NULL: of none */
	bool root_as_others;
	/* private */
	size_t taken;
	struct room_user *users;
};

/* Forgets the users, and what they have taken. */
void user_room_empty(struct user_room *room);

/* uid 0: root. Valid until user_room_empty(). NULL: no memory */
struct room_user *user_room_of(struct user_room *room, uint32_t uid);
size_t user_room_taken(const struct user_room *room);
/* May the user have so many bytes more? What was taken is to be given back. */
bool user_room_has(const struct room_user *user, size_t bytes);
bool user_room_take(struct room_user *user, size_t bytes);
/* Takes them, whether the user may have them or not. */
void user_room_charge(struct room_user *user, size_t bytes);
void user_room_give(struct room_user *user, size_t bytes);
/* Takes, and allocates, so many bytes, all 0; to be freed and given back. NULL: no room or memory */
void *user_room_new(struct room_user *user, size_t bytes);

#endif
