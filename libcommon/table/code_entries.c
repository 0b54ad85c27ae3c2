// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/code_entries.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/order.h"
#include "table/code_insns.h"
#include "table/fde_index.h"
#include "table/machine.h"

#define FUNCTION_ALIGNMENT 16 /* what compilers and assembly give functions; loops are jumped to */

struct entries {
	struct elf_file *file;
	uint64_t *vaddrs;
	size_t nr, room;
	uint64_t code_bytes;
	int error; /* sticky */
};

static void add(struct entries *e, uint64_t vaddr)
{
	if (!e->error)
		e->error = array_reserve(&e->vaddrs, &e->room, e->nr + 1);
	if (!e->error)
		e->vaddrs[e->nr++] = vaddr;
}

/*
 * what stands between functions: what assemblers fill up with, and between sections zeros, which
 * decode as additions
 */
static bool is_padding(const struct code *c, const struct insn *insn)
{
	return insn->padding ||
	       (insn->at + 1 < c->size && !c->bytes[insn->at] && !c->bytes[insn->at + 1]);
}

/* what is found out of each instruction */
struct place {
	/* only a jump or a call leads to it: behind padding, or behind what does not go on */
	bool apart;
	bool entry;
	uint32_t function; /* number of the entry at or before it */
};

static bool is_aligned(const struct code *c, size_t i)
{
	return (c->vaddr + c->insns[i].at) % FUNCTION_ALIGNMENT == 0;
}

/* what is called, and what nothing leads to */
static void find_entries(const struct code *c, struct place *places)
{
	bool apart = true, first = true;

	for (size_t i = 0; i < c->nr; i++) {
		const struct insn *insn = &c->insns[i];

		if (is_padding(c, insn)) {
			apart = true;
			continue;
		}
		places[i].apart = apart;
		places[i].entry =
			first || insn->called || (apart && !insn->jumped_to && is_aligned(c, i));
		first = false;
		apart = !insn_reaches_next(insn);
	}
}

/* a jump out of a function to a place apart is a tail call */
static void find_tail_called(const struct code *c, struct place *places)
{
	uint32_t function = 0;

	for (size_t i = 0; i < c->nr; i++)
		places[i].function = function += places[i].entry;
	for (size_t i = 0; i < c->nr; i++) {
		uint32_t to = c->insns[i].effect == INSN_JUMP ? c->insns[i].target : NO_TARGET;

		if (to < c->nr && places[to].apart && is_aligned(c, to) &&
		    places[to].function != places[i].function)
			places[to].entry = true;
	}
}

static void add_code(struct entries *e, const uint8_t *bytes, size_t size, uint64_t vaddr)
{
	struct code c = { .bytes = bytes, .size = size, .vaddr = vaddr };
	struct place *places;

	e->error = machine_decode(&c);
	places = e->error ? NULL : calloc(c.nr + 1, sizeof(*places));
	if (places) {
		code_link(&c);
		find_entries(&c, places);
		find_tail_called(&c, places);
		for (size_t i = 0; i < c.nr; i++)
			if (places[i].entry)
				add(e, vaddr + c.insns[i].at);
	} else if (!e->error) {
		e->error = -ENOMEM;
	}
	free(places);
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
		const uint8_t *code;
		int error;

		if (!s->executable || from >= to ||
		    (to - from < MAX_ALIGNMENT && from > s->file_offset && to < segment_end))
			continue; /* what separates two functions is no code, as in gaps.c */
		e->code_bytes += to - from;
		if (e->code_bytes > CODE_ENTRIES_MAX_BYTES) {
			e->error = -EFBIG;
			return;
		}
		error = elf_file_bytes(e->file, from, to - from, &code);
		if (!error)
			add_code(e, code, to - from, from - s->file_offset + s->vaddr);
		else if (error == -ENOMEM)
			e->error = error;
	}
}

static int index_fdes(struct fde_index *index, struct elf_file *file)
{
	struct elf_section section;
	struct eh_frame frame;
	struct fde fde;
	int error;

	error = elf_file_cfi(file, &section, &frame);
	if (error)
		return error == -ENOMEM ? error : 0;
	while (error != -ENOMEM && eh_frame_next(&frame, &fde))
		error = fde_index_add(index, file, &fde, 0);
	return error == -ENOMEM ? error : fde_index_sort(index);
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
		qsort(e.vaddrs, e.nr, sizeof(*e.vaddrs), order_numbers);
	*vaddrs = e.vaddrs;
	*nr = e.nr;
	return 0;
}
