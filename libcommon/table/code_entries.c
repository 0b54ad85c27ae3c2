// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/code_entries.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "table/code_insns.h"
#include "table/fde_index.h"
#include "table/machine.h"

#define FUNCTION_ALIGNMENT 16	/* what compilers and assembly give functions; loops are jumped to */

struct entries {
	struct elf_file *file;
	uint64_t *vaddrs;
	size_t nr, room;
	uint64_t code_bytes;
	int error;			/* sticky */
};

static void add(struct entries *e, uint64_t vaddr)
{
	if (!e->error)
		e->error = array_reserve(&e->vaddrs, &e->room, e->nr + 1);
	if (!e->error)
		e->vaddrs[e->nr++] = vaddr;
}

/* what stands between functions: what assemblers fill up with, and between sections zeros, which decode as additions */
static bool is_padding(const struct code *c, const struct insn *insn)
{
	return insn->padding || (insn->at + 1 < c->size && !c->bytes[insn->at] && !c->bytes[insn->at + 1]);
}

/* behind padding, or behind what does not go on, nothing but a jump leads to a place within a function */
static bool is_entry(const struct code *c, size_t i, bool apart)
{
	const struct insn *insn = &c->insns[i];

	return insn->called || (apart && !insn->jumped_to && (c->vaddr + insn->at) % FUNCTION_ALIGNMENT == 0);
}

static void add_code(struct entries *e, const uint8_t *bytes, size_t size, uint64_t vaddr)
{
	struct code c = { .bytes = bytes, .size = size, .vaddr = vaddr };
	bool apart = true, first = true;

	e->error = machine_decode(&c);
	if (!e->error)
		code_link(&c);
	for (size_t i = 0; i < c.nr && !e->error; i++) {
		if (is_padding(&c, &c.insns[i])) {
			apart = true;
			continue;
		}
		if (first || is_entry(&c, i, apart))
			add(e, vaddr + c.insns[i].at);
		first = false;
		apart = !insn_reaches_next(&c.insns[i]);
	}
	free(c.insns);
}

/* [start, end) of the file is covered by no FDE */
static void add_gap(struct entries *e, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < e->file->nr_segments && !e->error; i++) {
		const struct elf_segment *s = &e->file->segments[i];
		uint64_t segment_end = s->file_offset + s->size;
		uint64_t from = start > s->file_offset ? start : s->file_offset;
		uint64_t to = end < segment_end ? end : segment_end;
		const Elf_Data *data;

		if (!s->executable || from >= to || (to - from < MAX_ALIGNMENT && from > s->file_offset && to < segment_end))
			continue;	/* what separates two functions is no code, as in gaps.c */
		e->code_bytes += to - from;
		if (e->code_bytes > CODE_ENTRIES_MAX_BYTES) {
			e->error = -EFBIG;
			return;
		}
		data = elf_getdata_rawchunk(e->file->elf, from, to - from, ELF_T_BYTE);
		if (data && data->d_buf)
			add_code(e, data->d_buf, to - from, from - s->file_offset + s->vaddr);
	}
}

static int index_fdes(struct fde_index *index, struct elf_file *file)
{
	struct elf_section section;
	struct eh_frame frame;
	struct fde fde;
	int error = 0;

	if (elf_file_cfi(file, &section, &frame))
		return 0;
	while (error != -ENOMEM && eh_frame_next(&frame, &fde))
		error = fde_index_add(index, file, &fde, 0);
	return error == -ENOMEM ? error : fde_index_sort(index);
}

static int by_value(const void *left, const void *right)
{
	uint64_t l = *(const uint64_t *)left, r = *(const uint64_t *)right;

	return l < r ? -1 : l > r;
}

int code_entries(struct elf_file *file, uint64_t **vaddrs, size_t *nr)
{
	struct entries e = { .file = file };
	struct fde_index fdes = {};
	uint64_t end = 0;

	e.error = index_fdes(&fdes, file);
	for (size_t i = 0; i <= fdes.nr && !e.error; i++) {
		uint64_t next = fde_index_start(&fdes, i);

		if (next > end)
			add_gap(&e, end, next);
		if (i < fdes.nr && next + fde_index_at(&fdes, i)->length > end)
			end = next + fde_index_at(&fdes, i)->length;
	}
	fde_index_free(&fdes);
	if (e.error) {
		free(e.vaddrs);
		return e.error;
	}
	if (e.nr)
		qsort(e.vaddrs, e.nr, sizeof(*e.vaddrs), by_value);
	*vaddrs = e.vaddrs;
	*nr = e.nr;
	return 0;
}
