// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules worked out from code whose stack is known by reading it; the program has no CFI for it, nor
 * is it ever run.
 */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "table/code_rules.h"
#include "table/machine.h"
#include "tables_abi.h"

__asm__(".text\n"
	".p2align 4\n"
	"begin:\n"
	/* pushes, a frame of 24 bytes, a loop, two ways out */
	"plain:	push %rbx\n"
	"p1:	push %r12\n"
	"p2:	sub $24, %rsp\n"
	"p3:	mov %rdi, %rbx\n"
	"p4:	cmp $7, %rbx\n"
	"	je 2f\n"
	"1:	call begin\n"
	"p5:	dec %r12\n"
	"	jnz 1b\n"
	"2:	lea 24(%rsp), %rsp\n"
	"p6:	pop %r12\n"
	"p7:	pop %rbx\n"
	"p8:	ret\n"
	"	.p2align 4\n"
	/* a realigned frame: the old stack pointer in rax, then in memory (x264's assembly) */
	"real:	push %r15\n"
	"r1:	mov %rsp, %rax\n"
	"r2:	sub $512, %rsp\n"
	"	and $-64, %rsp\n"
	"r3:	mov %rax, 256(%rsp)\n"
	"r4:	vpaddd %ymm1, %ymm2, %ymm3\n"
	"	mov 256(%rsp), %rsp\n"
	"r5:	pop %r15\n"
	"	ret\n"
	"	.p2align 4\n"
	/* a frame pointer, and a register that is moved to its place and not pushed */
	"framed: push %rbp\n"
	"f1:	mov %rsp, %rbp\n"
	"f2:	sub $64, %rsp\n"
	"f3:	mov %r13, -8(%rbp)\n"
	"f4:	sub %rdi, %rsp\n" /* as alloca() does */
	"f5:	xor %r13d, %r13d\n"
	"f6:	mov -8(%rbp), %r13\n"
	"f7:	leave\n"
	"f8:	ret\n"
	"	.p2align 4\n"
	/* a tail call; one way out of a switch */
	"tail:	sub $8, %rsp\n"
	"t1:	test %edi, %edi\n"
	"	jz 3f\n"
	/* a switch: no return is known on this way, but the frame is the same */
	"t4:	lea (%rdx,%rax,4), %rax\n"
	"	push %rbx\n"
	"t5:	jmp *%rax\n"
	"3:	add $8, %rsp\n"
	"t2:	jmp abort@plt\n"
	"	push %rbx\n"
	"t3:	pop %rbx\n"
	"	jmp *%rax\n"
	"	.p2align 4\n"
	/* nobody knows: two ways that disagree, a stack pointer from elsewhere, no way back */
	"odd:	test %edi, %edi\n"
	"	jz 4f\n"
	"o1:	push %rbx\n"
	"4:	nop\n"
	"	ret\n"
	"	.p2align 4\n"
	"	push %rbx\n"
	"o2:	mov (%rdi), %rsp\n" /* to another stack */
	"o3:	pop %rbx\n"
	"	ret\n"
	"o4:	hlt\n"
	"	.p2align 4\n"
	/* qhasm's: the frame's size, which aligns it, lies in it (libsodium) */
	"qh:	mov %rsp, %r11\n"
	"	and $31, %r11\n"
	"	add $512, %r11\n"
	"qh1:	sub %r11, %rsp\n"
	"qh2:	mov %r11, 416(%rsp)\n"
	"qh3:	mov %r12, 424(%rsp)\n"
	"qh4:	mov %rbp, 464(%rsp)\n"
	"qh5:	xor %ebp, %ebp\n"
	"	test %edi, %edi\n"
	"	jz 9f\n"
	"	call helper\n"
	"qh6:	nop\n"
	"9:	mov 416(%rsp), %r11\n"
	"qh7:	mov 424(%rsp), %r12\n"
	"	mov 464(%rsp), %rbp\n"
	"	add %r11, %rsp\n"
	"qh8:	xor %eax, %eax\n"
	"	ret\n"
	"	.p2align 4\n"
	"o10:	test %edi, %edi\n" /* the straight way pops more than the other one */
	"	jz 8f\n"
	"o11:	pop %rbx\n"
	"8:	ret\n"
	"	.p2align 4\n"
	"	mov %rdi, %rax\n"
	"	sub $40, %rsp\n"
	"o5:	call abort@plt\n"
	"	.p2align 4\n"
	/* this one begins as functions do */
	"	push %rbp\n"
	"n1:	push %r14\n"
	"	mov %rdi, %rbx\n"
	"n2:	test %edi, %edi\n"
	"	call abort@plt\n"
	"	.p2align 4\n"
	"next:	ret\n"
	"	.byte 0\n" /* fills up a section */
	"z1:	sub $8, %rsp\n"
	"	add $8, %rsp\n"
	"	ret\n"
	"o6:	mov $15, %rax\n"
	"	syscall\n"
	"	ret\n"
	"o8:	push %rbp\n" /* the same */
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"
	"helper: xor %eax, %eax\n"
	"	ret\n"
	"w1:	mov %rsp, %rcx\n" /* a helper that leaves rcx alone */
	"	and $-32, %rsp\n"
	"w2:	call helper\n"
	"w3:	mov %rcx, %rsp\n"
	"	ret\n"
	"o9:	mov %rsp, %r10\n" /* but this stays */
	"	and $-32, %rsp\n"
	"	mov %r10, %rsp\n"
	"	ret\n"
	"o7:	movl $0, (%rsp)\n" /* of no saved register */
	"	mov %rsi, 8(%rsp)\n"
	"	add $16, %rsp\n"
	"	ret\n"
	/*
	 * x265's hadamard functions: a helper is called without a frame, and the call ends at an
	 * aligned place
	 */
	"	.p2align 4\n"
	"frameless: .rept 11\n"
	"	nop\n"
	"	.endr\n"
	"	call helper\n"
	"c1:	mov $400, %ecx\n"
	"	call helper\n"
	"c2:	ret\n"
	/*
	 * perl's yylex: its last call is of a function that returns, for all that is seen, and the
	 * next one begins
	 */
	"	.p2align 4\n"
	"	push %rbx\n"
	"	test %edi, %edi\n"
	"	jz 5f\n"
	"	pop %rbx\n"
	"	ret\n"
	"5:	xor %ecx, %ecx\n"
	"c3:	call next\n"
	"	.p2align 4, 0x90\n"
	"	push %r13\n"
	"	pop %r13\n"
	"	ret\n"
	/*
	 * OpenBLAS's dgemm_kernel_HASWELL: sp is restored 5,500 instructions behind where it was
	 * kept
	 */
	"	.p2align 4\n"
	"far:	sub $0x60, %rsp\n"
	"	mov %rbx, (%rsp)\n"
	"	mov %rsp, %rbx\n"
	"	sub $0x7080, %rsp\n"
	"	and $-0x1000, %rsp\n"
	"g1:	.rept 5500\n"
	"	dec %rax\n"
	"	.endr\n"
	"g2:	mov %rbx, %rsp\n"
	"	mov (%rsp), %rbx\n"
	"	add $0x60, %rsp\n"
	"	ret\n"
	/*
	 * musl's __dls2b: the call is prepared before the epilogue; __libc_start_main and others:
	 * behind it
	 */
	"	.p2align 4\n"
	"	push %r12\n"
	"	push %rbp\n"
	"	sub $8, %rsp\n"
	"	add end(%rip), %rax\n"
	"t10:	add $8, %rsp\n"
	"	pop %rbp\n"
	"	pop %r12\n"
	"	jmp *%rax\n"
	"	.p2align 4\n"
	"	push %rbx\n"
	"t20:	pop %rbx\n"
	"	mov 8(%rdi), %rdx\n"
	"	mov %rsi, %rdi\n"
	"	jmp *%rdx\n"
	/* but no switch behind a call's arguments, nor a return address that was popped */
	"	.p2align 4\n"
	"	push %rbx\n"
	"	pop %rbx\n"
	"t30:	add %rdx, %rax\n"
	"	jmp *%rax\n"
	"	.p2align 4\n"
	"	push %rbx\n"
	"	pop %rcx\n"
	"t40:	pop %rbx\n"
	"	jmp *%rcx\n"
	"	.p2align 4\n"
	"	test %edi, %edi\n"
	"	sub $8, %rsp\n"
	"t50:	add $8, %rsp\n"
	"	jmp *-8(%rsp)\n"
	/* musl's wrapper_cmp(); but not what the code before leads to */
	"	.p2align 4\n"
	"alone:	jmp *%rdx\n"
	"	.p2align 4\n"
	"	call end\n"
	"	.p2align 4\n"
	"alone2:	jmp *%rdx\n"
	"	.p2align 4\n"
	"	test %edi, %edi\n"
	"	.p2align 4\n"
	"led:	jmp *%rdx\n"
	"	.p2align 4\n"
	/* musl's _Exit(): the kernel is left there where the process ends */
	"	.p2align 4\n"
	"quit:	movslq %edi, %rdi\n"
	"	mov $231, %eax\n"
	"	syscall\n"
	"q1:	mov $60, %edx\n"
	"6:	mov %rdx, %rax\n"
	"	syscall\n"
	"	jmp 6b\n"
	"	.p2align 4\n"
	"	push %rbx\n"
	"	call quit\n"
	/*
	 * Functions that begin with endbr64, as with -fcf-protection: musl's
	 * libc_start_main_stage2, which does not return; one that begins right behind such a call,
	 * and to which another one jumps (gdb's); one behind a call that, for all that is seen,
	 * returns
	 */
	"	.p2align 4\n"
	"m1:	endbr64\n"
	"m2:	push %r13\n"
	"	push %r12\n"
	"m3:	call *%rdi\n"
	"	call quit\n"
	"	.p2align 4\n"
	"	push %rbx\n"
	"	.rept 5\n"
	"	xor %eax, %eax\n"
	"	.endr\n"
	"	call quit\n"
	"m4:	endbr64\n"
	"	push %rbp\n"
	"m5:	call quit\n"
	"	.p2align 4\n"
	"	xor %edx, %edx\n"
	"	jmp m4\n"
	"	.p2align 4\n"
	"	push %rbx\n"
	"	test %edi, %edi\n"
	"	jz 7f\n"
	"	pop %rbx\n"
	"	ret\n"
	"7:	xor %ecx, %ecx\n"
	"m6:	xor %edx, %edx\n"
	"	call next\n"
	"m7:	endbr64\n"
	"	push %r13\n"
	"	pop %r13\n"
	"	ret\n"
	/* the unlikely blocks of two functions, which end in calls that do not return */
	"	.p2align 4\n"
	"	push %rbx\n"
	"	test %edi, %edi\n"
	"	jz u1\n"
	"	call quit\n"
	"	.p2align 4\n"
	"	push %rbx\n"
	"	sub $32, %rsp\n"
	"	test %edi, %edi\n"
	"	jz u2\n"
	"	call quit\n"
	"	.p2align 4\n"
	"u1:	call quit\n"
	"u2:	call quit\n"
	/* retpolines, as GCC makes them for returns, and clang for indirect jumps */
	"	.p2align 4\n"
	"8:	call v0\n"
	"1:	pause\n"
	"	lfence\n"
	"	jmp 1b\n"
	"v0:	lea 8(%rsp), %rsp\n"
	"v1:	ret\n"
	"	.p2align 4\n"
	"9:	call v2\n"
	"1:	pause\n"
	"	lfence\n"
	"	jmp 1b\n"
	"	.p2align 4\n"
	"v2:	mov %r11, (%rsp)\n"
	"v3:	ret\n"
	"	.p2align 4\n"
	"	push %rbx\n"
	"v4:	call 9b\n"
	"v5:	pop %rbx\n"
	"v6:	jmp 8b\n"
	/* Go's check of the stack's end, to which a function jumps back; it does not return */
	"	.p2align 4\n"
	"x1:	cmp 16(%r14), %rsp\n"
	"	jbe 3f\n"
	"	sub $24, %rsp\n"
	"x2:	call quit\n"
	"3:	call next\n"
	"x3:	jmp x1\n"
	"	.p2align 4\n"
	"x4:	lea -256(%rsp), %r12\n"
	"	cmp 16(%r14), %r12\n"
	"	jbe 3f\n"
	"	sub $24, %rsp\n"
	"x5:	call quit\n"
	"3:	call next\n"
	"	jmp x4\n"
	"end:\n");

