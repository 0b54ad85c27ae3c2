// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/text_cache.h"

#include <string.h>

#include "process/clock.h"

#define CACHED_NS 1000000000	/* what is not there now may be there then */

static struct cached_text *place(const struct text_cache *cache, uint32_t module_id, uint64_t offset)
{
	uint64_t hash = (offset ^ (uint64_t)module_id << 40) * 0x9e3779b97f4a7c15;

	return (struct cached_text *)&cache->of[(hash >> 32) % NR_CACHED_TEXTS];
}

bool text_cache_find(const struct text_cache *cache, uint32_t module_id, uint64_t offset, void *to, uint32_t bytes,
		     uint32_t *nr)
{
	const struct cached_text *text = place(cache, module_id, offset);

	if (!module_id || text->module_id != module_id || text->offset != offset || text->asked != bytes ||
	    clock_ns() > text->until_ns)
		return false;
	memcpy(to, text->bytes, text->nr);
	*nr = text->nr;
	return true;
}

void text_cache_add(struct text_cache *cache, uint32_t module_id, uint64_t offset, const void *from, uint32_t bytes,
		    uint32_t nr)
{
	struct cached_text *text = place(cache, module_id, offset);

	if (!module_id || nr > FOREIGN_TEXT_BYTES)
		return;
	*text = (struct cached_text){
		.module_id = module_id, .asked = bytes, .nr = nr, .offset = offset, .until_ns = clock_ns() + CACHED_NS,
	};
	memcpy(text->bytes, from, nr);
}
