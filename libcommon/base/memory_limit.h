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
 * Three eighths of it, by user: what is kept of functions, of names but those of trusted files, and
 * of samples that wait. Rooms for each of these are parts of it. A quarter is the stacks', which
 * must not go because somebody's functions take much.
 */
extern struct user_room memory_room;

/* To be called before anything is measured */
void memory_limit_set(size_t bytes);

#endif