extern const uint8_t begin[], plain[], p1[], p2[], p3[], p4[], p5[], p6[], p7[], p8[], real[], r1[],
	r2[], r3[], r4[], r5[], framed[], f1[], f2[], f3[], f4[], f5[], f6[], f7[], f8[], tail[],
	t1[], t2[], odd[], o1[], o2[], o3[], o4[], o5[], next[], o6[], o7[], o8[], o9[], o10[],
	o11[], z1[], t3[], t4[], t5[], n1[], n2[], w1[], w2[], w3[], end[], frameless[], c1[], c2[],
	c3[], far[], g1[], g2[], t10[], t20[], t30[], t40[], t50[], alone[], alone2[], led[],
	quit[], q1[], m1[], m2[], m3[], m4[], m5[], m6[], m7[], u1[], u2[], v0[], v1[], v2[], v3[],
	v4[], v5[], v6[], x1[], x2[], x3[], x4[], x5[], qh[], qh1[], qh2[], qh3[], qh4[], qh5[],
	qh6[], qh7[], qh8[];

static struct eh_rule rules[1 << 16];
static size_t filled;

static void emit(void *arg, size_t at, const struct eh_rule *rule)
{
	(void)arg;
	if (at < filled)
		check(!at, "places rise");
	for (size_t i = at; i < sizeof(rules) / sizeof(rules[0]); i++)
		rules[i] = *rule;
	filled = at;
}

