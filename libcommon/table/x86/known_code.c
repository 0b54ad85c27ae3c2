// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/known_code.h"

#include <string.h>

#include "table/machine.h"

static struct eh_rule of_context(void);
static struct eh_rule of_saved_context(void);
static struct eh_rule of_left_context(void);
static struct eh_rule of_lisp_caller(void);
static struct eh_rule before_stg(void);
static struct eh_rule saving_for_stg(void);
static struct eh_rule in_stg(void);
static struct eh_rule after_stg(void);
static struct eh_rule at_entry(void);

const struct known_piece known_pieces[] = {
	{
		/* musl, src/thread/x86_64/clone.s: a thread's first frame, which ends the thread */
		"musl's __clone",
		{ { 0, known_outermost } },
		false,
		KNOWN_BYTES(0x31, 0xed,             /* xor %ebp, %ebp */
			    0x5f,                   /* pop %rdi */
			    0x41, 0xff, 0xd1,       /* call *%r9 */
			    0x89, 0xc7,             /* mov %eax, %edi */
			    0x31, 0xc0, 0xb0, 0x3c, /* xor %eax, %eax; mov $60, %al (exit) */
			    0x0f, 0x05, 0xf4)       /* syscall; hlt */
	},
	{
		/*
		 * musl, src/signal/x86_64/restore.s, and others' restorers: where a signal handler
		 * returns to
		 */
		"musl's __restore_rt",
		{ { 0, known_signal_frame } },
		true,
		KNOWN_BYTES(0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, /* mov $15, %rax (rt_sigreturn) */
			    0x0f, 0x05)                      /* syscall */
	},
	{
		/*
		 * Boost, libs/context/src/asm/make_x86_64_sysv_elf_gas.S: the root of a context's
		 * stack. The trampoline pushes the address of `finish`, where the context's
		 * function returns to.
		 */
		"make_fcontext's trampoline",
		{ { 0, known_outermost } },
		false,
		KNOWN_BYTES(0x55, 0xff, 0xe3, /* trampoline: push %rbp; jmp *%rbx */
			    0x48, 0x31, 0xff, /* finish: xor %rdi, %rdi */
			    0xe8, ANY_BYTE, ANY_BYTE, ANY_BYTE, ANY_BYTE, /* call _exit */
			    0xf4)                                         /* hlt */
	},
	{
		/*
		 * glibc, sysdeps/unix/sysv/linux/x86_64/__start_context.S: the root of
		 * makecontext()'s stacks. Its CFI says that it has a caller.
		 */
		"glibc's __start_context",
		{ { 0, known_outermost } },
		false,
		KNOWN_BYTES(0x48, 0x89, 0xdc,                             /* mov %rbx, %rsp */
			    0x48, 0x8b, 0x3c, 0x24,                       /* mov (%rsp), %rdi */
			    0x48, 0x85, 0xff, 0x74, 0x08,                 /* test %rdi, %rdi; je */
			    0xe8, ANY_BYTE, ANY_BYTE, ANY_BYTE, ANY_BYTE, /* call setcontext */
			    0x48, 0x89, 0xc7,                             /* mov %rax, %rdi */
			    0xe8, ANY_BYTE, ANY_BYTE, ANY_BYTE, ANY_BYTE, /* call exit */
			    0xf4)                                         /* hlt */
	},
	{
		/*
		 * Boost, libs/context/src/asm/jump_x86_64_sysv_elf_gas.S: it saves all that a call
		 * preserves in a frame on one stack, and restores it from the same kind of frame on
		 * the other. The caller is who had left that one.
		 */
		"jump_fcontext",
		{ { 5, of_context }, { 43, of_saved_context }, { 97, of_left_context } },
		false,
		KNOWN_BYTES(0x48, 0x8d, 0x64, 0x24, 0xc8,       /* lea -0x38(%rsp), %rsp */
			    0x0f, 0xae, 0x1c, 0x24,             /* stmxcsr (%rsp) */
			    0xd9, 0x7c, 0x24, 0x04,             /* fnstcw 4(%rsp) */
			    0x4c, 0x89, 0x64, 0x24, 0x08,       /* mov %r12, 8(%rsp) */
			    0x4c, 0x89, 0x6c, 0x24, 0x10,       /* mov %r13, 0x10(%rsp) */
			    0x4c, 0x89, 0x74, 0x24, 0x18,       /* mov %r14, 0x18(%rsp) */
			    0x4c, 0x89, 0x7c, 0x24, 0x20,       /* mov %r15, 0x20(%rsp) */
			    0x48, 0x89, 0x5c, 0x24, 0x28,       /* mov %rbx, 0x28(%rsp) */
			    0x48, 0x89, 0x6c, 0x24, 0x30,       /* mov %rbp, 0x30(%rsp) */
			    0x48, 0x89, 0xe0, 0x48, 0x89, 0xfc, /* mov %rsp, %rax; mov %rdi, %rsp */
			    0x4c, 0x8b, 0x44, 0x24, 0x38,       /* mov 0x38(%rsp), %r8 */
			    0x0f, 0xae, 0x14, 0x24,             /* ldmxcsr (%rsp) */
			    0xd9, 0x6c, 0x24, 0x04,             /* fldcw 4(%rsp) */
			    0x4c, 0x8b, 0x64, 0x24, 0x08,       /* mov 8(%rsp), %r12 */
			    0x4c, 0x8b, 0x6c, 0x24, 0x10,       /* mov 0x10(%rsp), %r13 */
			    0x4c, 0x8b, 0x74, 0x24, 0x18,       /* mov 0x18(%rsp), %r14 */
			    0x4c, 0x8b, 0x7c, 0x24, 0x20,       /* mov 0x20(%rsp), %r15 */
			    0x48, 0x8b, 0x5c, 0x24, 0x28,       /* mov 0x28(%rsp), %rbx */
			    0x48, 0x8b, 0x6c, 0x24, 0x30,       /* mov 0x30(%rsp), %rbp */
			    0x48, 0x8d, 0x64, 0x24, 0x40,       /* lea 0x40(%rsp), %rsp */
			    0x48, 0x89, 0xf2, 0x48, 0x89, 0xc7, /* mov %rsi, %rdx; mov %rax, %rdi */
			    0x41, 0xff, 0xe0)                   /* jmp *%r8 */
	},
	{
		/*
		 * SBCL, src/runtime/x86-64-assem.S, call_into_lisp: Lisp's functions leave rbp
		 * pointing to their caller's frame, and not as it was at the call, as the CFI has
		 * it.
		 */
		"call_into_lisp",
		{ { 1, of_lisp_caller }, { 21, at_entry } },
		false,
		KNOWN_BYTES(0xff, 0x50, 0xfd,             /* call *-3(%rax) */
			    0x73, 0x03, 0x48, 0x89, 0xdc, /* jae 1f; mov %rbx, %rsp; 1: */
			    0x41, 0x5f, 0x41, 0x5e,       /* pop %r15; pop %r14 */
			    0x41, 0x5d, 0x41, 0x5c, 0x5b, /* pop %r13; pop %r12; pop %rbx */
			    0x48, 0x89, 0xd0,             /* mov %rdx, %rax */
			    ANY_BYTE, 0xc3)               /* leave, or pop %rbp; ret */
	},
	{ /*
		 * the CFI is that of generated code, and is not right before and behind that; see
		 * known_stg_rule()
		 */
	  STG_RUN,
	  { { 4, before_stg },
	    { 14, saving_for_stg },
	    { 37, in_stg },
	    { 55, after_stg },
	    { 88, at_entry } },
	  false,
	  KNOWN_BYTES(0x48, 0x83, 0xec, 0x30,          /* sub $48, %rsp */
		      0x48, 0x89, 0xe0,                /* mov %rsp, %rax */
		      0x48, 0x81, 0xec, 0, 0x40, 0, 0, /* sub $16384, %rsp */
		      0x48, 0x89, 0x18,                /* mov %rbx, (%rax) */
		      0x48, 0x89, 0x68, 0x08,          /* mov %rbp, 8(%rax) */
		      0x4c, 0x89, 0x60, 0x10,          /* mov %r12, 16(%rax) */
		      0x4c, 0x89, 0x68, 0x18,          /* mov %r13, 24(%rax) */
		      0x4c, 0x89, 0x70, 0x20,          /* mov %r14, 32(%rax) */
		      0x4c, 0x89, 0x78, 0x28,          /* mov %r15, 40(%rax) */
		      0x49, 0x89, 0xf5,                /* mov %rsi, %r13 */
		      0x48, 0x89, 0xf8, 0xff, 0xe0,    /* mov %rdi, %rax; jmp *%rax */
		      0x48, 0x89, 0xd8,                /* StgReturn: mov %rbx, %rax */
		      0x48, 0x81, 0xc4, 0, 0x40, 0, 0, /* add $16384, %rsp */
		      0x48, 0x8b, 0x1c, 0x24,          /* mov (%rsp), %rbx */
		      0x48, 0x8b, 0x6c, 0x24, 0x08,    /* mov 8(%rsp), %rbp */
		      0x4c, 0x8b, 0x64, 0x24, 0x10,    /* mov 16(%rsp), %r12 */
		      0x4c, 0x8b, 0x6c, 0x24, 0x18,    /* mov 24(%rsp), %r13 */
		      0x4c, 0x8b, 0x74, 0x24, 0x20,    /* mov 32(%rsp), %r14 */
		      0x4c, 0x8b, 0x7c, 0x24, 0x28,    /* mov 40(%rsp), %r15 */
		      /* add $48, %rsp; ret; the C function's own ret */
		      0x48, 0x83, 0xc4, 0x30, 0xc3, 0xc3) },
	{},
};

