// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frameless assembly without CFI that calls a helper of its own, like x265's hadamard functions.
 * The first call ends on a 16-byte boundary, where a compiler's next function would begin if the
 * call did not return. Runs for 3 s of CPU time.
 */
#include <time.h>

void outer(void);

asm(".text\n"
    ".p2align 4\n"
    "helper: mov $200, %ecx\n"
    "1:	imul %eax, %eax\n"
    "	dec %ecx\n"
    "	jnz 1b\n"
    "	ret\n"
    ".p2align 4\n"
    ".globl outer\n"
    "outer:\n"
    "	.rept 11\n"
    "	nop\n"
    "	.endr\n"
    "	call helper\n"
    "	mov $400, %ecx\n"
    "2:	imul %edx, %edx\n"
    "	dec %ecx\n"
    "	jnz 2b\n"
    "	call helper\n"
    "	ret\n");

int main(void)
{
	clock_t end = clock() + 3 * CLOCKS_PER_SEC;

	while (clock() < end)
		for (int i = 0; i < 1000; i++)
			outer();
	return 0;
}