static struct eh_rule at(const uint8_t *label)
{
	return rules[label - begin];
}

static bool is(const uint8_t *label, int kind, int reg, int offset)
{
	struct eh_rule r = at(label);

	return r.kind == kind && r.cfa_reg == reg && r.cfa_offset == offset &&
	       r.saved[SAVED_RA] == -1 && r.flags == RULE_FROM_CODE;
}

/*
 * as PCRE2's JIT writes it, which keeps its return addresses in registers and in words of its frame
 */
__asm__(".text\n"
	".p2align 4\n"
	"jit:	.quad 0\n"
	"	.quad 0xf0a0\n" /* its allocator's: `movabs` takes 9 bytes of what decodes here */
	"jit0:	push %rbx\n"
	"jit1:	push %rbp\n"
	"jit2:	sub $256, %rsp\n"
	"jit3:	call jit14\n"
	"jit4:	test %eax, %eax\n"
	"	jz 5f\n"
	"	jmp exit@plt\n" /* by whatever frame */
	"5:	movq $0, 128(%rsp)\n"
	"jit5:	add $256, %rsp\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"jit6:	ret\n"
	"jit7:	mov %rdi, %rax\n" /* nothing leads from here to a return */
	"	jmp exit@plt\n"
	"jit14:	pop (%rsp)\n"
	"jit8:	call jit15\n"
	"jit9:	mov (%rsp), %rcx\n"
	"	push %rcx\n"
	"jit10:	ret\n"
	"jit15:	pop %r8\n"
	"jit11:	cmp $1, %rax\n"
	"	je 8f\n"
	"	push %r8\n"
	"	ret\n"
	"8:	mov %rax, %rbx\n"
	"jit12:	push %r8\n"
	"jit13:	ret\n"
	"jit_end:\n"
	"fp:	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	pop %rbp\n"
	"	ret\n"
	"fp_end:\n");

