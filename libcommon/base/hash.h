/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uthash, with a hash whose seed nobody knows: many keys are chosen by users, such as paths, names
 * and addresses. And what uthash lacks.
 */
#ifndef EHPERF_BASE_HASH_H
#define EHPERF_BASE_HASH_H

#include <stdlib.h>

#include "base/seed.h"

#define HASH_FUNCTION(key, length, hash) \
	((hash) = (unsigned)seeded_hash(NULL, 0, (const char *)(key), (length)))
#include <uthash.h>

/* Empties a hash and frees its elements, which own nothing else. */
#define hash_free_all(table)                        \
	do {                                        \
		__typeof__(table) one_, next_;      \
		HASH_ITER(hh, table, one_, next_) { \
			HASH_DEL(table, one_);      \
			free(one_);                 \
		}                                   \
	} while (0)

#endif
