// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * own-stack: fibers switched by hand for 3 s of CPU time, as coroutine libraries do it: the switch
 * saves the callee-saved registers and swaps the stack pointer, and a new stack holds the fiber's
 * function above a return address of 0. No CFI says how the function at the root is left: the 0
 * does.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE    __attribute__((noinline, noclone, noipa))
#define NR_FIBERS   8
#define STACK_WORDS 8192

void switch_stack(void **save, void *to);

asm(".text\n"
    ".p2align 4\n"
    ".globl switch_stack\n"
    ".type switch_stack, @function\n"
    "switch_stack:\n"
    "	.cfi_startproc\n"
    "	.irp reg, %rbp, %rbx, %r12, %r13, %r14, %r15\n"
    "	push \\reg; .cfi_adjust_cfa_offset 8\n"
    "	.endr\n"
    "	mov %rsp, (%rdi)\n"
    "	mov %rsi, %rsp\n"
    "	.irp reg, %r15, %r14, %r13, %r12, %rbx, %rbp\n"
    "	pop \\reg; .cfi_adjust_cfa_offset -8\n"
    "	.endr\n"
    "	ret\n"
    "	.cfi_endproc\n"
    ".size switch_stack, . - switch_stack\n");

static void *main_rsp, *fiber_rsp[NR_FIBERS];
static int current;
static volatile unsigned long sink;

NOINLINE unsigned long work(int depth)
{
	unsigned long sum = depth;

	for (int i = 0; i < 300; i++)
		sum = sum * 31 + i;
	if (depth)
		sum += work(depth - 1);
	sink += sum;
	return sum + 1;
}

NOINLINE static void fiber(void)
{
	for (;;) {
		work(5);
		switch_stack(&fiber_rsp[current], main_rsp);
	}
}

static void *new_stack(void)
{
	uint64_t *top = (uint64_t *)aligned_alloc(64, STACK_WORDS * 8) + STACK_WORDS;

	*--top = 0;
	*--top = 0;                /* the fiber's return address */
	*--top = (uintptr_t)fiber; /* the switch returns there */
	for (int i = 0; i < 6; i++)
		*--top = 0;
	return top;
}

int main(void)
{
	clock_t end = clock() + 3 * CLOCKS_PER_SEC;

	for (int i = 0; i < NR_FIBERS; i++)
		fiber_rsp[i] = new_stack();
	while (clock() < end)
		for (current = 0; current < NR_FIBERS; current++)
			switch_stack(&main_rsp, fiber_rsp[current]);
	return 0;
}
