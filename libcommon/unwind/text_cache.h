/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cache of code that was read from files of processes that are gone: many of their stacks lead through the same code, and
 * reading it takes a worker's answer.
 */
#ifndef EHPERF_UNWIND_TEXT_CACHE_H
#define EHPERF_UNWIND_TEXT_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/foreign.h"

#define NR_CACHED_TEXTS 1024

struct text_cache {
	struct cached_text {
		uint32_t module_id;	/* 0: none */
		uint32_t asked, nr;	/* bytes */
		uint64_t offset, until_ns;
		uint8_t bytes[FOREIGN_TEXT_BYTES];
	} of[NR_CACHED_TEXTS];
};

/* Gets what was last read from this place: *nr bytes, 0 if it could not be read. False: it is not in the cache */
bool text_cache_find(const struct text_cache *cache, uint32_t module_id, uint64_t offset, void *to, uint32_t bytes,
		     uint32_t *nr);
void text_cache_add(struct text_cache *cache, uint32_t module_id, uint64_t offset, const void *from, uint32_t bytes,
		    uint32_t nr);

#endif
