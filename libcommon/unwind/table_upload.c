// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/table_upload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

loc_t extents_take(struct slabs *slabs, size_t size, struct extents *extents)
{
	loc_t loc;

	if (array_reserve(&extents->of, &extents->room, extents->nr + 1)) {
		errno = ENOMEM;
		return 0;
	}
	loc = slabs_take(slabs, size, extents->user);
	if (loc)
		extents->of[extents->nr++] = (struct extent){ loc, size };
	return loc;
}

/* Gives back all but the first `kept`. */
void extents_release(struct slabs *slabs, struct extents *extents, size_t kept)
{
	while (extents->nr > kept) {
		const struct extent *last = &extents->of[--extents->nr];

		slabs_give(slabs, last->loc, last->size, extents->user);
	}
}

/* Writes the rows of pages [first, end) into one extent; in pages[], .rows becomes a loc. */
static int upload_rows(struct slabs *slabs, const struct unwind_table *table,
		       struct table_page *pages, uint32_t first, uint32_t end,
		       struct extents *extents)
{
	uint64_t from = table->pages[first].rows;
	uint64_t bytes =
		((uint64_t)table->pages[end - 1].rows + table->pages[end - 1].nr_rows - from) *
		ROW_BYTES;
	loc_t loc = extents_take(slabs, bytes, extents);

	if (!loc)
		return -errno;
	memcpy(slabs_at(slabs, loc), table->rows + from * ROW_BYTES, bytes);
	for (uint32_t i = first; i < end; i++) {
		pages[i] = table->pages[i];
		pages[i].rows = loc + (table->pages[i].rows - from) * ROW_BYTES;
	}
	return 0;
}

int table_write(struct slabs *slabs, const struct unwind_table *table,
		struct published_table *written, struct extents *extents)
{
	size_t before = extents->nr;
	struct published_table header = {
		.first_page = table->first_page,
		.nr_pages = table->nr_pages,
		.rules = extents_take(slabs, table->nr_rules * sizeof(*table->rules), extents),
	};
	int error = 0;

	if (header.rules)
		header.pages =
			extents_take(slabs, table->nr_pages * sizeof(*table->pages), extents);
	if (!header.pages)
		error = -errno;
	for (uint32_t first = 0, end; first < table->nr_pages && !error; first = end) {
		end = unwind_table_extent_end(table, first);
		error = upload_rows(slabs, table, slabs_at(slabs, header.pages), first, end,
				    extents);
	}
	if (error) {
		extents_release(slabs, extents, before);
		return error;
	}
	memcpy(slabs_at(slabs, header.rules), table->rules,
	       table->nr_rules * sizeof(*table->rules));
	*written = header;
	return 0;
}

struct published_module table_header(uint32_t module_id, const struct unwind_table *table)
{
	return (struct published_module){
		.id = module_id,
		.pending = table->has_other_code ? PENDING_CODE : 0,
		.entry_start = table->entry_start,
		.entry_end = table->entry_end,
	};
}

int table_upload(struct slabs *slabs, uint32_t module_id, const struct unwind_table *table,
		 loc_t *loc)
{
	struct published_module module = table_header(module_id, table);
	struct extents extents = {};
	loc_t at = extents_take(slabs, sizeof(module), &extents);
	int error = at ? 0 : -errno;

	if (!error && table->nr_pages)
		error = table_write(slabs, table, &module.tables[TABLE_CFI], &extents);
	if (error) {
		extents_release(slabs, &extents, 0);
	} else {
		memcpy(slabs_at(slabs, at), &module, sizeof(module));
		*loc = at;
	}
	free(extents.of);
	return error;
}
