// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/fde_rows.h"

#include <dwarf.h>

#include "dwarf/cfi.h"

#define MAX_REMEMBERED 16

/* the FDE's program as it runs; all of it is kept in registers, since its functions are inlined */
struct program {
	const uint8_t *p, *end;
	uint64_t vaddr;		/* of the current row's start; at: its offset in the file, at most `limit` */
	uint64_t at, limit;
	uint32_t state;
	uint32_t nr_remembered;
	uint64_t nr_rows;
};

static inline bool ends_ops(uint8_t op)
{
	return (op & 0xc0) == DW_CFA_advance_loc || (op >= DW_CFA_set_loc && op <= DW_CFA_advance_loc4) ||
	       op == DW_CFA_MIPS_advance_loc8 || op == DW_CFA_nop || op == DW_CFA_remember_state ||
	       op == DW_CFA_restore_state;
}

/*
 * Where the string of instructions from p on ends that cfi_states_apply() takes in one piece:
 * before the next one that advances, remembers or restores a state, or does nothing. NULL: it does
 * not decode
 */
static inline const uint8_t *end_of_ops(const uint8_t *p, const uint8_t *end)
{
	struct cursor c = cursor_over(p, end - p);
	struct cfi_insn insn;

	while (c.p < end && !ends_ops(*c.p)) {
		/*
		 * nearly all there is: DW_CFA_offset, DW_CFA_def_cfa_offset and _register, with a
		 * one-byte operand
		 */
		if (((*c.p & 0xc0) == DW_CFA_offset || *c.p == DW_CFA_def_cfa_offset || *c.p == DW_CFA_def_cfa_register) &&
		    end - c.p > 1 && c.p[1] < 0x80)
			c.p += 2;
		else if ((*c.p & 0xc0) == DW_CFA_restore)
			c.p++;
		else if (!cfi_decode(&c, DW_EH_PE_omit, 0, &insn))	/* DW_CFA_set_loc is not among them */
			return NULL;
	}
	return c.p;
}

/* Ends the current row: the next one starts delta * align higher. false: that is beyond all addresses */
static inline bool advance(struct program *r, struct row_writer *w, uint64_t delta, uint64_t align)
{
	if (__builtin_mul_overflow(delta, align, &delta) || __builtin_add_overflow(r->vaddr, delta, &r->vaddr))
		return false;
	r->nr_rows++;
	if (delta && r->at < r->limit)
		row_writer_add(w, r->at, r->state);
	/* rows from the limit on are decoded and counted, but the next FDE's hold there */
	r->at = delta < r->limit - r->at ? r->at + delta : r->limit;
	return true;
}

/* The same for the longer forms of an advance. false also where they do not decode */
static inline bool advance_long(struct program *r, struct row_writer *w, const struct cie_class *class,
				uint64_t pc_bias)
{
	struct cursor c = cursor_over(r->p, r->end - r->p);
	uint64_t align = class->code_align;
	struct cfi_insn insn;

	if (!cfi_decode(&c, class->fde_encoding, pc_bias, &insn))
		return false;
	if (insn.op == DW_CFA_set_loc) {	/* to an address. The way to one that is lower overflows. */
		insn.first -= r->vaddr;
		align = 1;
	}
	r->p = c.p;
	return advance(r, w, insn.first, align);
}

/* Runs the whole program; false where it does not decode, r->at being the row where that happened. */
static inline bool run(struct program *r, struct row_writer *w, struct cfi_states *states,
		       const struct fde_span *span, uint64_t pc_bias)
{
	const struct cie_class *class = &states->classes[span->class];
	uint32_t remembered[MAX_REMEMBERED];
	const uint8_t *next;

	while (r->p < r->end) {
		uint8_t op = *r->p;

		if ((op & 0xc0) == DW_CFA_advance_loc) {	/* first: every other instruction is one */
			r->p++;
			if (!advance(r, w, op & 0x3f, class->code_align))
				return false;
		} else if (!ends_ops(op)) {
			next = end_of_ops(r->p, r->end);
			if (!next)
				return false;
			r->state = cfi_states_apply(states, span->class, r->state, r->p, next - r->p, r->end);
			r->p = next;
		} else if (op == DW_CFA_nop) {
			r->p++;
		} else if (op == DW_CFA_remember_state) {
			if (r->nr_remembered == MAX_REMEMBERED)
				return false;
			remembered[r->nr_remembered++] = r->state;
			r->p++;
		} else if (op == DW_CFA_restore_state) {
			/*
			 * DWARF 5, 6.4.2.4, speaks of the rules of every register. The CFA's rule comes back as well:
			 * compilers count on it, and libgcc and gdb do so.
			 */
			if (!r->nr_remembered)
				return false;
			r->state = remembered[--r->nr_remembered];
			r->p++;
		} else if (!advance_long(r, w, class, pc_bias)) {
			return false;
		}
	}
	return true;
}

bool fde_rows_write(struct row_writer *w, struct cfi_states *states, const struct fde_span *span,
		    uint64_t end, uint64_t pc_bias, uint64_t *nr_rows)
{
	static const struct eh_rule unsupported = { .kind = RULE_UNSUPPORTED };
	const struct cie_class *class = &states->classes[span->class];
	struct program r = {
		.p = span->program, .end = span->program + span->program_bytes, .vaddr = span->vaddr,
		.at = span->start, .limit = end, .state = class->initial, .nr_rows = 1,
	};
	bool good = !class->bad && run(&r, w, states, span, pc_bias);

	*nr_rows += r.nr_rows;
	if (r.at < end)
		row_writer_add(w, r.at, good ? r.state : cfi_states_of_rule(states, &unsupported));
	return good;
}
