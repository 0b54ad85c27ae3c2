// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/function_exits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/order.h"
#include "base/search.h"
#include "table/machine.h"
#include "table/unwind_table.h"

#define MAX_PARTS      8 /* of one function: what seldom runs lies elsewhere (NAME.cold) */
#define MAX_PART_BYTES (1 << 20)
#define MAX_FILE_BYTES (64 << 20) /* that are decoded, of one file */
#define MAX_EXITS      256
#define MAX_INSN_BYTES 16
#define MAX_DATA       64 /* addresses that a function reads or takes */

struct span {
	uint64_t start, length; /* vaddr */
	bool has_lsda;          /* exceptions may be caught here */
};

struct code_bounds {
	struct elf_file *file;
	struct unwind_table table;
	struct span *fdes; /* by start, none twice */
	size_t nr, room;
	uint64_t left_bytes; /* to be decoded */
};

/* ---- the file ---- */

static int by_start(const void *left, const void *right)
{
	const struct span *l = left, *r = right;

	int order = order_of(l->start, r->start);

	return order ? order : r->has_lsda - l->has_lsda;
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
			bounds->fdes[bounds->nr++] =
				(struct span){ fde.start, fde.length, fde.cie->has_lsda };
	}
	if (bounds->nr)
		qsort(bounds->fdes, bounds->nr, sizeof(*bounds->fdes), by_start);
	for (size_t i = 0; i < bounds->nr; i++)
		if (!kept || bounds->fdes[kept - 1].start != bounds->fdes[i].start)
			bounds->fdes[kept++] = bounds->fdes[i];
	bounds->nr = kept;
	return 0;
}

struct code_bounds *code_bounds_read(struct elf_file *file, bool exits)
{
	struct code_bounds *bounds = calloc(1, sizeof(*bounds));
	int error = 0;

	if (!bounds)
		return NULL;
	bounds->file = file;
	bounds->left_bytes = MAX_FILE_BYTES;
	if (exits)
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

	return i && vaddr - bounds->fdes[i - 1].start < bounds->fdes[i - 1].length
		       ? &bounds->fdes[i - 1]
		       : NULL;
}

bool code_has_fde(const struct code_bounds *bounds, uint64_t vaddr)
{
	return fde_of(bounds, vaddr);
}

bool code_begins_instruction(const struct code_bounds *bounds, uint64_t start, uint64_t vaddr)
{
	const struct span *fde = fde_of(bounds, vaddr);
	uint64_t from = fde ? fde->start : start, end = vaddr + MAX_INSN_BYTES, offset, at = from;
	struct machine_memory memory = {};
	bool begins = true;
	uint8_t *code;

	if (!from || from >= vaddr || vaddr - from > MAX_PART_BYTES ||
	    !elf_file_offset_of(bounds->file, from, &offset))
		return true;
	if (fde && end > fde->start + fde->length)
		end = fde->start + fde->length;
	code = malloc(end - from);
	if (!code || elf_file_read(bounds->file, offset, code, end - from))
		at = vaddr;
	while (at < vaddr) {
		struct machine_step step;
		size_t bytes = machine_step(code + (at - from), end - at, at, &memory, &step);

		if (!bytes)
			break;
		begins = bytes <= vaddr - at;
		at += bytes;
	}
	free(code);
	return begins;
}

static struct eh_rule rule_at(const struct code_bounds *bounds, uint64_t vaddr)
{
	uint64_t offset;

	return elf_file_offset_of(bounds->file, vaddr, &offset)
		       ? unwind_table_lookup(&bounds->table, offset)
		       : (struct eh_rule){};
}

/* Is the return address on top of the stack, as a call leaves it? */
static bool is_as_entered(const struct eh_rule *rule)
{
	return rule->kind == RULE_REG && rule->cfa_reg == REG_SP &&
	       rule->cfa_offset == CFA_AT_ENTRY && rule->saved[SAVED_RA] == RA_AT_ENTRY &&
	       !(rule->flags & RULE_SIGNAL);
}

