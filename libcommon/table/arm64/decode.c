// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A64 instructions as code_insns.h has them (Arm ARM, C4.1). One that has several effects, as the
 * load of a pair has, becomes several of these, all at its place. Of what is not listed, the
 * destination counts as overwritten: some have none, and a rule is lost that could be kept.
 */
#include <errno.h>

#include "base/array.h"
#include "insn.h"
#include "table/code_insns.h"
#include "table/machine.h"

#define ZR 31 /* as a source or a destination of data; as a base, 31 is sp */
#define X8 8

/* system calls that do not return (include/uapi/asm-generic/unistd.h) */
#define NR_EXIT         93
#define NR_EXIT_GROUP   94
#define NR_RT_SIGRETURN 139

/* hints */
#define IS_BTI_C(insn) ((0xffffff7f & (insn)) == 0xd503245f) /* bti c, bti jc */
#define INSN_PACIASP   0xd503233f
#define INSN_PACIBSP   0xd503237f
/* ldr x16, [x28, #16]: g.stackguard0, by Go's ABI; the comparison with sp follows */
#define INSN_LOAD_STACKGUARD 0xf9400b90
#define IS_HINT(insn)        ((0xfffff01f & (insn)) == 0xd503201f)

struct decoder {
	struct code *code;
	/*
	 * constants in registers: bits of those whose value is known before the instruction, and
	 * the values
	 */
	uint32_t known;
	uint64_t values[EH_NR_REGS];
	int error;
};

static bool is_value(const struct decoder *d, uint32_t reg, uint64_t value)
{
	return d->known >> reg & 1 && d->values[reg] == value;
}

/* Adds an effect of the instruction at `at`. */
static struct insn *add(struct decoder *d, uint32_t at, enum insn_effect effect)
{
	struct code *c = d->code;
	static struct insn none;

	if (!d->error)
		d->error = array_reserve(&c->insns, &c->max, c->nr + 1);
	if (d->error)
		return &none;
	c->insns[c->nr] = (struct insn){
		.at = at, .target = NO_TARGET, .effect = effect, .reg = NO_REG, .base = NO_REG
	};
	return &c->insns[c->nr++];
}

static void add_move(struct decoder *d, uint32_t at, enum insn_effect effect, uint8_t reg,
		     uint8_t base, int64_t displacement)
{
	struct insn *insn = add(d, at, effect);

	insn->reg = reg;
	insn->base = base;
	insn->displacement = displacement;
}

static void overwrite(struct decoder *d, uint32_t at, uint32_t registers)
{
	add(d, at, INSN_OTHER)->overwritten = registers;
}

/* a destination, which is xzr if it is 31 */
static uint32_t bit_of(uint32_t reg)
{
	return reg == ZR ? 0 : 1u << reg;
}

/* ---- jumps ---- */

#define MAX_TAIL 12

/* Is the register, which a jump goes by, a sum of two, or from a table, as in a switch? */
static bool is_of_table(const struct code *c, uint32_t by)
{
	for (size_t n = 1; n <= MAX_TAIL && n <= c->nr; n++) {
		const struct insn *before = &c->insns[c->nr - n];
		uint32_t insn = insn_at(c->bytes, c->size, before->at);

		if (before->overwritten >> by & 1)
			return (insn & 0x7f200000) == 0x0b000000 ||
			       (insn & 0x7fe00000) == 0x0b200000 ||
			       (insn & 0x3b200c00) == 0x38200800;
		if (insn_sets_reg(before) && before->reg == by)
			return false;
	}
	return false;
}

/*
 * Does the code before a jump give the frame up? Then it is a tail call. The last instructions
 * before it restore x30 or add to sp; or it jumps by x16 or x17, which calls by stubs use.
 */
static bool gives_frame_up(const struct code *c, uint32_t by)
{
	if (c->generated || is_of_table(c, by))
		return false;
	if (by == 16 || by == 17)
		return true;
	for (size_t n = 1; n <= MAX_TAIL && n <= c->nr; n++) {
		const struct insn *before = &c->insns[c->nr - n];

		if (before->effect == INSN_LOAD && before->reg == EH_X30 && before->base == EH_SP)
			return true;
		if (before->effect == INSN_SET && before->reg == EH_SP)
			return before->base == EH_SP && before->displacement > 0;
		if (before->effect != INSN_OTHER && before->effect != INSN_SET &&
		    before->effect != INSN_LOAD)
			return false;
	}
	return false;
}

