// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The compact table of arm64's .eh_frame, on whatever machine. The section is of
 * aarch64-linux-gnu-as and ld, with text at 0x1000; beside each place stands what readelf -wF and
 * llvm-dwarfdump say of it.
 */
#include <string.h>

#include "../check.h"
#include "table/known_code.h"
#include "table/machine.h"
#include "table/unwind_table.h"
#include "walk/step.bpf.h"

static const uint8_t section[] = {
	0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x7a, 0x52, 0x00, 0x04, 0x78, 0x1e,
	0x01, 0x1b, 0x0c, 0x1f, 0x00, 0x10, 0x00, 0x00, 0x00, 0x18, 0x00, 0x00, 0x00, 0xe4, 0xef,
	0xff, 0xff, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00, 0x00, 0x2c,
	0x00, 0x00, 0x00, 0xd8, 0xef, 0xff, 0xff, 0x28, 0x00, 0x00, 0x00, 0x00, 0x41, 0x2d, 0x41,
	0x0e, 0x30, 0x9d, 0x06, 0x9e, 0x05, 0x41, 0x0d, 0x1d, 0x41, 0x93, 0x04, 0x94, 0x03, 0x41,
	0x05, 0x48, 0x02, 0x41, 0x0a, 0x41, 0xd3, 0xd4, 0xdd, 0xde, 0x0c, 0x1f, 0x00, 0x41, 0x2d,
	0x41, 0x0b, 0x14, 0x00, 0x00, 0x00, 0x60, 0x00, 0x00, 0x00, 0xcc, 0xef, 0xff, 0xff, 0x0c,
	0x00, 0x00, 0x00, 0x00, 0x41, 0x09, 0x1e, 0x10, 0x41, 0x08, 0x1e, 0x10, 0x00, 0x00, 0x00,
	0x78, 0x00, 0x00, 0x00, 0xc0, 0xef, 0xff, 0xff, 0x04, 0x00, 0x00, 0x00, 0x00, 0x07, 0x1e,
	0x00, 0x1c, 0x00, 0x00, 0x00, 0x8c, 0x00, 0x00, 0x00, 0xb0, 0xef, 0xff, 0xff, 0x08, 0x00,
	0x00, 0x00, 0x00, 0x41, 0x0f, 0x09, 0x8f, 0x00, 0x11, 0x08, 0x92, 0x2e, 0x00, 0x1e, 0x22,
	0x9e, 0x01, 0x00, 0x1c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x7a, 0x52, 0x53,
	0x00, 0x04, 0x78, 0x1e, 0x01, 0x1b, 0x0c, 0x1f, 0x00, 0x0c, 0x1d, 0x00, 0x9d, 0x00, 0x11,
	0x1e, 0x7f, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x24, 0x00, 0x00, 0x00, 0x78, 0xef,
	0xff, 0xff, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00
};
#define SECTION    0x2000
#define TEXT       0x1000
#define TEXT_BYTES 0x4c

static struct unwind_table table;

static struct eh_rule at(uint64_t vaddr)
{
	return unwind_table_lookup(&table, vaddr);
}

static bool is_cfa(struct eh_rule r, int reg, int offset)
{
	return r.kind == RULE_REG && r.cfa_reg == reg && r.cfa_offset == offset;
}

/* Is the return address in this register? */
static bool returns_by(struct eh_rule r, int reg)
{
	if (reg == EH_X30)
		return r.saved[SAVED_RA] == SAVED_SAME && !(r.from_base >> SAVED_RA & 1);
	return r.saved[SAVED_RA] == SAVED_SAME && r.from_base >> SAVED_RA & 1 && r.base_reg == reg;
}

/* x29 and x30 as a frame's record, and x19 and x20 above it, or as they are */
static bool has_record(struct eh_rule r, bool saves_others)
{
	return r.saved[SAVED_X29] == -6 && r.saved[SAVED_RA] == -5 && !r.from_base &&
	       r.saved[SAVED_X19] == (saves_others ? -4 : SAVED_SAME) &&
	       r.saved[SAVED_X19 + 1] == (saves_others ? -3 : SAVED_SAME);
}

