// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pure step, on stacks made by hand. Expected values follow from the rules' definition (DWARF
 * 5, 6.4).
 */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "walk/step.bpf.h"
#include "stacks_abi.h"
#include "tables_abi.h"

#define STACK 0x7fff0000ULL

static uint64_t stack[512]; /* at address STACK */

static struct eh_rule rule(int kind, int cfa_reg, int cfa_offset)
{
	struct eh_rule r = { .kind = kind, .cfa_reg = cfa_reg, .cfa_offset = cfa_offset };

	memset(r.saved, SAVED_SAME, sizeof(r.saved));
	r.saved[SAVED_RA] = -1;
	return r;
}

static struct frame_state frame(uint64_t rsp)
{
	struct frame_state f = { .known = KNOWN_ALL, .ip = 0x401000 };

	for (int i = 0; i < EH_NR_REGS; i++)
		f.reg[i] = 0x1111 * i;
	f.reg[EH_RSP] = rsp;
	return f;
}

/* the window the kernel would load at addr, of at most `size` bytes */
static void load(struct window *w, uint64_t addr, uint32_t size)
{
	w->base = addr;
	w->len = size;
	memcpy(w->bytes, (char *)stack + (addr - STACK), size);
}

/* steps with windows of at most window_bytes; the number of windows in *loads */
static int step(const struct eh_rule *r, struct frame_state *f, uint32_t window_bytes, int *loads)
{
	struct window w = {};
	__u64 need;
	int result;

	*loads = 0;
	while ((result = unwind_step(r, f, &w, &need)) == STEP_NEEDS_STACK && *loads < 20) {
		++*loads;
		load(&w, need, window_bytes);
	}
	return result;
}