const struct known_export known_exports[] = {
	{ "makecontext", "glibc's __start_context", true },
	{ "call_into_lisp_", "call_into_lisp", false },
	{},
};

/*
 * arch/x86/include/uapi/asm/sigcontext.h: 5 words of struct ucontext, then r8 … r15, rdi, rsi, rbp,
 * rbx, rdx, rax, rcx, rsp, rip
 */
struct eh_rule known_signal_frame(void)
{
	return (struct eh_rule){
		.kind = RULE_DEREF, .flags = RULE_SIGNAL,
		.cfa_reg = REG_SP, .base_reg = REG_SP, .deref_offset = (5 + 15) * 8,
		.from_base = (1 << NR_SAVED) - 1,
		.saved = {
			[SAVED_RBX] = 5 + 11, [SAVED_RBP] = 5 + 10, [SAVED_R12] = 5 + 4, [SAVED_R13] = 5 + 5,
			[SAVED_R14] = 5 + 6, [SAVED_R15] = 5 + 7, [SAVED_RA] = 5 + 16,
		},
	};
}

static struct eh_rule by_sp(int32_t cfa_offset)
{
	struct eh_rule rule = { .kind = RULE_REG, .cfa_reg = REG_SP, .cfa_offset = cfa_offset };

	memset(rule.saved, SAVED_SAME, sizeof(rule.saved));
	rule.saved[SAVED_RA] = RA_AT_ENTRY;
	return rule;
}

