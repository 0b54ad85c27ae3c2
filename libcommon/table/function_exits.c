// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/function_exits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/search.h"
#include "table/machine.h"
#include "table/unwind_table.h"

#define MAX_PARTS 8			/* of one function: what seldom runs lies elsewhere (NAME.cold) */
#define MAX_PART_BYTES (1 << 20)
#define MAX_EXITS 256

struct span {
	uint64_t start, length;		/* vaddr */
	bool shared;			/* may be another function, which others call */
};

struct code_bounds {
	struct elf_file *file;
	struct unwind_table table;
	struct span *fdes;		/* by start, none twice */
	size_t nr, room;
};

/* ---- the file ---- */

static int by_start(const void *left, const void *right)
{
	const struct span *l = left, *r = right;

	return l->start < r->start ? -1 : l->start > r->start;
}

static int read_fdes(struct code_bounds *bounds)
{
	struct elf_section section;
	struct eh_frame frame;
	struct fde fde;
	size_t kept = 0;

	if (elf_file_cfi(bounds->file, &section, &frame))
		return 0;
	while (eh_frame_next(&frame, &fde)) {
		if (array_reserve(&bounds->fdes, &bounds->room, bounds->nr + 1))
			return -ENOMEM;
		if (fde.length)
			bounds->fdes[bounds->nr++] = (struct span){ .start = fde.start, .length = fde.length };
	}
	if (bounds->nr)
		qsort(bounds->fdes, bounds->nr, sizeof(*bounds->fdes), by_start);
	for (size_t i = 0; i < bounds->nr; i++)
		if (!kept || bounds->fdes[kept - 1].start != bounds->fdes[i].start)
			bounds->fdes[kept++] = bounds->fdes[i];
	bounds->nr = kept;
	return 0;
}

struct code_bounds *code_bounds_read(struct elf_file *file)
{
	struct code_bounds *bounds = calloc(1, sizeof(*bounds));
	int error;

	if (!bounds)
		return NULL;
	bounds->file = file;
	error = unwind_table_build(&bounds->table, file);
	if (error == -ENOENT)
		error = unwind_table_build_code(&bounds->table, file);
	/* without a table, the code alone has to do */
	if (error == -ENOMEM || read_fdes(bounds)) {
		code_bounds_free(bounds);
		return NULL;
	}
	return bounds;
}

void code_bounds_free(struct code_bounds *bounds)
{
	if (!bounds)
		return;
	unwind_table_free(&bounds->table);
	free(bounds->fdes);
	free(bounds);
}

static const struct span *fde_of(const struct code_bounds *bounds, uint64_t vaddr)
{
	size_t i = count_up_to(bounds->fdes, bounds->nr, start, vaddr);

	return i && vaddr - bounds->fdes[i - 1].start < bounds->fdes[i - 1].length ? &bounds->fdes[i - 1] : NULL;
}

static struct eh_rule rule_at(const struct code_bounds *bounds, uint64_t vaddr)
{
	uint64_t offset;

	return elf_file_offset_of(bounds->file, vaddr, &offset) ? unwind_table_lookup(&bounds->table, offset) :
								   (struct eh_rule){};
}

/* Is the return address on top of the stack, as a call leaves it? */
static bool is_as_entered(const struct eh_rule *rule)
{
	return rule->kind == RULE_REG && rule->cfa_reg == REG_SP && rule->cfa_offset == CFA_AT_ENTRY &&
	       rule->saved[SAVED_RA] == RA_AT_ENTRY && !(rule->flags & RULE_SIGNAL);
}

/* ---- one function ---- */

struct walk {
	const struct code_bounds *bounds;
	struct function_exits *exits;
	struct span parts[MAX_PARTS];
	size_t nr_parts;
	bool unknown;		/* it may leave by a way that cannot be watched */
};

static bool is_inside(const struct walk *w, uint64_t vaddr)
{
	for (size_t i = 0; i < w->nr_parts; i++)
		if (vaddr - w->parts[i].start < w->parts[i].length)
			return true;
	return false;
}

static int add_exit(struct walk *w, const struct span *part, uint64_t vaddr)
{
	struct function_exits *found = w->exits;
	uint64_t offset;

	if (found->nr >= MAX_EXITS || !elf_file_offset_of(w->bounds->file, vaddr, &offset)) {
		w->unknown = true;
		return 0;
	}
	if (array_reserve(&found->exits, &found->room, found->nr + 1))
		return -ENOMEM;
	found->exits[found->nr++] = (struct function_exit){ .file_offset = offset, .shared = part->shared };
	return 0;
}