static void decode_direct(struct decoder *d, uint32_t insn, uint32_t at)
{
	int64_t to = (int64_t)insn_target(insn, at);
	bool inside = to >= 0 && to < (int64_t)d->code->size;

	if (IS_BL(insn)) {
		struct insn *call = add(d, at, INSN_CALL);

		call->overwritten = CALLER_SAVED;
		call->target = inside ? to : NO_TARGET;
	} else if (inside) {
		add(d, at, IS_B(insn) ? INSN_JUMP : INSN_BRANCH)->target = to;
	} else if (IS_B(insn)) { /* a tail call */
		add(d, at, d->code->generated ? INSN_INDIRECT : INSN_RETURN);
	} else {
		add(d, at, INSN_OTHER);
	}
}

static void decode_system_call(struct decoder *d, uint32_t at)
{
	if (is_value(d, X8, NR_RT_SIGRETURN))
		add(d, at, INSN_STOP);
	else if (is_value(d, X8, NR_EXIT) || is_value(d, X8, NR_EXIT_GROUP))
		add(d, at, INSN_EXIT);
	else
		overwrite(d, at, 1 << 0);
}

/* Does the instruction before add a number of words to sp? add sp,sp,xm,uxtx #3 */
static bool pops_arguments(const struct code *c, uint32_t at)
{
	return at >= INSN_BYTES &&
	       (insn_at(c->bytes, c->size, at - INSN_BYTES) & 0xffe0ffff) == 0x8b206fff;
}

/* What leads elsewhere, and what may not be reached. false: it is none of these */
static bool decode_control(struct decoder *d, uint32_t insn, uint32_t at)
{
	if (IS_B(insn) || IS_BL(insn) || IS_B_COND(insn) || IS_CBZ(insn) || IS_TBZ(insn)) {
		decode_direct(d, insn, at);
	} else if (IS_RET(insn)) {
		bool pops = pops_arguments(d->code, at);

		add(d, at, pops ? INSN_STOP : INSN_RETURN);
		d->code->nr_returns++;
		d->code->nr_popping += pops;
	} else if (IS_BLR(insn)) {
		add(d, at, INSN_CALL)->overwritten = CALLER_SAVED;
	} else if (IS_BR(insn)) {
		add(d, at,
		    gives_frame_up(d->code, INSN_REG(insn, 5)) ? INSN_RETURN : INSN_INDIRECT);
	} else if (insn == INSN_SVC) {
		decode_system_call(d, at);
	} else if (IS_TRAP(insn) || (insn & 0xfe000000) == 0xd6000000) {
		/* other jumps by a register: eret, ret by another one */
		add(d, at, INSN_STOP);
	} else if (IS_HINT(insn)) {
		struct insn *hint = add(d, at, INSN_OTHER);

		hint->padding = insn == INSN_NOP;
		hint->landing = IS_BTI_C(insn) || insn == INSN_PACIASP || insn == INSN_PACIBSP;
	} else {
		return false;
	}
	return true;
}

/* ---- loads and stores ---- */

/* sp -= n before what is stored there: so functions begin */
static bool makes_frame(uint32_t base, bool before, bool load, uint32_t reg, int64_t displacement)
{
	return base == EH_SP && before && !load && displacement < 0 &&
	       (reg == EH_X30 || (KNOWN_CALLEE_SAVED >> reg & 1));
}

/*
 * One or two registers of 64 bits, or others (words false); base changes before or after, or (back
 * 0) not.
 */
struct access {
	uint32_t regs[2], nr, base;
	bool load, words, changes, before;
	int64_t displacement;
};

static void decode_access(struct decoder *d, uint32_t at, const struct access *a)
{
	int64_t displacement = a->changes ? 0 : a->displacement;
	/* a register by which the other one is loaded comes last */
	bool swapped = a->nr == 2 && a->load && a->regs[0] == a->base && !a->changes;
	size_t first = d->code->nr;

	if (a->changes && a->before)
		add_move(d, at, INSN_SET, a->base, a->base, a->displacement);
	for (uint32_t i = 0; i < a->nr; i++) {
		uint32_t which = swapped ? 1 - i : i, reg = a->regs[which];

		if (a->words)
			add_move(d, at, a->load ? INSN_LOAD : INSN_STORE, reg == ZR ? NO_REG : reg,
				 a->base, displacement + 8 * which);
		else if (a->load)
			overwrite(d, at, bit_of(reg));
	}
	if (a->changes && !a->before)
		add_move(d, at, INSN_SET, a->base, a->base, a->displacement);
	if (d->code->nr == first)
		overwrite(d, at, 0);
	else if (!d->error && a->changes && a->nr)
		d->code->insns[first].prologue =
			makes_frame(a->base, a->before, a->load, a->regs[0], a->displacement);
}

