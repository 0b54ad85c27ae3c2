/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much memory the tool may take in user space: --max-memory. */
#ifndef EHPERF_BASE_MEMORY_LIMIT_H
#define EHPERF_BASE_MEMORY_LIMIT_H

#include <stddef.h>

#define MEMORY_LIMIT_DEFAULT ((size_t)512 << 20)

/*
 * Bytes; set before anything is measured. What grows with what others do takes a part of it at most.
 * The parts overlap: they are not all full at once.
 */
extern size_t memory_limit;

#endif
