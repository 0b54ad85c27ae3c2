/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shares a report's room: each user has an equal share, and of that each of the user's processes.
 * What one does not need, the others get.
 */
#ifndef EHPERF_REPORT_SHARES_H
#define EHPERF_REPORT_SHARES_H

#include <stddef.h>
#include <stdint.h>

/* of one process */
struct claim {
	uint32_t uid, pid;
	uint64_t wanted;
	uint64_t share; /* what it may have */
	size_t first;   /* the caller's */
};

/* Sets each claim's share; sorts the claims by user and process. 0 or -ENOMEM */
int share_room(struct claim *claims, size_t nr, uint64_t room);
/*
 * How much of the room each of nr may have: those that want less leave the rest to the others. It
 * sorts wanted[].
 */
uint64_t equal_share(uint64_t *wanted, size_t nr, uint64_t room);

#endif
