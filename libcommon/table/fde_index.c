// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/fde_index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/order.h"
#include "table/row_writer.h"

/* the offset of its start in the file; false unless one executable segment holds all of it */
static bool file_range(const struct elf_file *file, const struct fde *fde, uint64_t *start)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (!s->executable || fde->start < s->vaddr || fde->start - s->vaddr >= s->size)
			continue;
		if (fde->length > s->size - (fde->start - s->vaddr))
			return false;
		*start = fde->start - s->vaddr + s->file_offset;
		return true;
	}
	return false;
}

int fde_index_add_span(struct fde_index *index, const struct fde_span *span)
{
	if (array_reserve(&index->spans, &index->max_spans, index->nr_spans + 1))
		return -ENOMEM;
	index->spans[index->nr_spans++] = *span;
	return 0;
}

int fde_index_add(struct fde_index *index, const struct elf_file *file, const struct fde *fde,
		  uint32_t class)
{
	uint64_t start;

	if (!fde->length || fde->length > UINT32_MAX || !file_range(file, fde, &start))
		return -ERANGE;
	return fde_index_add_span(index, &(struct fde_span){
						 .start = start,
						 .length = fde->length,
						 .class = class,
						 .vaddr = fde->start,
						 .program = fde->program,
						 .program_bytes = fde->program_bytes,
					 });
}

/* ---- sorting ---- */

static int by_start(const void *left, const void *right, void *spans)
{
	const struct fde_span *span = spans;
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;

	return order_of(span[l].start, span[r].start) ?: order_of(l, r);
}

/* those of one page, which are few */
static void sort_page(const struct fde_index *index, uint32_t *order, size_t nr)
{
	if (nr > 64) {
		qsort_r(order, nr, sizeof(*order), by_start, index->spans);
		return;
	}
	for (size_t i = 1; i < nr; i++) {
		uint32_t moved = order[i];
		size_t to = i;

		while (to && index->spans[order[to - 1]].start > index->spans[moved].start) {
			order[to] = order[to - 1];
			to--;
		}
		order[to] = moved;
	}
}

static inline uint64_t page_of(const struct fde_span *span)
{
	return span->start >> PAGE_ROWS_SHIFT;
}

/*
 * A counting sort by page, then each page by insertion: linkers leave FDEs nearly in order, and
 * this is several times as fast as qsort(). ends: nr_pages + 1 zeroes, which become where each
 * page's part of by_address ends.
 */
static void sort_by_address(struct fde_index *index, uint32_t *ends, uint64_t first_page,
			    uint64_t nr_pages)
{
	for (size_t i = 0; i < index->nr_spans; i++)
		ends[page_of(&index->spans[i]) - first_page + 1]++;
	for (uint64_t page = 1; page <= nr_pages; page++)
		ends[page] += ends[page - 1];
	for (size_t i = 0; i < index->nr_spans; i++)
		index->by_address[ends[page_of(&index->spans[i]) - first_page]++] = i;
	for (uint64_t page = 0, from = 0; page < nr_pages; from = ends[page++])
		sort_page(index, index->by_address + from, ends[page] - from);
}

static void drop_covered_debug_frame(struct fde_index *index)
{
	uint64_t covered = 0;
	size_t nr = 0;

	for (size_t i = 0; i < index->nr; i++) {
		const struct fde_span *span = fde_index_at(index, i);

		if (index->by_address[i] < index->nr_first)
			covered = span->start + span->length;
		else if (span->start < covered)
			continue;
		index->by_address[nr++] = index->by_address[i];
	}
	index->nr = nr;
}

static void drop_repeated_starts(struct fde_index *index)
{
	index->nr = 0;
	for (size_t i = 0; i < index->nr_spans; i++) {
		uint32_t number = index->by_address[i];

		if (!index->nr ||
		    index->spans[number].start != fde_index_at(index, index->nr - 1)->start)
			index->by_address[index->nr++] = number;
	}
}

int fde_index_sort(struct fde_index *index)
{
	uint64_t first = UINT64_MAX, last = 0;
	uint32_t *ends;

	if (!index->nr_spans)
		return 0;
	for (size_t i = 0; i < index->nr_spans; i++) {
		uint64_t page = page_of(&index->spans[i]);

		first = page < first ? page : first;
		last = page > last ? page : last;
	}
	if (last - first >= MAX_PAGES)
		return -EOVERFLOW;
	ends = calloc(last - first + 2, sizeof(*ends));
	index->by_address = malloc(index->nr_spans * sizeof(*index->by_address));
	if (!ends || !index->by_address) {
		free(ends);
		return -ENOMEM;
	}
	sort_by_address(index, ends, first, last - first + 1);
	free(ends);
	drop_repeated_starts(index);
	if (index->nr_first)
		drop_covered_debug_frame(index);
	return 0;
}

void fde_index_free(struct fde_index *index)
{
	free(index->spans);
	free(index->by_address);
}

uint64_t fde_index_first_covered(const struct fde_index *index, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < index->nr; i++) {
		const struct fde_span *span = fde_index_at(index, i);

		if (span->start + span->length > start && span->start < end)
			end = span->start > start ? span->start : start;
	}
	return end;
}

const struct fde_span *fde_index_covering(const struct fde_index *index, uint64_t file_offset)
{
	const struct fde_span *span;
	size_t low = 0, high = index->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (fde_index_start(index, middle) <= file_offset)
			low = middle + 1;
		else
			high = middle;
	}
	span = low ? fde_index_at(index, low - 1) : NULL;
	return span && file_offset - span->start < span->length ? span : NULL;
}