/*
 * A direct jump out of what is known of the function: to another function, or into another part of this one.
 * At a call's end the stack is as it was at the beginning, here as there; into a part, it mostly is not. A
 * conditional jump is no tail call, as a rule; where it is one, the other function is taken for a part.
 */
static int leave_to(struct walk *w, const struct span *from_part, uint64_t from, uint64_t to, bool always)
{
	struct eh_rule here = rule_at(w->bounds, from), there = rule_at(w->bounds, to);
	const struct span *part = fde_of(w->bounds, to);

	bool begins = there.kind == RULE_PLT || ((there.kind == RULE_NONE || is_as_entered(&there)) && (!part || part->start == to));

	bool is_call = is_as_entered(&here) && begins;

	if (is_call && always)
		return add_exit(w, from_part, from);
	if (part && there.kind != RULE_PLT && part->length <= MAX_PART_BYTES && w->nr_parts < MAX_PARTS) {
		w->parts[w->nr_parts] = *part;
		w->parts[w->nr_parts++].shared = is_call || from_part->shared;
	} else {
		w->unknown = true;
	}
	return 0;
}

/* Does the instruction read the return address where the call has left it? */
static bool reads_return_address(const struct machine_step *step, const struct eh_rule *rule)
{
	return step->reads && rule->kind == RULE_REG && rule->cfa_reg == step->base &&
	       step->displacement == rule->cfa_offset - CFA_AT_ENTRY;
}

static int follow(struct walk *w, const struct span *part, uint64_t vaddr, const struct machine_step *step)
{
	struct eh_rule rule;

	switch (step->way) {
	case WAY_RETURN:
		return add_exit(w, part, vaddr);
	case WAY_JUMP:
	case WAY_BRANCH:
		return is_inside(w, step->to) ? 0 : leave_to(w, part, vaddr, step->to, step->way == WAY_JUMP);
	case WAY_ELSEWHERE:
		rule = rule_at(w->bounds, vaddr);
		return is_as_entered(&rule) ? add_exit(w, part, vaddr) : 0;
	default:
		return 0;
	}
}

static int walk_part(struct walk *w, const struct span *part)
{
	struct machine_step step;
	uint64_t offset;
	uint32_t sums = 0;
	uint8_t *code;
	int error;

	if (!elf_file_offset_of(w->bounds->file, part->start, &offset))
		return -EBADMSG;
	code = malloc(part->length);
	error = code ? elf_file_read(w->bounds->file, offset, code, part->length) : -ENOMEM;
	for (uint64_t at = 0; !error && at < part->length;) {
		size_t bytes = machine_step(code + at, part->length - at, part->start + at, &sums, &step);
		struct eh_rule rule = rule_at(w->bounds, part->start + at);

		if (!bytes) {
			w->unknown = true;	/* data, or an instruction that is not known */
			break;
		}
		if (reads_return_address(&step, &rule) && step.way != WAY_RETURN)
			w->exits->returns_by_stack = false;
		error = follow(w, part, part->start + at, &step);
		at += bytes;
	}
	free(code);
	return error;
}

static int ascending(const void *left, const void *right)
{
	const struct function_exit *l = left, *r = right;

	return l->file_offset < r->file_offset ? -1 : l->file_offset > r->file_offset;
}

int function_exits_find(struct function_exits *exits, const struct code_bounds *bounds, uint64_t vaddr, uint64_t bytes)
{
	struct function_exits found = {};
	struct walk w = { .bounds = bounds, .exits = &found, .nr_parts = 1 };
	const struct span *fde = fde_of(bounds, vaddr);
	struct eh_rule first = rule_at(bounds, vaddr);
	int error = 0;

	w.parts[0] = fde && fde->start == vaddr ? *fde : (struct span){ .start = vaddr, .length = bytes };
	if (!w.parts[0].length || w.parts[0].length > MAX_PART_BYTES || (fde && fde->start != vaddr))
		return -ENOTSUP;
	/* Go moves stacks, and looks through them for return addresses */
	found.returns_by_stack = fde && is_as_entered(&first) && !(first.flags & RULE_FROM_CODE) && !bounds->table.nr_go_functions;
	if (!is_as_entered(&first) && first.kind != RULE_NONE)
		return -ENOTSUP;
	for (size_t i = 0; i < w.nr_parts && !error; i++) {
		struct span part = w.parts[i];

		error = walk_part(&w, &part);
	}
	if (!error && (w.unknown || !found.nr))
		error = -ENOTSUP;
	if (error) {
		function_exits_free(&found);
		return error;
	}
	qsort(found.exits, found.nr, sizeof(*found.exits), ascending);
	*exits = found;
	return 0;
}

void function_exits_free(struct function_exits *exits)
{
	free(exits->exits);
	*exits = (struct function_exits){};
}