static struct eh_rule at_entry(void)
{
	return by_sp(CFA_AT_ENTRY);
}

/* jump_fcontext's frame has been made, and holds nothing yet; */
static struct eh_rule of_context(void)
{
	return by_sp(0x40);
}

static struct eh_rule of_saved_context(void)
{
	struct eh_rule rule = by_sp(0x40);

	for (int i = SAVED_R12; i <= SAVED_R15; i++)
		rule.saved[i] = -7 + (i - SAVED_R12);
	rule.saved[SAVED_RBX] = -3;
	rule.saved[SAVED_RBP] = -2;
	return rule;
}

/* it has been left, and the return address is in r8, and below rsp still */
static struct eh_rule of_left_context(void)
{
	return by_sp(0);
}

static struct eh_rule of_lisp_caller(void)
{
	return (struct eh_rule){
		.kind = RULE_REG, .cfa_reg = REG_FP, .cfa_offset = 16,
		.saved = {
			[SAVED_RBP] = -2, [SAVED_RBX] = -3, [SAVED_R12] = -4, [SAVED_R13] = -5, [SAVED_R14] = -6, [SAVED_R15] = -7,
			[SAVED_RA] = -1,
		},
	};
}

/*
 * GHC, rts/StgCRun.c: 48 bytes for registers, below them 16384 that generated code may use. StgRun
 * jumps there, and it comes back to StgReturn.
 */
#define STG_SAVED_BYTES (48 + CFA_AT_ENTRY)
#define STG_STACK_BYTES (16384 + STG_SAVED_BYTES)