static void test_rows(void)
{
	struct eh_rule r;

	/* sp+0, nothing mentioned: a leaf */
	check(is_cfa(at(0x1000), EH_SP, 0) && returns_by(at(0x1000), EH_X30) &&
	      returns_by(at(0x1004), EH_X30));
	/* sp+0, behind paciasp, too: RA_SIGN_STATE is all that changes */
	check(is_cfa(at(0x1008), EH_SP, 0) && returns_by(at(0x100c), EH_X30));
	/* sp+48 x29=c-48 ra=c-40 */
	check(is_cfa(at(0x1010), EH_SP, 48) && has_record(at(0x1010), false));
	/* x29+48 x29=c-48 ra=c-40, then x19=c-32 x20=c-24; v8 is not followed */
	check(is_cfa(at(0x1014), EH_X29, 48) && has_record(at(0x1014), false));
	check(is_cfa(at(0x1018), EH_X29, 48) && has_record(at(0x1018), true) &&
	      has_record(at(0x1020), true));
	/* sp+0, all restored */
	r = at(0x1024);
	check(is_cfa(r, EH_SP, 0) && returns_by(r, EH_X30) && r.saved[SAVED_X29] == SAVED_SAME &&
	      returns_by(at(0x1028), EH_X30));
	check(is_cfa(at(0x102c), EH_X29, 48) && has_record(at(0x102c), true));
	/* ra in x16, and then in x30 again ("same") */
	check(returns_by(at(0x1030), EH_X30) && returns_by(at(0x1034), 16) &&
	      returns_by(at(0x1038), EH_X30));
	/* ra undefined: the outermost frame */
	check(at(0x103c).saved[SAVED_RA] == SAVED_LOST);
	/* an expression of the vector length */
	check(returns_by(at(0x1040), EH_X30) && at(0x1044).kind == RULE_UNSUPPORTED);
	/* a signal frame: x29+0 x29=c+0 ra=c+8 */
	r = at(0x1048);
	check(is_cfa(r, EH_X29, 0) && r.flags == RULE_SIGNAL && r.saved[SAVED_X29] == 0 &&
	      r.saved[SAVED_RA] == 1);
	check(at(0x104c).kind == RULE_NONE);
}

#define STACK 0x7fff0000ULL

/* a step from a frame at STACK whose x30 is known, or not */
static int step(uint64_t vaddr, bool knows_x30, bool by_call, struct frame_state *f)
{
	struct window window = { .base = STACK, .len = WINDOW_BYTES };
	struct eh_rule rule = at(vaddr);
	__u64 need;

	for (int i = 0; i < WINDOW_BYTES / 8; i++)
		memcpy(window.bytes + i * 8, &(__u64){ 0xabc000 + i }, 8);
	*f = (struct frame_state){ .known = KNOWN_ALL, .by_call = by_call, .ip = vaddr };
	for (int i = 0; i < EH_NR_REGS; i++)
		f->reg[i] = 0x1111 * i;
	f->reg[EH_SP] = f->reg[EH_X29] = STACK;
	if (!knows_x30)
		f->known &= ~(1u << EH_X30);
	return unwind_step(&rule, f, &window, &need);
}

static void test_steps(void)
{
	const uint64_t code = 0xaaaae0001234, is_signed = code | 0x7dULL << 48;
	struct eh_rule handler = known_signal_frame();
	struct window window = { .base = STACK, .len = WINDOW_BYTES };
	struct frame_state f;
	__u64 need;

	check(step(0x1000, true, false, &f) == STEP_OK && f.ip == 0x1111 * 30 &&
	      f.reg[EH_SP] == STACK);
	check(!(f.known & CALL_OVERWRITES),
	      "the caller has made a call: its x30 is its own address");
	check(step(0x1000, false, true, &f) == END_NO_PROGRESS,
	      "one leaf cannot have called another");
	check(step(0x101c, true, true, &f) == STEP_OK && f.ip == 0xabc000 + 1 &&
	      f.reg[EH_SP] == STACK + 48 && f.reg[EH_X29] == 0xabc000 &&
	      f.reg[EH_X19] == 0xabc000 + 2 && f.reg[20] == 0xabc000 + 3 &&
	      f.reg[21] == 0x1111 * 21);
	check(!(f.known & CALL_OVERWRITES));
	check(step(0x1034, false, false, &f) == STEP_OK && f.ip == 0x1111 * 16);
	check(step(0x103c, true, true, &f) == END_COMPLETE &&
	      step(0x1044, true, true, &f) == END_UNSUPPORTED);

	/*
	 * Behind a handler's frame, x30 and the address differ, and a leaf was interrupted perhaps.
	 */
	for (int i = 0; i < WINDOW_BYTES / 8; i++)
		memcpy(window.bytes + i * 8, &(__u64){ 0xabc000 + i }, 8);
	f = (struct frame_state){ .known = KNOWN_ALL & ~CALL_OVERWRITES, .by_call = true };
	f.reg[EH_SP] = STACK;
	check(unwind_step(&handler, &f, &window, &need) == STEP_OK);
	/* siginfo 128 bytes, mcontext at 176 in ucontext, behind fault_address: x0 … x30, sp, pc */
	check(f.reg[EH_X19] == 0xabc000 + 39 + 19 && f.reg[EH_X29] == 0xabc000 + 39 + 29 &&
	      f.reg[EH_X30] == 0xabc000 + 39 + 30 && f.reg[EH_SP] == 0xabc000 + 39 + 31 &&
	      f.ip == 0xabc000 + 39 + 32 && f.known & CALL_OVERWRITES);
	check(RETURN_ADDRESS(is_signed) == code && RETURN_ADDRESS(code) == code);
}

