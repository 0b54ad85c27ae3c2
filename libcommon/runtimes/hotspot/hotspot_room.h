/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory for what is kept of JVMs: their code's rows and names. A process that pretends to be
 * one, or makes code without end, must not fill ours, nor take what other users' need.
 */
#ifndef EHPERF_RUNTIMES_HOTSPOT_ROOM_H
#define EHPERF_RUNTIMES_HOTSPOT_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot_user;

/* whose JVMs share a room; 0: root's. Valid for ever. NULL: no memory */
struct hotspot_user *hotspot_user_of(uint32_t uid);
/*
 * May this user's have so much more? All together have HOTSPOT_ROOM at most; one user leaves half
 * of what the others have left, and root nothing. What was taken is to be given back.
 */
#define HOTSPOT_ROOM (256 << 20)
bool hotspot_room_has(const struct hotspot_user *user, size_t bytes);
bool hotspot_room_take(struct hotspot_user *user, size_t bytes);
void hotspot_room_give(struct hotspot_user *user, size_t bytes);

#endif