/* ---- one function ---- */

struct part {
	struct span span;
	bool shared; /* may be another function, which others call */
	/* of each byte: not seen yet, begins an instruction, belongs to one */
	uint8_t *code, *marks;
};
enum { UNSEEN, BEGINS, WITHIN };

struct walk {
	struct code_bounds *bounds;
	struct function_exits *exits;
	struct part parts[MAX_PARTS];
	size_t nr_parts;
	uint64_t *ahead; /* where to go on: a stack */
	size_t nr_ahead, ahead_room;
	uint64_t data[MAX_DATA];
	size_t nr_data;
	bool switches;  /* it jumps to addresses of a table */
	bool jumps;     /* it jumps by a register, which may be a tail call or a switch */
	bool data_lost; /* there are more than MAX_DATA */
	bool unknown;   /* it may leave by a way that cannot be watched */
};

static struct part *part_at(struct walk *w, uint64_t vaddr)
{
	for (size_t i = 0; i < w->nr_parts; i++)
		if (vaddr - w->parts[i].span.start < w->parts[i].span.length)
			return &w->parts[i];
	return NULL;
}

static int go_on_at(struct walk *w, uint64_t vaddr)
{
	if (array_reserve(&w->ahead, &w->ahead_room, w->nr_ahead + 1))
		return -ENOMEM;
	w->ahead[w->nr_ahead++] = vaddr;
	return 0;
}

static int add_part(struct walk *w, const struct span *span, bool shared)
{
	struct part part = { .span = *span, .shared = shared };
	uint64_t offset;
	int error;

	if (w->nr_parts == MAX_PARTS || span->length > MAX_PART_BYTES ||
	    span->length > w->bounds->left_bytes) {
		w->unknown = true;
		return 0;
	}
	if (!elf_file_offset_of(w->bounds->file, span->start, &offset))
		return -EBADMSG;
	w->bounds->left_bytes -= span->length;
	part.code = malloc(span->length);
	part.marks = calloc(1, span->length);
	error = part.code && part.marks
			? elf_file_read(w->bounds->file, offset, part.code, span->length)
			: -ENOMEM;
	if (error) {
		free(part.code);
		free(part.marks);
		return error;
	}
	w->parts[w->nr_parts++] = part;
	return 0;
}

static int add_exit(struct walk *w, const struct part *part, uint64_t vaddr)
{
	struct function_exits *found = w->exits;
	uint64_t offset;

	if (found->nr >= MAX_EXITS || !elf_file_offset_of(w->bounds->file, vaddr, &offset) ||
	    machine_is_unprobeable(part->code, part->span.length, vaddr - part->span.start)) {
		w->unknown = true;
		return 0;
	}
	if (array_reserve(&found->exits, &found->room, found->nr + 1))
		return -ENOMEM;
	found->exits[found->nr++] =
		(struct function_exit){ .file_offset = offset, .shared = part->shared };
	return 0;
}

/* Is it one of the linker's stubs, which jump on to where a word says? */
static bool is_stub(const struct walk *w, uint64_t vaddr)
{
	struct machine_memory memory = {};
	struct machine_step step;
	uint8_t code[16];
	uint64_t offset;
	size_t at;

	if (!elf_file_offset_of(w->bounds->file, vaddr, &offset) ||
	    elf_file_read(w->bounds->file, offset, code, sizeof(code)))
		return false;
	at = machine_step(code, sizeof(code), vaddr, &memory, &step);
	if (at && step.way == WAY_ON) /* endbr64 */
		machine_step(code + at, sizeof(code) - at, vaddr + at, &memory, &step);
	return step.by_slot;
}

/*
 * A direct jump out of what is known of the function. It is a tail call if the return address is on
 * top of the stack before the jump and at the target; else the target is another part of the
 * function. A conditional jump is no tail call, as a rule: where it is one, the other function is
 * taken for a part.
 */
