/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What uthash lacks. */
#ifndef EHPERF_BASE_HASH_H
#define EHPERF_BASE_HASH_H

#include <stdlib.h>
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