/* ldp, stp and their kin. Those of vector registers change the base alone */
static void decode_pair(struct decoder *d, uint32_t insn, uint32_t at)
{
	uint32_t size = insn >> 30, mode = insn >> 23 & 3;
	bool vector = insn >> 26 & 1;
	int bytes = size == 2 ? 8 : 4;
	struct access a = {
		.regs = { INSN_REG(insn, 0), INSN_REG(insn, 10) },
		.nr = vector ? 0 : 2,
		.base = INSN_REG(insn, 5),
		.load = insn >> 22 & 1,
		.words = size == 2,
		.changes = mode & 1,
		.before = mode == 3,
	};

	if (vector) {
		bytes = 4 << size;
	} else if (size == 1 && !a.load) {
		/* stgp; with loads, size 1 is ldpsw, of 32-bit words */
		a.words = true;
		bytes = 16;
	}
	a.displacement = insn_signed(insn, 15, 7) * bytes;
	decode_access(d, at, &a);
}

/*
 * one register, by a base and an immediate: unsigned and scaled, or signed, perhaps with a change
 * of the base
 */
static void decode_single(struct decoder *d, uint32_t insn, uint32_t at, bool scaled)
{
	uint32_t size = insn >> 30, opc = insn >> 22 & 3, mode = insn >> 10 & 3;
	bool vector = insn >> 26 & 1;
	int shift = vector ? (int)(size | (opc & 2) << 1) : (int)size;
	struct access a = {
		.regs = { INSN_REG(insn, 0) },
		/* size 3 and opc 2: prfm */
		.nr = !vector && !(size == 3 && opc == 2),
		.base = INSN_REG(insn, 5),
		.load = opc != 0,
		.words = size == 3,
		.changes = !scaled && mode & 1,
		.before = mode == 3,
		.displacement =
			scaled ? (int64_t)(insn >> 10 & 0xfff) << shift : insn_signed(insn, 12, 9),
	};

	decode_access(d, at, &a);
	if (insn == INSN_LOAD_STACKGUARD && !d->error)
		d->code->insns[d->code->nr - 1].stack_check = true;
}

static void decode_memory(struct decoder *d, uint32_t insn, uint32_t at)
{
	uint32_t rt = INSN_REG(insn, 0), base = INSN_REG(insn, 5), status = INSN_REG(insn, 16);
	bool vector = insn >> 26 & 1;

	if ((insn & 0x3a000000) == 0x28000000)
		decode_pair(d, insn, at);
	else if ((insn & 0x3b000000) == 0x39000000)
		decode_single(d, insn, at, true);
	else if ((insn & 0x3b200000) == 0x38000000)
		decode_single(d, insn, at, false);
	else if ((insn & 0xff200400) == 0xf8200400) /* ldraa, ldrab, which may change the base */
		overwrite(d, at, bit_of(rt) | (insn >> 11 & 1) << base);
	else if ((insn & 0x3b000000) == 0x18000000) /* of a literal */
		overwrite(d, at, vector ? 0 : bit_of(rt));
	else if ((insn & 0xbfa07c00) == 0x08207c00) /* casp */
		overwrite(d, at, bit_of(status) | bit_of((status + 1) & 31));
	else if (IS_EXCLUSIVE(insn)) /* loads of one or two, and stores that say whether they did */
		overwrite(d, at, bit_of(rt) | bit_of(INSN_REG(insn, 10)) | bit_of(status));
	/* vector structures */
	else if ((insn & 0xbf000000) == 0x0c000000 || (insn & 0xbf000000) == 0x0d000000)
		overwrite(d, at, (insn >> 23 & 1) << base);
	/* memory tags; the two modes that change the base have bit 10 */
	else if ((insn & 0x3f200000) == 0x19200000)
		overwrite(d, at, bit_of(rt) | (insn >> 10 & 1) << base);
	/* copies and fills, or loads of tags, unscaled ones of others */
	else if ((insn & 0x3b000000) == 0x19000000)
		overwrite(d, at, bit_of(rt) | bit_of(status) | (insn >> 10 & 3 ? 1u << base : 0));
	else /* by a register, or atomic */
		overwrite(d, at, vector ? 0 : bit_of(rt));
}

/* ---- computations ---- */