static struct eh_rule stg_saved(int32_t cfa_offset)
{
	return (struct eh_rule){
		.kind = RULE_REG, .cfa_reg = REG_SP, .cfa_offset = cfa_offset,
		.saved = {
			[SAVED_RBX] = -7, [SAVED_RBP] = -6, [SAVED_R12] = -5, [SAVED_R13] = -4, [SAVED_R14] = -3, [SAVED_R15] = -2,
			[SAVED_RA] = RA_AT_ENTRY,
		},
	};
}

static struct eh_rule before_stg(void)
{
	return by_sp(STG_SAVED_BYTES);
}

static struct eh_rule saving_for_stg(void)
{
	return by_sp(STG_STACK_BYTES);
}

static struct eh_rule in_stg(void)
{
	return stg_saved(STG_STACK_BYTES);
}

static struct eh_rule after_stg(void)
{
	return stg_saved(STG_SAVED_BYTES);
}

struct eh_rule known_stg_rule(bool in_call)
{
	struct eh_rule rule = stg_saved(STG_STACK_BYTES + (in_call ? 8 : 0));

	rule.flags = RULE_FROM_CODE;
	return rule;
}

/* in which there is at least one function; 430 bytes have one */
#define STG_BYTES_OF_FUNCTION 16384

bool known_is_stg(const uint8_t *code, size_t size)
{
	/* jmp *0(%rbp): to the continuation on Haskell's stack */
	static const uint8_t jump[] = { 0xff, 0x65, 0 };
	const uint8_t *at = code, *end = code + size;
	size_t nr = 0;

	for (; (at = memmem(at, end - at, jump, sizeof(jump))); at++)
		nr++;
	return nr > size / STG_BYTES_OF_FUNCTION;
}

#define STG_PUSHES_BYTES 64 /* of a call whose arguments are pushed, and of its pushes */

/* sub or add $imm8, %rsp; NULL: there is none */
static const uint8_t *find_stack_change(const uint8_t *code, size_t bytes, uint8_t modrm)
{
	const uint8_t insn[] = { 0x48, 0x83, modrm }, *at = memmem(code, bytes, insn, sizeof(insn));

	return at && code + bytes - at > 3 ? at : NULL;
}

bool known_stg_next_call(const uint8_t *code, size_t size, size_t from, struct known_stg_call *call)
{
	const uint8_t *sub = find_stack_change(code + from, size - from, 0xec), *add;
	size_t to = sub ? (size_t)(sub - code) : size;

	add = find_stack_change(code + from, to - from, 0xc4);
	if (add) { /* of what was pushed */
		call->end = add + 4 - code;
		call->start =
			call->end < from + STG_PUSHES_BYTES ? from : call->end - STG_PUSHES_BYTES;
		call->by_8 = false;
		return true;
	}
	if (!sub)
		return false;
	call->start = to + 4;
	to = size - call->start < STG_CALL_BYTES ? size : call->start + STG_CALL_BYTES;
	add = find_stack_change(code + call->start, to - call->start, 0xc4);
	call->end = add ? (size_t)(add + 4 - code) : to;
	call->by_8 = add && sub[3] == 8 && add[3] == 8;
	return true;
}

const struct eh_rule known_return_thunk = {
	.kind = RULE_REG, .cfa_reg = REG_SP, .cfa_offset = CFA_AT_ENTRY,
	.saved = {
		[0 ... SAVED_R15] = SAVED_SAME, [SAVED_RA] = RA_AT_ENTRY,
	},
};

bool known_is_return_thunk_fde(uint64_t length, const uint8_t *program, size_t program_bytes)
{
	/*
	 * DW_CFA_advance_loc 12; DW_CFA_def_cfa_offset 16: no ordinary function of 18 bytes has
	 * that
	 */
	return length == RETURN_THUNK_BYTES && program_bytes >= 3 &&
	       !memcmp(program, "\x4c\x0e\x10", 3);
}

bool known_is_return_thunk(const uint8_t *code)
{
	static const uint8_t thunk[RETURN_THUNK_BYTES] = {
		0xe8, 7,    0,    0,    0,    /* call 2f */
		0xf3, 0x90, 0x0f, 0xae, 0xe8, /* 1: pause; lfence */
		0xeb, 0xf9,                   /* jmp 1b */
		0x48, 0x8d, 0x64, 0x24, 8,    /* 2: lea 8(%rsp), %rsp */
		0xc3,                         /* ret */
	};

	return !memcmp(code, thunk, sizeof(thunk));
}