extern const uint8_t jit[], jit0[], jit1[], jit2[], jit3[], jit4[], jit5[], jit6[], jit7[], jit8[],
	jit9[], jit10[], jit11[], jit12[], jit13[], jit14[], jit15[], jit_end[], fp[], fp_end[];

static bool is_in_jit(const uint8_t *label, int offset)
{
	struct eh_rule r = rules[label - jit];

	return r.kind == RULE_REG && r.cfa_reg == EH_RSP && r.cfa_offset == offset &&
	       r.saved[SAVED_RA] == -1;
}

static void test_generated(void)
{
	filled = 0;
	check(!code_rules_generated(jit, jit_end - jit, (uintptr_t)jit, emit, NULL));
	check(is_in_jit(jit0, 8) && is_in_jit(jit1, 16) && is_in_jit(jit2, 24) &&
		      is_in_jit(jit3, 280),
	      "from the first instruction on");
	check(rules[jit3 - jit].saved[SAVED_RBX] == -2 && rules[jit3 - jit].saved[SAVED_RBP] == -3);
	check(is_in_jit(jit4, 280) && is_in_jit(jit5, 280) && is_in_jit(jit6, 8));
	check(rules[jit7 - jit].kind == RULE_NONE, "a jump elsewhere is no tail call");
	check(is_in_jit(jit14, 288) && is_in_jit(jit8, 280) && is_in_jit(jit9, 280) &&
		      is_in_jit(jit10, 288),
	      "a piece has its caller's frame");
	check(is_in_jit(jit15, 288) && is_in_jit(jit11, 280) && is_in_jit(jit12, 280) &&
		      is_in_jit(jit13, 288),
	      "and so has a piece's piece");
	check(rules[jit12 - jit].saved[SAVED_RBX] == -2);

	check(code_rules_generated(fp, fp_end - fp, (uintptr_t)fp, emit, NULL) == -ENOTSUP);
}

