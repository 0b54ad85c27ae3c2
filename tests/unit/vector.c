// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The lengths of instructions on vectors, as the assembler has them; and what is none, or writes a
 * general register.
 */
#include "check.h"
#include "vector.h"

struct instruction {
	const uint8_t *code;
	uint64_t bytes;
	const char *text;
};

/* each with 16 bytes behind it, and an entry of a list */
#define LIST(name, lines)                                                           \
	__asm__(".pushsection .rodata." #name ", \"aw\"\n.global " #name "\n" #name \
		":\n.popsection\n" lines ".pushsection .rodata." #name              \
		", \"aw\"\n.quad 0, 0, 0\n.popsection\n");                          \
	extern const struct instruction name[]
#define ONE(list, text)                                                           \
	".pushsection .text\n71: " text "\n72: .fill 16, 1, 0x90\n.popsection\n"  \
	".pushsection .rodata.str1.1, \"aMS\", @progbits, 1\n73: .string \"" text \
	"\"\n.popsection\n"                                                       \
	".pushsection .rodata." #list ", \"aw\"\n.quad 71b, 72b - 71b, 73b\n.popsection\n"

#define V(text) ONE(vectors, text)
/* clang-format off */
LIST(vectors,
     V("movddup 8(%rdi), %xmm1") V("mulpd %xmm8, %xmm3") V("addsubpd %xmm9, %xmm4")
     V("movaps %xmm0, 0x100(%rsp)") V("movsd %xmm0, (%r12,%r13,8)")
     V("movss 0x1234(,%rax,4), %xmm15") V("shufpd $1, %xmm1, %xmm2") V("pxor %xmm0, %xmm0")
     V("movdqu (%rip), %xmm3") V("paddd %mm0, %mm1") V("movups (%rbp), %xmm1")
     V("movups (%r13), %xmm1") V("vfmadd231pd %ymm1, %ymm2, %ymm3")
     V("vfmadd231ps 0x40(%rsi), %ymm0, %ymm15") V("vbroadcastsd 0x30(%rsp), %ymm0")
     V("vaddpd (%rbp,%r10), %ymm7, %ymm7") V("vmovups %ymm6, 0(%rbp)")
     V("vpermilps $0xb1, %ymm1, %ymm2") V("vextractf128 $1, %ymm1, %xmm2")
     V("vinsertf128 $1, (%rdi), %ymm1, %ymm2") V("vxorpd %xmm4, %xmm4, %xmm4")
     V("vmovdqu64 0x80(%rsi), %zmm17") V("vfmadd231pd 0x40(%rdi){1to8}, %zmm9, %zmm31")
     V("vaddps %zmm1, %zmm2, %zmm3{%k1}{z}") V("vmulpd {rn-sae}, %zmm1, %zmm2, %zmm3")
     V("vpaddd 0x12345(%rax,%rbx,2), %zmm1, %zmm30"));

#define O(text) ONE(others, text)
LIST(others,
     O("mov %rsp, %rax") O("push %r15") O("ret") O("call .") O("add $8, %rsp")
     O("nopw 0(%rax,%rax)") O("prefetcht0 (%rsi)") O("movd %xmm0, %eax") O("movq %xmm0, %rbp")
     O("vmovq %xmm0, %rsp") O("pmovmskb %xmm0, %ebx") O("vpmovmskb %ymm0, %ebx")
     O("movmskpd %xmm0, %eax") O("cvttsd2si %xmm0, %rbx") O("vcvtsd2si %xmm0, %ebp")
     O("vcvttsd2usi %xmm0, %rbp") O("pextrw $1, %xmm0, %ebx") O("vpextrq $1, %xmm0, %rbx")
     O("vextractps $1, %xmm0, %ebx") O("kmovq %k1, %rbx") O("andn %rax, %rbx, %rbp")
     O("mulx %rax, %rbx, %rbp") O("shlx %rax, %rbx, %rbp") O("rorx $1, %rbx, %rbp")
     O("bextr %rax, %rbx, %rbp") O("pdep %rax, %rbx, %rbp") O("blsr %rax, %rbx")
     O("popcnt %rax, %rbx") O("crc32q %rax, %rbx") O("movbe (%rax), %rbx") O("adcx %rax, %rbx")
     O("emms"));
/* clang-format on */

int main(void)
{
	static const uint8_t cut[16] = { 0xc5, 0xfc, 0x10, 0x07 }; /* vmovups (%rdi), %ymm0 */

	for (const struct instruction *i = vectors; i->code; i++)
		check(vector_bytes(i->code, 16) == i->bytes, "%s: %zu bytes", i->text,
		      vector_bytes(i->code, 16));
	for (const struct instruction *i = others; i->code; i++)
		check(!vector_bytes(i->code, 16), "%s", i->text);
	check(vector_bytes(cut, 16) == 4 && !vector_bytes(cut, 15) && !vector_bytes(cut, 0),
	      "no byte is read behind the end");
	return check_done();
}
