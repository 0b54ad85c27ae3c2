// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/known_code.h"

/* An instruction's bytes, the lowest first */
#define INSN(insn) (insn) & 255, (insn) >> 8 & 255, (insn) >> 16 & 255, (insn) >> 24 & 255

const struct known_piece known_pieces[] = {
	{
		/*
		 * arch/arm64/kernel/vdso/sigreturn.S, and musl, src/signal/aarch64/restore.s: where
		 * a signal handler returns to. Neither has CFI, so that unwinders look for these
		 * instructions.
		 */
		"the signal handlers' return",
		{ { 0, known_signal_frame } },
		true,
		KNOWN_BYTES(INSN(0xd2801168), /* mov x8, #139 (rt_sigreturn) */
			    INSN(0xd4000001)) /* svc #0 */
	},
	{},
};

const struct known_export known_exports[] = { {} };

/*
 * The kernel's struct rt_sigframe lies at sp: siginfo (16 words), struct ucontext, whose struct
 * sigcontext begins at its 22nd word with fault_address, then x0 … x30, sp, pc
 * (arch/arm64/include/uapi/asm/sigcontext.h).
 */
#define WORD_OF_X(number) (16 + 22 + 1 + (number))

struct eh_rule known_signal_frame(void)
{
	struct eh_rule rule = {
		.kind = RULE_DEREF,
		.flags = RULE_SIGNAL,
		.cfa_reg = REG_SP,
		.base_reg = REG_SP,
		.deref_offset = WORD_OF_X(EH_SP) * 8,
		.from_base = (1 << NR_SAVED) - 1,
		.saved = { [SAVED_RA] = WORD_OF_X(EH_SP + 1) },
	};

	for (int i = 0; i < SAVED_RA; i++)
		rule.saved[i] = WORD_OF_X(saved_reg(i));
	return rule;
}

/* GCC's thunk is of x86-64 alone. */
const struct eh_rule known_return_thunk = {};

bool known_is_return_thunk_fde(uint64_t length, const uint8_t *program, size_t program_bytes)
{
	(void)length, (void)program, (void)program_bytes;
	return false;
}

bool known_is_return_thunk(const uint8_t *code)
{
	(void)code;
	return false;
}

/* GHC's code is not known here. */
struct eh_rule known_stg_rule(bool in_call)
{
	(void)in_call;
	return (struct eh_rule){ .kind = RULE_NONE };
}

bool known_is_stg(const uint8_t *code, size_t size)
{
	(void)code, (void)size;
	return false;
}

bool known_stg_next_call(const uint8_t *code, size_t size, size_t from, struct known_stg_call *call)
{
	(void)code, (void)size, (void)from, (void)call;
	return false;
}