static int leave_to(struct walk *w, const struct part *from, uint64_t vaddr, uint64_t to,
		    bool always)
{
	struct eh_rule here = rule_at(w->bounds, vaddr), there = rule_at(w->bounds, to), first;
	const struct span *fde = fde_of(w->bounds, to);
	bool stub = is_stub(w, to);
	int error;

	if (is_as_entered(&here) && always &&
	    (stub ||
	     ((there.kind == RULE_NONE || is_as_entered(&there)) && (!fde || fde->start == to))))
		return add_exit(w, from, vaddr);
	if (here.kind == RULE_NONE || !fde || stub) {
		w->unknown = true;
		return 0;
	}
	first = rule_at(w->bounds, fde->start);
	error = add_part(w, fde, from->shared || is_as_entered(&first));
	return error || w->unknown ? error : go_on_at(w, to);
}

static int jump(struct walk *w, const struct part *from, uint64_t vaddr, uint64_t to, bool always)
{
	if (to == w->parts[0].span.start) {
		/*
		 * Each turn of such a loop would be an entry. Go's functions begin anew when they
		 * have got a larger stack.
		 */
		w->unknown |= !w->bounds->table.nr_go_functions;
		return 0;
	}
	return part_at(w, to) ? go_on_at(w, to) : leave_to(w, from, vaddr, to, always);
}

/* Notes what the instruction reads: the return address where the call has left it, or data. */
static void note_reads(struct walk *w, const struct machine_step *step, const struct eh_rule *rule)
{
	if (step->reads && rule->kind == RULE_REG && rule->cfa_reg == step->base &&
	    step->way != WAY_RETURN && step->displacement == rule->cfa_offset - CFA_AT_ENTRY)
		w->exits->returns_by_stack = false;
	if (!step->data)
		return;
	if (w->nr_data < MAX_DATA)
		w->data[w->nr_data++] = step->data;
	else
		w->data_lost = true;
}

/* *on: the next instruction is reached */
static int follow(struct walk *w, const struct part *part, uint64_t vaddr,
		  const struct machine_step *step, const struct eh_rule *rule, bool *on)
{
	bool entered = is_as_entered(rule), none = rule->kind == RULE_NONE;

	*on = step->way == WAY_ON || step->way == WAY_BRANCH;
	switch (step->way) {
	case WAY_RETURN:
		w->unknown |= !entered && !none; /* a jump, by an address that was put there */
		return add_exit(w, part, vaddr);
	case WAY_JUMP:
	case WAY_BRANCH:
		return jump(w, part, vaddr, step->to, step->way == WAY_JUMP);
	case WAY_ELSEWHERE:
	case WAY_EITHER:
		w->unknown |= none || (entered && step->way == WAY_EITHER);
		w->switches |= !entered;
		w->jumps |= entered && !step->by_slot;
		return entered ? add_exit(w, part, vaddr) : 0;
	case WAY_SWITCH:
		w->switches = true;
		return 0;
	default:
		return 0;
	}
}

/* False: another instruction has been seen there, or what is there is none. */
static bool mark(struct part *part, uint64_t at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (part->marks[at + i] != UNSEEN)
			return false;
		part->marks[at + i] = i ? WITHIN : BEGINS;
	}
	return bytes;
}

/* from one place on, as long as the next instruction is reached */
static int walk_from(struct walk *w, uint64_t vaddr)
{
	struct machine_memory memory = {};
	bool on = true, called = true;
	int error = 0;

	while (on && !error && !w->unknown) {
		struct part *part = part_at(w, vaddr);
		uint64_t at = part ? vaddr - part->span.start : 0;
		struct eh_rule rule = rule_at(w->bounds, vaddr);
		struct machine_step step;
		size_t bytes;

		w->unknown |= !part && !called; /* it goes on in another function */
		if (!part || part->marks[at] == BEGINS)
			break; /* behind a call that does not return; or seen before */
		bytes = machine_step(part->code + at, part->span.length - at, vaddr, &memory,
				     &step);
		if (!mark(part, at, bytes)) {
			w->unknown = true;
			break;
		}
		note_reads(w, &step, &rule);
		called = step.calls;
		error = follow(w, part, vaddr, &step, &rule, &on);
		vaddr += bytes;
	}
	return error;
}

