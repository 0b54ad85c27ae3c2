// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes rows of the known pieces of a JVM's code, for the unwinder. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "runtimes/hotspot/hotspot_parts.h"
#include "stacks_abi.h"
#include "unwind/mapping_list.h"

/* a walk may still be reading what was replaced: no walk takes a hundredth of that */
#define KEPT_NS 1000000000ULL

static loc_t take(const struct hotspot *h, uint32_t bytes)
{
	return slabs_take(h->slabs, bytes, h->slabs_user);
}

static void release(const struct hotspot *h, loc_t loc, uint32_t bytes)
{
	slabs_give(h->slabs, loc, bytes, h->slabs_user);
}

static struct table_page *page_at(const struct hotspot *h, uint32_t nr)
{
	return (struct table_page *)slabs_at(h->slabs, h->pages) + nr;
}

void hotspot_release_pages(struct hotspot *h)
{
	for (uint32_t i = 0; i < h->nr_pages; i++)
		release(h, page_at(h, i)->rows, h->extent_bytes[i]);
	for (size_t i = 0; i < h->nr_old; i++)
		release(h, h->old[i].loc, h->old[i].bytes);
	release(h, h->pages, h->nr_pages * sizeof(struct table_page));
	user_room_give(h->user, h->nr_pages * sizeof(*h->extent_bytes));
	free(h->extent_bytes);
}

void hotspot_release_old(struct hotspot *h, uint64_t now)
{
	size_t done = 0;

	for (; done < h->nr_old && h->old[done].until_ns <= now; done++)
		release(h, h->old[done].loc, h->old[done].bytes);
	if (done)
		memmove(h->old, h->old + done, (h->nr_old - done) * sizeof(*h->old));
	h->nr_old -= done;
}

/* Without memory to remember it, it is not used again, and its user pays on. */
static void release_later(struct hotspot *h, loc_t loc, uint32_t bytes)
{
	if (loc && !array_reserve(&h->old, &h->old_room, h->nr_old + 1))
		h->old[h->nr_old++] = (struct extent){ .loc = loc,
						       .bytes = bytes,
						       .until_ns = clock_ns() + KEPT_NS };
}

/* a page that is being written */
struct page_writer {
	uint32_t nr_rows, nr_rules; /* the first rule is that of what is not known */
	uint32_t rows[PAGE_BYTES];
	struct eh_rule rules[2 * PAGE_BYTES + 1]; /* and notes */
	uint32_t first_rule;                      /* of the piece at hand */
};

uint32_t hotspot_tag_of(const struct piece *piece)
{
	return piece->number % MAX_FRAME_TAG + 1;
}

/* the number of the rule with its note */
static uint32_t rule_number(struct page_writer *w, const struct piece *piece,
			    const struct eh_rule *rule)
{
	struct eh_rule noted = *rule;
	struct rule_note note = { .at = piece->blob.word_at,
				  .word = piece->blob.word,
				  .tag = hotspot_tag_of(piece) };

	noted.flags |= RULE_NOTED;
	for (uint32_t i = w->first_rule; i < w->nr_rules; i += 2)
		if (!memcmp(&w->rules[i], &noted, sizeof(noted)))
			return i;
	w->rules[w->nr_rules] = noted;
	memcpy(&w->rules[w->nr_rules + 1], &note, sizeof(note));
	w->nr_rules += 2;
	return w->nr_rules - 2;
}

static void put_row(struct page_writer *w, uint32_t pc, uint32_t rule)
{
	if (w->nr_rows && ROW_PC(w->rows[w->nr_rows - 1]) == pc)
		w->nr_rows--;
	if (!w->nr_rows || ROW_RULE(w->rows[w->nr_rows - 1]) != rule)
		w->rows[w->nr_rows++] = pc | rule << PAGE_ROWS_SHIFT;
}

/*
 * the row that the piece has at this address, which lies behind its start; row 0 if none has begun
 */