static void test_padding(void)
{
	/* `data16 cs nopw 0x0(%rax,%rax,1)` and `xchg %ax,%ax`, as binutils fill up; zeros; int3 */
	static const uint8_t nops[] = { 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0,    0, 0,
					0,    0,    0x66, 0x90, 0x0f, 0x1f, 0x40, 0, 0x90 };
	static const uint8_t others[] = {
		0, 0, 0, 0xcc, 0xcc, 0x0f, 0x1f, 0, 0x0f, 0x1f, 0x44, 0, 0
	};
	/* Go's crosscall_amd64, 31 bytes between C functions */
	static const uint8_t crosscall[] = {
		0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x48,
		0x89, 0xfb, 0x48, 0x89, 0xd7, 0xff, 0xd6, 0xff, 0xd3, 0x41, 0x5f,
		0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3,
	};

	check(machine_is_padding(nops, sizeof(nops)) && machine_is_padding(others, sizeof(others)));
	check(!machine_is_padding(crosscall, sizeof(crosscall)) &&
	      !machine_is_padding(crosscall + 30, 1));
	check(machine_is_padding(nops, 3) == false && machine_is_padding(nops, 0));
}

int main(void)
{
	static uint8_t rets[] = { 0xc3, 0xc3, 0xc2, 8, 0, 0x53, 0xc2, 8, 0 };

	check(!code_rules(begin, end - begin, (uintptr_t)begin, emit, NULL));

	check(is(plain, RULE_REG, EH_RSP, 8) && at(plain).saved[SAVED_RBX] == SAVED_SAME);
	check(is(p1, RULE_REG, EH_RSP, 16) && at(p1).saved[SAVED_RBX] == -2 &&
	      at(p1).saved[SAVED_R12] == SAVED_SAME);
	check(is(p2, RULE_REG, EH_RSP, 24));
	check(is(p3, RULE_REG, EH_RSP, 48) && at(p3).saved[SAVED_RBX] == -2 &&
	      at(p3).saved[SAVED_R12] == -3);
	check(is(p4, RULE_REG, EH_RSP, 48) && at(p4).saved[SAVED_RBX] == -2);
	check(is(p5, RULE_REG, EH_RSP, 48) && at(p5).saved[SAVED_R12] == -3 &&
	      at(p5).saved[SAVED_RBP] == SAVED_SAME);
	check(is(p6, RULE_REG, EH_RSP, 24) && is(p7, RULE_REG, EH_RSP, 16) &&
	      at(p7).saved[SAVED_R12] == SAVED_SAME);
	check(is(p8, RULE_REG, EH_RSP, 8) && at(p8).saved[SAVED_RBX] == SAVED_SAME);

	check(is(real, RULE_REG, EH_RSP, 8) && is(r1, RULE_REG, EH_RSP, 16));
	check(is(r2, RULE_REG, 0, 16) && is(r3, RULE_REG, 0, 16) && at(r3).saved[SAVED_R15] == -2);
	check(is(r4, RULE_DEREF, EH_RSP, 16) && at(r4).deref_offset == 256 &&
	      at(r4).saved[SAVED_R15] == -2);
	check(is(r5, RULE_REG, EH_RSP, 16) && at(r5).saved[SAVED_R15] == -2);

	check(is(framed, RULE_REG, EH_RSP, 8) && is(f1, RULE_REG, EH_RSP, 16) &&
	      is(f2, RULE_REG, EH_RBP, 16));
	check(at(f2).saved[SAVED_RBP] == -2 && at(f3).saved[SAVED_R13] == SAVED_SAME &&
	      at(f4).saved[SAVED_R13] == -3);
	check(is(f5, RULE_REG, EH_RBP, 16) && at(f5).saved[SAVED_R13] == -3 &&
	      is(f6, RULE_REG, EH_RBP, 16));
	check(is(f7, RULE_REG, EH_RBP, 16) && at(f7).saved[SAVED_R13] == SAVED_SAME &&
	      is(f8, RULE_REG, EH_RSP, 8));

	check(is(tail, RULE_REG, EH_RSP, 8) && is(t1, RULE_REG, EH_RSP, 16) &&
	      is(t2, RULE_REG, EH_RSP, 8) && is(t3, RULE_REG, EH_RSP, 16));
	check(is(t4, RULE_REG, EH_RSP, 16) && is(t5, RULE_REG, EH_RSP, 24) &&
	      at(t5).saved[SAVED_RBX] == -3);

	check(at(odd).kind == RULE_NONE && at(o10).kind == RULE_NONE &&
	      is(o11, RULE_REG, EH_RSP, 16));
	check(is(qh, RULE_REG, EH_RSP, 8) && is(qh1, RULE_REG, EH_RSP, 8) &&
	      at(qh2).kind == RULE_NONE);
	check(is(qh3, RULE_SUM, EH_RSP, 8) && at(qh3).deref_offset == 416 &&
	      at(qh3).saved[SAVED_R12] == SAVED_SAME);
	check(is(qh4, RULE_SUM, EH_RSP, 8) && at(qh4).base_reg == EH_RSP &&
	      at(qh4).saved[SAVED_R12] == 53 && at(qh4).from_base == 1 << SAVED_R12 &&
	      at(qh4).saved[SAVED_RBP] == SAVED_SAME);
	check(is(qh6, RULE_SUM, EH_RSP, 8) && at(qh6).saved[SAVED_RBP] == 58 &&
	      at(qh5).saved[SAVED_RBP] == 58 && at(qh6).saved[SAVED_RBX] == SAVED_SAME);
	check(at(qh7).kind == RULE_NONE && is(qh8, RULE_REG, EH_RSP, 8));
	check(is(o2, RULE_REG, EH_RSP, 16) && is(o3, RULE_REG, EH_RSP, 16) &&
	      at(o4).kind == RULE_NONE);
	check(at(o5).kind == RULE_NONE && is(next, RULE_REG, EH_RSP, 8));
	check(is(w1, RULE_REG, EH_RSP, 8) && is(w2, RULE_REG, 2, 8) && is(w3, RULE_REG, 2, 8));
	check(is(n1, RULE_REG, EH_RSP, 16) && at(n1).saved[SAVED_RBP] == -2);
	check(is(n2, RULE_REG, EH_RSP, 24) && at(n2).saved[SAVED_R14] == -3 &&
	      at(n2).saved[SAVED_RBX] == SAVED_ODD);
	check(is(z1, RULE_REG, EH_RSP, 8));
	check(at(o6).kind == RULE_NONE);
	check(at(o8).kind == RULE_NONE && is(o9, RULE_REG, EH_RSP, 8));
	check(is(o7, RULE_REG, EH_RSP, 24) && at(o7).saved[SAVED_RBX] == SAVED_SAME);

	check(is(frameless, RULE_REG, EH_RSP, 8) && is(c1, RULE_REG, EH_RSP, 8) &&
	      is(c2, RULE_REG, EH_RSP, 8));
	check(is(c3, RULE_REG, EH_RSP, 16)); /* by the branch that leads there */
	check(is(far, RULE_REG, EH_RSP, 8) && is(g1, RULE_REG, EH_RBX, 0x68) &&
	      is(g2, RULE_REG, EH_RBX, 0x68));
	check(at(g1).saved[SAVED_RBX] == -0x68 / 8);
	check(is(t10, RULE_REG, EH_RSP, 32) && at(t10).saved[SAVED_R12] == -2 &&
	      is(t20, RULE_REG, EH_RSP, 16));
	check(at(t30).kind == RULE_NONE && at(t40).kind == RULE_NONE && at(t50).kind == RULE_NONE);
	check(is(alone, RULE_REG, EH_RSP, 8) && is(alone2, RULE_REG, EH_RSP, 8) &&
	      at(led).kind == RULE_NONE);
	check(is(quit, RULE_REG, EH_RSP, 8) && is(q1, RULE_REG, EH_RSP, 8));
	check(is(m1, RULE_REG, EH_RSP, 8) && is(m2, RULE_REG, EH_RSP, 8) &&
	      is(m3, RULE_REG, EH_RSP, 24));
	check(is(m4, RULE_REG, EH_RSP, 8) && is(m5, RULE_REG, EH_RSP, 16) &&
	      at(m5).saved[SAVED_RBP] == -2);
	check(is(m6, RULE_REG, EH_RSP, 16) && is(m7, RULE_REG, EH_RSP, 8));
	check(is(u1, RULE_REG, EH_RSP, 16) && is(u2, RULE_REG, EH_RSP, 48));
	check(is(v0, RULE_REG, EH_RSP, 16) && is(v1, RULE_REG, EH_RSP, 8));
	check(is(v2, RULE_REG, EH_RSP, 16) && is(v3, RULE_REG, EH_RSP, 16));
	check(is(v4, RULE_REG, EH_RSP, 16) && is(v5, RULE_REG, EH_RSP, 16) &&
	      is(v6, RULE_REG, EH_RSP, 8));
	check(is(x1, RULE_REG, EH_RSP, 8) && is(x2, RULE_REG, EH_RSP, 32) &&
	      is(x3, RULE_REG, EH_RSP, 8));
	check(is(x4, RULE_REG, EH_RSP, 8) && is(x5, RULE_REG, EH_RSP, 32));

	test_padding();
	test_generated();

	filled = 0; /* code that pops its callers' arguments */
	memset(rules, 0, sizeof(rules));
	check(!code_rules(rets, sizeof(rets), 0, emit, NULL) && rules[0].kind == RULE_NONE);
	return check_done();
}
