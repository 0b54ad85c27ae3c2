/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much memory the tool may take in user space: --max-memory. */
#ifndef EHPERF_BASE_MEMORY_LIMIT_H
#define EHPERF_BASE_MEMORY_LIMIT_H

#include <stddef.h>

#include "base/user_room.h"

#define MEMORY_LIMIT_DEFAULT ((size_t)512 << 20)

/* Bytes. What grows with what others do takes a part of it at most. */
extern size_t memory_limit;
/*
 * Three eighths of the limit, shared by users: runtimes' functions, names of untrusted files, and
 * samples that wait. Each of these kinds has a room of its own within it. Stacks have another
 * quarter of the limit, so that functions cannot take their place.
 */
extern struct user_room memory_room;

/* To be called before anything is measured */
void memory_limit_set(size_t bytes);

#endif
