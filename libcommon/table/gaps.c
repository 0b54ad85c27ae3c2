// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/gaps.h"

#include <errno.h>
#include <stdlib.h>

#include "table/code_rules.h"
#include "table/known_code.h"
#include "table/machine.h"

#define MAX_ENTRY_BYTES 4096
/* before and behind the entry point, where its code's neighbours may be called */
#define MAX_CALLER_BYTES (1 << 20)

/*
 * More than that at one place is a language's run-time system, and is not looked at; nor is any if
 * there is more in all: a program without CFI, as Chromium is, which has frame pointers instead.
 * OpenBLAS's kernels are 12 MB, 0.3 MB at a place.
 */
#define MAX_PLACE_BYTES (8 << 20)
#define MAX_CODE_BYTES  (64 << 20)

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* [start, end) is what may be entry code, in s. 0 or -ENOMEM */
static int find_entry_end(const struct elf_file *file, const struct elf_segment *s, uint64_t start,
			  uint64_t *end)
{
	uint64_t from =
		later(s->file_offset, start < MAX_CALLER_BYTES ? 0 : start - MAX_CALLER_BYTES);
	uint64_t to = earlier(earlier(s->file_offset + s->size, file->file_bytes),
			      start + MAX_CALLER_BYTES);
	const uint8_t *code;
	int error = to < *end ? -EBADMSG : elf_file_bytes(file, from, to - from, &code);

	if (!error)
		*end = from + machine_entry_end(code, to - from, from - s->file_offset + s->vaddr,
						start - from, *end - from);
	return error == -ENOMEM ? error : 0;
}

int gaps_find_entry(struct unwind_table *table, const struct elf_file *file,
		    const struct fde_index *fdes)
{
	uint64_t entry = file->header.e_entry;

	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct elf_segment *s = &file->segments[i];
		uint64_t start, end;
		int error;

		if (!entry || !s->executable || entry < s->vaddr || entry - s->vaddr >= s->size)
			continue;
		start = entry - s->vaddr + s->file_offset;
		end = earlier(s->file_offset + s->size, start + MAX_ENTRY_BYTES);
		end = fde_index_first_covered(fdes, start, end);
		if (end > UINT32_MAX || end <= start)
			return 0;
		error = find_entry_end(file, s, start, &end);
		table->entry_start = start;
		table->entry_end = end;
		return error;
	}
	return 0;
}

/* NULL where the file does not hold them. Fewer than a window has; valid until the next call */
static const uint8_t *short_bytes_at(struct gaps *g, uint64_t offset, uint64_t size)
{
	if (offset < g->window_start || offset + size > g->window_end) {
		uint64_t left = offset < g->file->file_bytes ? g->file->file_bytes - offset : 0;
		uint64_t bytes = left < sizeof(g->window) ? left : sizeof(g->window);

		g->window_start = g->window_end = offset;
		if (!elf_file_read(g->file, offset, g->window, bytes))
			g->window_end += bytes;
	}
	return size <= g->window_end - offset ? g->window + (offset - g->window_start) : NULL;
}

/*
 * What separates two functions: so short that no other one fits in, or filled up as assemblers and
 * linkers do. At the ends of a segment's code lie _init and _fini, which are as short and are code.
 */
static bool is_padding(struct gaps *g, bool at_end, uint64_t from, uint64_t to)
{
	const uint8_t *bytes;

	if (at_end || to - from >= MAX_ALIGNMENT)
		return false;
	if (to - from < FUNCTION_ALIGNMENT)
		return true;
	bytes = short_bytes_at(g, from, to - from);
	return !bytes || machine_is_padding(bytes, to - from);
}

struct code_place {
	struct gaps *gaps;
	uint64_t start; /* of the code, offset in the file */
	const uint8_t *code;
	size_t size;
	struct known_code known; /* the next piece; without rows behind the last one */
	size_t known_end;        /* of the one before */
	/* written, and its state: most instructions have the rule of the one before */
	struct eh_rule last;
	uint32_t last_state;
};

static void write_row(struct code_place *p, size_t at, const struct eh_rule *rule)
{
	struct gaps *g = p->gaps;

	if (rule && memcmp(&p->last, rule, sizeof(*rule))) {
		p->last = *rule;
		p->last_state = cfi_states_of_rule(g->states, rule);
	}
	if (!g->states->error && !g->writer->error)
		row_writer_add(g->writer, p->start + at, rule ? p->last_state : g->nothing);
}

static void find_known(struct code_place *p)
{
	p->known_end = p->known.end;
	if (!known_code_next(p->code, p->size, p->known.end, &p->known))
		p->known.nr_rows = 0;
}

/*
 * What is known of certain code goes before what its instructions say. Behind it nothing holds
 * until they say something.
 */