static void decode_immediate(struct decoder *d, uint32_t insn, uint32_t at)
{
	uint32_t rd = INSN_REG(insn, 0), rn = INSN_REG(insn, 5);
	bool is_64 = insn >> 31, flags = insn >> 29 & 1, may_be_sp;

	if ((insn & 0x1f800000) == 0x11000000) { /* add, sub */
		int64_t immediate = (int64_t)(insn >> 10 & 0xfff) << (insn >> 22 & 1 ? 12 : 0);

		if (is_64 && !(flags && rd == ZR))
			add_move(d, at, INSN_SET, rd, rn, insn >> 30 & 1 ? -immediate : immediate);
		else
			overwrite(d, at, flags ? bit_of(rd) : 1u << rd);
		return;
	}
	/* `and` and its kin without flags, and addg */
	may_be_sp = ((insn & 0x1f800000) == 0x12000000 && (insn >> 29 & 3) != 3) ||
		    (insn & 0x1f800000) == 0x11800000;
	overwrite(d, at, may_be_sp ? 1u << rd : bit_of(rd));
}

static void decode_registers(struct decoder *d, uint32_t insn, uint32_t at)
{
	uint32_t rd = INSN_REG(insn, 0), rm = INSN_REG(insn, 16);

	/* add, sub sp, sp, xm */
	if ((insn & 0xbfe0ffff) == 0x8b2063ff && d->known >> rm & 1 && d->values[rm] <= INT32_MAX)
		add_move(d, at, INSN_SET, EH_SP, EH_SP,
			 insn >> 30 & 1 ? -(int64_t)d->values[rm] : (int64_t)d->values[rm]);
	else if ((insn & 0xffe0ffe0) == 0xaa0003e0 && rd != ZR) /* mov: orr xd, xzr, xm */
		add_move(d, at, INSN_SET, rd, rm == ZR ? NO_REG : rm, 0);
	/* add, sub of an extended register: sp is one */
	else if ((insn & 0x3fe00000) == 0x0b200000)
		overwrite(d, at, 1u << rd);
	else
		overwrite(d, at, bit_of(rd));
}

static void decode_insn(struct decoder *d, uint32_t insn, uint32_t at)
{
	if (decode_control(d, insn, at))
		return;
	if ((insn & 0x1c000000) == 0x10000000)
		decode_immediate(d, insn, at);
	else if ((insn & 0x0e000000) == 0x0a000000)
		decode_registers(d, insn, at);
	else if ((insn & 0x0a000000) == 0x08000000)
		decode_memory(d, insn, at);
	/* mrs, sysl */
	else if ((insn & 0xffb00000) == 0xd5300000 || (insn & 0xfff80000) == 0xd5280000)
		overwrite(d, at, bit_of(INSN_REG(insn, 0)));
	/* vectors: the destination may be a general register */
	else if ((insn & 0x0e000000) == 0x0e000000)
		overwrite(d, at, bit_of(INSN_REG(insn, 0)));
	else if ((insn & 0x1e000000) == 0x04000000) /* SVE: addvl and addpl change sp */
		overwrite(d, at, 1u << INSN_REG(insn, 0));
	else if ((insn & 0xff000000) == 0xd5000000) /* barriers, msr */
		overwrite(d, at, 0);
	else
		add(d, at, INSN_STOP);
}

/*
 * What is known of constants behind the instruction, whose effects are those from `first` on:
 * nothing behind a jump or a call.
 */
static void note_constants(struct decoder *d, uint32_t insn, size_t first)
{
	uint32_t rd = INSN_REG(insn, 0), shift = insn >> 21 & 3;
	uint64_t part = (uint64_t)(insn >> 5 & 0xffff) << 16 * shift;

	if ((insn & 0x7f800000) == 0x52800000 && rd != ZR) { /* movz */
		d->values[rd] = part;
		d->known |= 1u << rd;
		return;
	}
	if ((insn & 0xff800000) == 0xf2800000 && d->known >> rd & 1) { /* movk */
		d->values[rd] = (d->values[rd] & ~(0xffffULL << 16 * shift)) | part;
		return;
	}
	for (size_t i = first; i < d->code->nr; i++) {
		const struct insn *effect = &d->code->insns[i];

		d->known &= ~effect->overwritten;
		if (insn_sets_reg(effect) && effect->reg < EH_NR_REGS)
			d->known &= ~(1u << effect->reg);
		if (effect->effect != INSN_OTHER && effect->effect < INSN_ADD)
			d->known = 0;
	}
}

int machine_decode(struct code *c)
{
	struct decoder d = { .code = c };
	uint32_t at;

	for (at = 0; at + INSN_BYTES <= c->size && !d.error; at += INSN_BYTES) {
		uint32_t insn = insn_at(c->bytes, c->size, at);
		size_t first = c->nr;

		decode_insn(&d, insn, at);
		note_constants(&d, insn, first);
	}
	if (at < c->size && !d.error)
		add(&d, at, INSN_STOP);
	return d.error;
}
