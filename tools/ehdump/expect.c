// SPDX-License-Identifier: GPL-2.0-or-later
#include "expect.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "cfi_rows.h"
#include "base/array.h"

/* an FDE with a copy of its CIE */
struct kept_fde {
	struct fde fde;
	struct cie cie;
	size_t order;
	bool yields; /* of .debug_frame, and there is .eh_frame */
};

struct expecter {
	const struct elf_file *file;
	struct kept_fde *fdes;
	size_t nr_fdes, max_fdes;
	struct expectation *expected;
	size_t nr, max;
	/* vaddr up to which the current FDE applies: its end, or the next one's start */
	uint64_t end;
	bool any_row;    /* the current FDE has had a row */
	size_t last_row; /* index of the first expectation of its last row */
	bool failed;
};

/* the executable segment that vaddr lies in, or NULL */
static const struct elf_segment *find_text(const struct elf_file *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (s->executable && vaddr >= s->vaddr && vaddr - s->vaddr < s->size)
			return s;
	}
	return NULL;
}

static bool is_executable(const struct elf_file *file, const struct fde *fde)
{
	const struct elf_segment *s = find_text(file, fde->start);

	return s && fde->length <= s->size - (fde->start - s->vaddr);
}

static int collect_fdes(struct expecter *e, struct eh_frame *frame)
{
	bool has_both = frame->debug_frame;
	struct fde fde;

	while (eh_frame_next(frame, &fde)) {
		if (!fde.length || fde.length > UINT32_MAX || !is_executable(e->file, &fde))
			continue;
		if (array_reserve(&e->fdes, &e->max_fdes, e->nr_fdes + 1))
			return -ENOMEM;
		e->fdes[e->nr_fdes] =
			(struct kept_fde){ .fde = fde,
					   .cie = *fde.cie,
					   .order = e->nr_fdes,
					   .yields = has_both && frame->is_debug_frame };
		e->nr_fdes++;
	}
	return 0;
}

static int by_start(const void *left, const void *right)
{
	const struct kept_fde *l = left, *r = right;

	return order_of(l->fde.start, r->fde.start) ?: order_of(l->order, r->order);
}

/*
 * Removes the FDEs that yield and start in code that an FDE of .eh_frame covers. They are sorted.
 */
static void remove_yielding(struct expecter *e)
{
	const struct fde *first = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < e->nr_fdes; i++) {
		struct kept_fde *kept = &e->fdes[i];

		if (kept->yields && first && kept->fde.start - first->start < first->length)
			continue;
		e->fdes[nr] = *kept;
		if (!kept->yields && (!first || first->start != kept->fde.start))
			first = &e->fdes[nr].fde;
		nr++;
	}
	e->nr_fdes = nr;
}

static void expect(struct expecter *e, uint64_t vaddr, const struct eh_rule *rule)
{
	const struct elf_segment *text = find_text(e->file, vaddr);

	if (!text)
		return;
	if (array_reserve(&e->expected, &e->max, e->nr + 1)) {
		e->failed = true;
		return;
	}
	e->expected[e->nr++] =
		(struct expectation){ .file_offset = vaddr - text->vaddr + text->file_offset,
				      .rule = *rule };
}

static void on_row(void *arg, const struct cfi_row *row, uint64_t end)
{
	struct expecter *e = arg;
	struct eh_rule rule = cfi_row_rule(row);

	e->any_row = true;
	e->last_row = e->nr;
	if (end > e->end)
		end = e->end;
	if (row->pc >= end || e->failed)
		return;
	expect(e, row->pc, &rule);
	expect(e, end - 1, &rule);
}

static void expect_fde(struct expecter *e, struct kept_fde *kept, uint64_t next, uint64_t pc_bias)
{
	static const struct eh_rule nothing = { .kind = RULE_NONE },
				    unsupported = { .kind = RULE_UNSUPPORTED };
	uint64_t own_end = kept->fde.start + kept->fde.length;

	kept->fde.cie = &kept->cie;
	e->end = next < own_end ? next : own_end;
	e->any_row = false;
	if (cfi_rows(&kept->fde, pc_bias, on_row, e) && !e->failed) {
		/*
		 * no rule is known where decoding failed: in the last row, or, in the CIE, in all
		 */
		if (!e->any_row) {
			expect(e, kept->fde.start, &unsupported);
			expect(e, e->end - 1, &unsupported);
		}
		for (size_t i = e->last_row; e->any_row && i < e->nr; i++)
			e->expected[i].rule = unsupported;
	}
	if (next > own_end) {
		expect(e, own_end, &nothing); /* unless its segment ends there as well */
		if (next != UINT64_MAX)
			expect(e, next - 1, &nothing);
	}
}

int cfi_expect(const struct elf_file *file, struct eh_frame *frame, struct expectation **expected,
	       size_t *nr)
{
	uint64_t pc_bias = frame->vaddr - (uintptr_t)frame->bytes;
	struct expecter e = { .file = file };
	int error = collect_fdes(&e, frame);

	if (!error && e.nr_fdes)
		qsort(e.fdes, e.nr_fdes, sizeof(*e.fdes), by_start);
	remove_yielding(&e);
	for (size_t i = 0, next; i < e.nr_fdes && !error; i = next) {
		for (next = i + 1;
		     next < e.nr_fdes && e.fdes[next].fde.start == e.fdes[i].fde.start; next++)
			; /* of several FDEs with one start, the first one applies */
		expect_fde(&e, &e.fdes[i], next < e.nr_fdes ? e.fdes[next].fde.start : UINT64_MAX,
			   pc_bias);
		error = e.failed ? -ENOMEM : 0;
	}
	free(e.fdes);
	if (error) {
		free(e.expected);
		return error;
	}
	*expected = e.expected;
	*nr = e.nr;
	return 0;
}