static void write_known(struct code_place *p, size_t up_to)
{
	while (p->known.nr_rows && p->known.rows[0].at <= up_to) {
		for (size_t i = 0; i < p->known.nr_rows; i++)
			write_row(p, p->known.rows[i].at, &p->known.rows[i].rule);
		find_known(p);
		if (!p->known.nr_rows || p->known.rows[0].at > p->known_end)
			write_row(p, p->known_end, NULL);
	}
}

static void write_code_rule(void *place, size_t at, const struct eh_rule *rule)
{
	struct code_place *p = place;
	uint64_t offset = p->start + at;
	bool is_entry = offset >= p->gaps->table->entry_start && offset < p->gaps->table->entry_end;
	bool by_fp = p->gaps->keeps_fp && rule->kind == RULE_NONE;

	write_known(p, at);
	if (at >= p->known_end)
		write_row(p, at, is_entry || by_fp ? NULL : rule);
}

/* [from, to) is code of this segment */
static void write_code(struct gaps *g, const struct elf_segment *s, uint64_t from, uint64_t to)
{
	struct code_place place = {
		.gaps = g, .start = from, .size = to - from, .last_state = g->nothing
	};
	int error = elf_file_bytes(g->file, from, to - from, &place.code);

	if (error) {
		g->error = error == -ENOMEM ? error : 0;
		return;
	}
	g->looked_at = to;
	find_known(&place);
	g->error = code_rules(place.code, place.size, from - s->file_offset + s->vaddr,
			      write_code_rule, &place);
	if (g->error)
		return;
	write_known(&place, place.size); /* where instructions say nothing at all */
	write_row(&place, place.size, NULL);
}

/* GHC's code is read in pieces: there may be a hundred megabytes */
#define STG_PIECE_BYTES (1 << 20)

/*
 * code[0 .. size) is what begins at `from` in the file. Writes the calls that begin before `end`;
 * returns where what is written ends
 */
static uint64_t write_stg_piece(struct gaps *g, uint64_t from, uint64_t end, const uint8_t *code,
				size_t size)
{
	struct code_place place = { .gaps = g, .start = from, .last_state = g->nothing };
	struct eh_rule rule = known_stg_rule(false), in_call = known_stg_rule(true);
	struct known_stg_call call = {};

	write_row(&place, 0, &rule);
	while (known_stg_next_call(code, size, call.end, &call) && from + call.start < end) {
		write_row(&place, call.start, call.by_8 ? &in_call : NULL);
		write_row(&place, call.end, &rule);
	}
	return later(end, from + call.end);
}

/* [from, to) is GHC's code, if it begins with some. false: it is not */
static bool write_stg_code(struct gaps *g, uint64_t from, uint64_t to)
{
	size_t most = STG_PIECE_BYTES + STG_CALL_BYTES, size;
	uint8_t *code = malloc(most);
	bool is_stg = false;

	if (!code)
		g->error = -ENOMEM;
	while (from < to && !g->error && !g->writer->error && !g->states->error) {
		size = earlier(to - from, most);
		if (elf_file_read(g->file, from, code, size) ||
		    (!is_stg && !known_is_stg(code, size)))
			break;
		is_stg = true;
		from = earlier(to, write_stg_piece(g, from, earlier(to, from + STG_PIECE_BYTES),
						   code, size));
	}
	free(code);
	if (!is_stg)
		return false;
	row_writer_add(g->writer, from, g->nothing);
	g->looked_at = to;
	return true;
}

/* [from, to) of this segment; at_end: it begins or ends with the segment's code */
static void look_at(struct gaps *g, const struct elf_segment *s, bool at_end, uint64_t from,
		    uint64_t to)
{
	if (is_padding(g, at_end, from, to))
		return;
	g->table->has_other_code |= g->is_stg;
	/* the entry code is not GHC's */
	if (g->is_stg && from < g->table->entry_end && g->table->entry_end < to) {
		look_at(g, s, at_end, from, g->table->entry_end);
		from = g->table->entry_end;
	}
	if (g->is_stg && g->of_code && write_stg_code(g, from, to))
		return;
	g->table->other_code_bytes += to - from;
	if (to - from > MAX_PLACE_BYTES || g->table->other_code_bytes > MAX_CODE_BYTES) {
		g->table->has_other_code &=
			g->is_stg || g->table->other_code_bytes <= MAX_CODE_BYTES;
		return;
	}
	g->table->has_other_code = true;
	if (g->of_code)
		write_code(g, s, from, to);
}

void gaps_look(struct gaps *g, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < g->file->nr_segments && !g->error; i++) {
		const struct elf_segment *s = &g->file->segments[i];
		uint64_t first = later(s->file_offset, g->code_start), from = later(start, first);
		uint64_t last = earlier(s->file_offset + s->size, g->code_end),
			 to = earlier(end, last);

		if (s->executable && from >= g->looked_at && from < to)
			look_at(g, s, from == first || to == last, from, to);
	}
}

void gaps_write(struct gaps *g, uint64_t start, uint64_t end)
{
	row_writer_add(g->writer, start, g->nothing);
	gaps_look(g, start, end);
}