int main(void)
{
	struct frame_state f;
	struct eh_rule r;
	int loads, result;

	for (int i = 0; i < 512; i++)
		stack[i] = 0xabc000 + i;

	/* a leaf: CFA = rsp + 8, RA at CFA - 8 */
	r = rule(RULE_REG, EH_RSP, 8);
	f = frame(STACK + 80);
	check(step(&r, &f, 1024, &loads) == STEP_OK && loads == 1);
	check(f.ip == 0xabc000 + 10 && f.reg[EH_RSP] == STACK + 88);
	check(f.reg[EH_RBX] == 0x1111 * 3 && f.reg[EH_RBP] == 0x1111 * 6);
	check(f.known == KNOWN_ALL, "what no rule mentions is what it was: %#x", f.known);

	/* a frame with every callee-saved register pushed, however small the windows are */
	for (uint32_t bytes = 8; bytes <= 1024; bytes *= 2) {
		r = rule(RULE_REG, EH_RSP, 128);
		for (int i = 0; i < SAVED_RA; i++)
			r.saved[i] = i - 7;
		f = frame(STACK + 160);
		result = step(&r, &f, bytes, &loads);
		check(result == STEP_OK, "windows of %u", bytes);
		check(f.ip == 0xabc000 + 35 && f.reg[EH_RSP] == STACK + 288, "windows of %u",
		      bytes);
		check(f.reg[EH_RBX] == 0xabc000 + 29 && f.reg[EH_RBP] == 0xabc000 + 30 &&
			      f.reg[15] == 0xabc000 + 34,
		      "windows of %u", bytes);
		check(loads <= 7 * 8 / (int)(bytes < 56 ? bytes : 56) + 1, "%d loads of %u", loads,
		      bytes);
	}

	/* the same saved in an order that does not rise */
	r = rule(RULE_REG, EH_RSP, 128);
	r.saved[SAVED_RBX] = -2;
	r.saved[SAVED_RBP] = -15;
	r.saved[SAVED_R15] = -9;
	f = frame(STACK);
	check(step(&r, &f, 8, &loads) == STEP_OK);
	check(f.reg[EH_RBX] == 0xabc000 + 14 && f.reg[EH_RBP] == 0xabc000 + 1 &&
	      f.reg[15] == 0xabc000 + 7 && f.ip == 0xabc000 + 15);

	/* PLT: two pushes after the index within the entry */
	r = rule(RULE_PLT, EH_RSP, 8);
	r.deref_offset = 11;
	f = frame(STACK);
	f.ip = 0x40100a;
	check(step(&r, &f, 1024, &loads) == STEP_OK && f.reg[EH_RSP] == STACK + 8);
	f = frame(STACK);
	f.ip = 0x40100b;
	check(step(&r, &f, 1024, &loads) == STEP_OK && f.reg[EH_RSP] == STACK + 16);

	/* CFA = *(rbp - 8): GCC's realigned frames, whose registers are saved from rbp on */
	r = rule(RULE_DEREF, EH_RBP, 0);
	r.deref_offset = -8;
	r.base_reg = EH_RBP;
	r.from_base = 1 << SAVED_RBX | 1 << SAVED_RBP;
	r.saved[SAVED_RBX] = -3;
	r.saved[SAVED_RBP] = 0;
	f = frame(STACK + 16);
	f.reg[EH_RBP] = STACK + 400;
	stack[49] = STACK + 480;
	check(step(&r, &f, 1024, &loads) == STEP_OK && f.reg[EH_RSP] == STACK + 480);
	check(f.reg[EH_RBX] == 0xabc000 + 47 && f.reg[EH_RBP] == 0xabc000 + 50 &&
	      f.ip == 0xabc000 + 59);
	stack[49] = 0xabc000 + 49;

	/* CFA = rsp + *(rsp + 64) + 8: libsodium's, with registers saved from rsp on */
	r = rule(RULE_SUM, EH_RSP, 8);
	r.deref_offset = 64;
	r.base_reg = EH_RSP;
	r.from_base = 1 << SAVED_RBP;
	r.saved[SAVED_RBP] = 9;
	f = frame(STACK + 16);
	stack[10] = 240;
	check(step(&r, &f, 1024, &loads) == STEP_OK && f.reg[EH_RSP] == STACK + 264);
	check(f.reg[EH_RBP] == 0xabc000 + 11 && f.ip == 0xabc000 + 32);
	f = frame(STACK + 16);
	stack[10] = -64;
	check(step(&r, &f, 1024, &loads) == END_NO_PROGRESS);
	stack[10] = 0xabc000 + 10;

	/*
	 * their epilogue: before pop %rbp, which lies at rsp, and behind it, where rbp is the
	 * caller's: a frame further up, or anything
	 */
	r = rule(RULE_REG, EH_R12 + 1, 0);
	r.base_reg = EH_RBP;
	r.from_base = 1 << SAVED_RBX | 1 << SAVED_RBP;
	r.saved[SAVED_RBX] = -3;
	r.saved[SAVED_RBP] = 0;
	r.saved[SAVED_R13] = -2;
	f = frame(STACK + 400);
	f.reg[EH_RBP] = STACK + 400;
	f.reg[EH_R12 + 1] = STACK + 480;
	check(step(&r, &f, 1024, &loads) == STEP_OK && f.reg[EH_RBP] == 0xabc000 + 50 &&
	      f.reg[EH_RBX] == 0xabc000 + 47);
	for (int i = 0; i < 3; i++) {
		uint64_t rbp = (uint64_t[]){ STACK + 480, STACK + 800, 7 }[i];

		f = frame(STACK + 408);
		f.reg[EH_RBP] = rbp;
		f.reg[EH_R12 + 1] = STACK + 480;
		check(step(&r, &f, 1024, &loads) == STEP_OK && f.reg[EH_RBP] == rbp &&
			      f.reg[EH_RBX] == 0x1111 * 3 && f.reg[EH_R12 + 1] == 0xabc000 + 58 &&
			      f.ip == 0xabc000 + 59,
		      "rbp %#lx", rbp);
	}

	/* any register may hold the CFA, if it is known */
	r = rule(RULE_REG, 10, 16);
	f = frame(STACK);
	f.reg[10] = STACK + 32;
	check(step(&r, &f, 1024, &loads) == STEP_OK && f.reg[EH_RSP] == STACK + 48);
	f = frame(STACK);
	f.known = KNOWN_CALLEE_SAVED | 1 << EH_RSP;
	check(step(&r, &f, 1024, &loads) == END_UNKNOWN_REGISTER);

	/* what ends a stack */
	r = rule(RULE_REG, EH_RSP, 8);
	r.saved[SAVED_RA] = SAVED_LOST;
	f = frame(STACK);
	check(step(&r, &f, 1024, &loads) == END_COMPLETE && loads == 0);
	r = (struct eh_rule){};
	check(step(&r, &f, 1024, &loads) == END_NO_ROW);
	r = rule(RULE_UNSUPPORTED, 0, 0);
	check(step(&r, &f, 1024, &loads) == END_UNSUPPORTED);
	r = rule(RULE_REG, EH_RSP, 0);
	f.by_call = 1;
	check(step(&r, &f, 1024, &loads) == END_NO_PROGRESS);
	r = rule(RULE_REG, EH_RBP, 16);
	f.reg[EH_RBP] = STACK - 4096;
	check(step(&r, &f, 1024, &loads) == END_NO_PROGRESS);
	r = rule(RULE_REG, 10, 16);
	f.reg[10] = STACK - 4096;
	check(step(&r, &f, 1024, &loads) == END_NO_PROGRESS);
	r = rule(RULE_REG, EH_RSP, 8);
	r.saved[SAVED_RA] = SAVED_ODD;
	check(step(&r, &f, 1024, &loads) == END_UNSUPPORTED);

	/*
	 * a leaf may have popped its return address, which is still there, below rsp; what has made
	 * a call has not
	 */
	r = rule(RULE_REG, EH_RSP, 0);
	f = frame(STACK + 80);
	check(step(&r, &f, 1024, &loads) == STEP_OK && f.ip == 0xabc000 + 9 &&
	      f.reg[EH_RSP] == STACK + 80);
	r = rule(RULE_REG, EH_RSP, -8);
	f = frame(STACK + 80);
	check(step(&r, &f, 1024, &loads) == END_NO_PROGRESS);

	/* OCaml 5 has called C on another stack, higher up, and has its own stack pointer in rbx */
	for (int i = 0; i < 2; i++) {
		r = rule(RULE_REG, i ? EH_R12 + 2 : EH_RBX, 8);
		f = frame(STACK + 800);
		f.by_call = 1;
		f.reg[r.cfa_reg] = STACK + 80;
		check(step(&r, &f, 1024, &loads) == STEP_OK && f.ip == 0xabc000 + 10 &&
		      f.reg[EH_RSP] == STACK + 88);
	}

	/* a lost register stays unknown until somebody saved it */
	r = rule(RULE_REG, EH_RSP, 8);
	r.saved[SAVED_RBX] = SAVED_LOST;
	f = frame(STACK);
	check(step(&r, &f, 1024, &loads) == STEP_OK && !(f.known & 1 << EH_RBX) &&
	      f.known & 1 << EH_RBP);
	r = rule(RULE_REG, EH_RSP, 8);
	check(step(&r, &f, 1024, &loads) == STEP_OK && !(f.known & 1 << EH_RBX));
	r.saved[SAVED_RBX] = -1;
	check(step(&r, &f, 1024, &loads) == STEP_OK && f.known & 1 << EH_RBX);
	return check_done();
}