static void test_known_code(void)
{
	/* nop; mov x8, #139; svc #0 */
	static const uint8_t code[] = {
		0x1f, 0x20, 3, 0xd5, 0x68, 0x11, 0x80, 0xd2, 1, 0, 0, 0xd4
	};
	struct known_code piece;

	check(known_code_next(code, sizeof(code), 0, &piece) && piece.rows[0].at == 3 &&
		      piece.end == 12 && piece.rows[0].rule.flags == RULE_SIGNAL,
	      "a return address is looked up a byte before");
	check(!known_code_next(code, sizeof(code), 5, &piece));
}

/*
 * Behind generated code, x29 alone is known. At 0x1100 lies a frame of 64 bytes, which has stored
 * x29 and x30 at its lower end and x19 above them: so its CFA is 0x1140.
 */
static void test_record(void)
{
	static const uint64_t stack[8] = { 0x1200, 0x5000, 0x19 };
	struct window window = { .base = 0x1100, .len = sizeof(stack) };
	struct frame_state by_record = { .known = KNOWN_BY_FP, .by_call = true, .ip = TEXT }, f;
	struct eh_rule rule = { .kind = RULE_REG, .cfa_reg = REG_SP, .cfa_offset = 64 };
	__u64 need;

	memcpy(window.bytes, stack, sizeof(stack));
	memset(rule.saved, SAVED_SAME, sizeof(rule.saved));
	rule.saved[SAVED_FP] = -8;
	rule.saved[SAVED_RA] = -7;
	rule.saved[SAVED_X19] = -6;
	by_record.reg[REG_FP] = 0x1100;
	by_record.reg[REG_SP] = 0x10f0; /* behind the callee's record */
	f = by_record;
	check(unwind_step(&rule, &f, &window, &need) == STEP_OK && f.cfa == 0x1140 &&
	      f.ip == 0x5000 && f.reg[REG_FP] == 0x1200 && f.reg[REG_SP] == 0x1140 &&
	      f.reg[EH_X19] == 0x19);
	check(f.known == (1u << EH_X19 | 1u << REG_FP | 1u << REG_SP));
	f = by_record;
	rule.saved[SAVED_RA] = -5;
	check(unwind_step(&rule, &f, &window, &need) == END_UNKNOWN_REGISTER, "that is no record");
	rule.saved[SAVED_FP] = SAVED_SAME;
	rule.saved[SAVED_RA] = -7;
	check(unwind_step(&rule, &f, &window, &need) == END_UNKNOWN_REGISTER, "nor is that");
}

int main(void)
{
	struct elf_segment text = {
		.vaddr = TEXT, .file_offset = TEXT, .size = TEXT_BYTES, .executable = true
	};
	struct elf_file file = { .segments = &text, .nr_segments = 1 };
	struct eh_frame frame = eh_frame_over(section, sizeof(section), SECTION);

	check(!unwind_table_compile(&table, &file, &frame));
	for (int i = 0; i < NR_EH_FRAME_SKIPS; i++)
		check(!table.skipped[i], "%s", eh_frame_skip_names[i]);
	test_rows();
	test_steps();
	test_record();
	test_known_code();
	unwind_table_free(&table);
	return check_done();
}
