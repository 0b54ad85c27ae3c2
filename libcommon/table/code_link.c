// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/code_insns.h"

#include "base/search.h"
#include "table/machine.h"

#define MAX_HELPER 256 /* instructions */

/*
 * The last instruction that set each register, as numbers from 1 on; 0: none since the last return.
 * In the order of the code, whatever its ways are, and however long ago: OpenBLAS's
 * dgemm_kernel_HASWELL restores the stack pointer 5,500 instructions behind the one that kept it.
 */
struct last_set {
	size_t of[EH_NR_REGS];
};

size_t code_insn_at(const struct code *c, uint32_t at)
{
	return count_below(c->insns, c->nr, at, at);
}

/* the number of the instruction at this offset, or nr where none begins there */
static size_t find_insn(const struct code *c, uint32_t at)
{
	size_t i = code_insn_at(c, at);

	return i < c->nr && c->insns[i].at == at ? i : c->nr;
}

static void note_set(struct last_set *last, const struct insn *insn, size_t i)
{
	if (insn->effect == INSN_RETURN)
		*last = (struct last_set){};
	else if ((insn->effect == INSN_SET || insn->effect == INSN_LOAD) && insn->reg < EH_NR_REGS)
		last->of[insn->reg] = i + 1;
}

/*
 * An instruction sets sp. Is that to a value that sp had in this frame? From a register that is not
 * known to hold one, it is another stack's (a switch of contexts), and the return behind it does
 * not lead to this frame's caller.
 */
static bool stays_on_stack(const struct code *c, const struct insn *insn,
			   const struct last_set *last)
{
	const struct insn *kept;

	if (insn->base == REG_SP || insn->base == REG_FP)
		return true;
	if (insn->effect != INSN_SET || !last->of[insn->base])
		return false;
	kept = &c->insns[last->of[insn->base] - 1];
	return kept->base == REG_SP || (kept->effect == INSN_LOAD && kept->base == REG_FP);
}

/*
 * What the function at `first` overwrites. Assembly counts on its own helpers leaving alone what
 * they do not mention (x264's callers keep the stack pointer in rcx meanwhile): so where a helper
 * is a plain piece of code up to its return, this is known. All that the ABI allows where it is
 * not.
 */
static uint32_t written_by(const struct code *c, size_t first)
{
	uint32_t registers = 0;

	for (size_t i = first; i < c->nr && i - first < MAX_HELPER; i++) {
		const struct insn *insn = &c->insns[i];

		if (insn->effect == INSN_RETURN)
			return registers & CALLER_SAVED;
		if (insn->effect == INSN_CALL || !insn_reaches_next(insn))
			break;
		registers |= insn->overwritten;
		if (insn_sets_reg(insn) && insn->reg < EH_NR_REGS)
			registers |= 1u << insn->reg;
	}
	return CALLER_SAVED;
}

static void link_call(struct code *c, struct insn *insn)
{
	size_t to = find_insn(c, insn->target);

	insn->overwritten = written_by(c, to) | CALL_OVERWRITES;
	insn->target = to < c->nr ? to : NO_TARGET;
	if (to < c->nr)
		c->insns[to].called = true;
}

static void link_jump(struct code *c, struct insn *insn)
{
	size_t to = find_insn(c, insn->target);

	insn->target = to < c->nr ? to : NO_TARGET;
	if (to < c->nr)
		c->insns[to].jumped_to = true;
	else /* into the middle of what was decoded */
		insn->effect = INSN_STOP;
}

void code_link(struct code *c)
{
	struct last_set last = {};

	for (size_t i = 0; i < c->nr; i++) {
		struct insn *insn = &c->insns[i];

		note_set(&last, insn, i);
		if ((insn->effect == INSN_SET || insn->effect == INSN_LOAD) &&
		    insn->reg == REG_SP) {
			if (!stays_on_stack(c, insn, &last))
				insn->effect = INSN_STOP;
		} else if (insn->effect == INSN_CALL && insn->target != NO_TARGET) {
			link_call(c, insn);
		} else if (insn->effect == INSN_JUMP || insn->effect == INSN_BRANCH) {
			link_jump(c, insn);
		}
	}
}