static uint32_t row_at(const struct piece *piece, uint64_t address)
{
	uint32_t low = 0, high = piece->nr_rows;

	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (piece->blob.start + piece->rows[middle].at <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* what of the piece lies in the page at this address; false: the page cannot hold so much */
static bool put_piece(struct page_writer *w, const struct piece *piece, uint64_t page)
{
	w->first_rule = w->nr_rules;
	for (uint32_t i = row_at(piece, page); i < piece->nr_rows; i++) {
		uint64_t from = piece->blob.start + piece->rows[i].at;

		if (from >= page + PAGE_BYTES)
			break;
		if (w->nr_rules + 2 > MAX_PAGE_RULES)
			return false;
		put_row(w, from < page ? 0 : from - page,
			rule_number(w, piece, &piece->rows[i].rule));
	}
	if (piece->blob.end < page + PAGE_BYTES)
		put_row(w, piece->blob.end - page, 0);
	return true;
}

size_t hotspot_first_behind(const struct hotspot *h, uint64_t address)
{
	size_t low = 0, high = h->nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (h->pieces[middle]->blob.end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool fill_page(const struct hotspot *h, struct page_writer *w, uint64_t page)
{
	w->nr_rows = 0;
	w->nr_rules = 1;
	w->rules[0] = (struct eh_rule){};
	put_row(w, 0, 0);
	for (size_t i = hotspot_first_behind(h, page);
	     i < h->nr && h->pieces[i]->blob.start < page + PAGE_BYTES; i++)
		if (!put_piece(w, h->pieces[i], page))
			return false;
	return true;
}

static loc_t write_rows(const struct hotspot *h, const struct page_writer *w, uint32_t bytes)
{
	loc_t loc = take(h, bytes);
	uint8_t *to = loc ? slabs_at(h->slabs, loc) : NULL;

	for (uint32_t i = 0; i < w->nr_rows && to; i++)
		memcpy(to + i * ROW_BYTES, &w->rows[i], ROW_BYTES);
	if (to)
		memcpy(to + RULES_BEHIND(0, w->nr_rows), w->rules, w->nr_rules * sizeof(*w->rules));
	return loc;
}

/* Makes the page's rows anew, of the pieces that are known now. */
static void write_page(struct hotspot *h, uint32_t nr)
{
	static struct page_writer w;
	bool fits = fill_page(h, &w, h->start + (uint64_t)nr * PAGE_BYTES);
	uint32_t bytes = RULES_BEHIND(0, w.nr_rows) + w.nr_rules * sizeof(*w.rules);
	struct table_page page = { .nr_rows = w.nr_rows }, *at = page_at(h, nr);
	uint64_t packed;

	if (fits)
		page.rows = write_rows(h, &w, bytes);
	if (!page.rows)
		page = (struct table_page){};
	release_later(h, at->rows, h->extent_bytes[nr]);
	h->extent_bytes[nr] = page.rows ? bytes : 0;
	memcpy(&packed, &page, sizeof(packed));
	__atomic_store_n((uint64_t *)at, packed, __ATOMIC_RELEASE);
}

void hotspot_write_pages(struct hotspot *h, uint64_t start, uint64_t end)
{
	uint64_t first = (start - h->start) / PAGE_BYTES, last = (end - 1 - h->start) / PAGE_BYTES;

	for (uint64_t nr = first; start >= h->start && nr <= last && nr < h->nr_pages; nr++)
		write_page(h, nr);
}

int hotspot_make_pages(struct hotspot *h)
{
	uint64_t start = UINT64_MAX, end = 0, nr,
		 max = (SLAB_BYTES - EXTENT_ALIGNMENT) / sizeof(struct table_page);
	struct published_module *module = slabs_at(h->slabs, h->module);

	for (uint32_t i = 0; i < h->heaps.nr; i++) {
		if (h->heaps.heap[i].start < start)
			start = h->heaps.heap[i].start;
		if (h->heaps.heap[i].limit > end)
			end = h->heaps.heap[i].limit;
	}
	start &= -(uint64_t)PAGE_BYTES;
	nr = (end - start + PAGE_BYTES - 1) / PAGE_BYTES;
	if (nr > max)
		nr = max;
	h->extent_bytes = user_room_new(h->user, nr * sizeof(*h->extent_bytes));
	h->pages = h->extent_bytes ? take(h, nr * sizeof(struct table_page)) : 0;
	if (!h->pages) {
		if (h->extent_bytes)
			user_room_give(h->user, nr * sizeof(*h->extent_bytes));
		free(h->extent_bytes);
		h->extent_bytes = NULL;
		return -ENOMEM;
	}
	memset(slabs_at(h->slabs, h->pages), 0, nr * sizeof(struct table_page));
	h->start = start;
	h->nr_pages = nr;
	module->tables[TABLE_CFI] = (struct published_table){
		.first_page = anonymous_offset(start) >> PAGE_ROWS_SHIFT,
		.pages = h->pages,
	};
	__atomic_store_n(&module->tables[TABLE_CFI].nr_pages, nr, __ATOMIC_RELEASE);
	return 0;
}
