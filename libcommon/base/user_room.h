/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A room that users share, of memory: one user's leaves half of what the others' have left, so that
 * who comes later has some, too; root's may have all of that.
 */
#ifndef EHPERF_BASE_USER_ROOM_H
#define EHPERF_BASE_USER_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct room_user;

struct user_room {
	size_t max; /* bytes, of all users */
	/* private */
	size_t taken;
	struct room_user *users;
};

/* Forgets the users, and what they have taken. */
void user_room_empty(struct user_room *room);

/* uid 0: root. Valid until user_room_empty(). NULL: no memory */
struct room_user *user_room_of(struct user_room *room, uint32_t uid);
/* May the user have so many bytes more? What was taken is to be given back. */
bool user_room_has(const struct room_user *user, size_t bytes);
bool user_room_take(struct room_user *user, size_t bytes);
void user_room_give(struct room_user *user, size_t bytes);

#endif