static int walk_all(struct walk *w)
{
	int error = 0;

	while (w->nr_ahead && !error && !w->unknown)
		error = walk_from(w, w->ahead[--w->nr_ahead]);
	return error;
}

/*
 * The next bytes from *at on that no known way leads to, up to *end, unless they are padding.
 * False: there are none
 */
static bool next_rest(const struct part *part, uint64_t *at, uint64_t *end)
{
	for (; *at < part->span.length; *at = *end + 1) {
		for (*end = *at; *end < part->span.length && part->marks[*end] == UNSEEN; ++*end)
			;
		if (*end > *at && !machine_is_padding(part->code + *at, *end - *at))
			return true;
	}
	return false;
}

/*
 * What is reached by the addresses of a table, or by an exception, is what is left over: in code of
 * a compiler, which puts no data between.
 */
static int walk_rest(struct walk *w, const struct part *part)
{
	uint64_t end;
	int error = 0;

	for (uint64_t at = 0; !error && !w->unknown && next_rest(part, &at, &end); at++)
		error = go_on_at(w, part->span.start + at) ?: walk_all(w);
	return error;
}

static bool has_rest(const struct part *part)
{
	uint64_t at = 0, end;

	return next_rest(part, &at, &end);
}

static int walk_function(struct walk *w)
{
	int error = go_on_at(w, w->parts[0].span.start) ?: walk_all(w);

	/* where jumps that were taken for tail calls may lead */
	for (size_t i = 0; i < w->nr_parts && w->jumps; i++)
		w->unknown |= has_rest(&w->parts[i]);
	for (size_t i = 0; i < w->nr_parts && !error && !w->unknown; i++)
		if (w->switches || w->parts[i].span.has_lsda)
			error = walk_rest(w, &w->parts[i]);
	w->unknown |= w->switches && w->data_lost;
	for (size_t i = 0; i < w->nr_data && w->switches; i++)
		w->unknown |= w->data[i] != w->parts[0].span.start && part_at(w, w->data[i]);
	return error;
}

static int ascending(const void *left, const void *right)
{
	const struct function_exit *l = left, *r = right;

	return order_of(l->file_offset, r->file_offset);
}

int function_exits_find(struct function_exits *exits, struct code_bounds *bounds, uint64_t vaddr,
			uint64_t bytes)
{
	struct function_exits found = {};
	struct walk w = { .bounds = bounds, .exits = &found };
	const struct span *fde = fde_of(bounds, vaddr);
	struct span span = fde && fde->start == vaddr ? *fde : (struct span){ vaddr, bytes, false };
	struct eh_rule first = rule_at(bounds, vaddr);
	int error;

	if (!span.length || (fde && fde->start != vaddr) ||
	    (!is_as_entered(&first) && first.kind != RULE_NONE))
		return -ENOTSUP;
	/* Go moves stacks, and looks through them for return addresses */
	found.returns_by_stack = fde && is_as_entered(&first) && !(first.flags & RULE_FROM_CODE) &&
				 !bounds->table.nr_go_functions;
	error = add_part(&w, &span, false);
	if (!error && w.nr_parts &&
	    machine_is_unprobeable(w.parts[0].code, w.parts[0].span.length, 0))
		w.unknown = true;
	if (!error && w.nr_parts)
		error = walk_function(&w);
	for (size_t i = 0; i < w.nr_parts; i++) {
		free(w.parts[i].code);
		free(w.parts[i].marks);
	}
	free(w.ahead);
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
