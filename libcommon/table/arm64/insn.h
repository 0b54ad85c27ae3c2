/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A64 instructions, as far as tables ask for them (Arm ARM, C4.1). Each has 4 bytes. */
#ifndef EHPERF_TABLE_ARM64_INSN_H
#define EHPERF_TABLE_ARM64_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INSN_BYTES 4

#define INSN_NOP        0xd503201f
#define INSN_SVC        0xd4000001
#define IS_B(insn)      ((0xfc000000 & (insn)) == 0x14000000)
#define IS_BL(insn)     ((0xfc000000 & (insn)) == 0x94000000)
#define IS_B_COND(insn) ((0xff000000 & (insn)) == 0x54000000)
#define IS_CBZ(insn)    ((0x7e000000 & (insn)) == 0x34000000) /* cbz, cbnz */
#define IS_TBZ(insn)    ((0x7e000000 & (insn)) == 0x36000000) /* tbz, tbnz */
/* by a register, with or without its authentication */
#define IS_BR(insn)  ((0xfffffc1f & (insn)) == 0xd61f0000 || (0xfefff800 & (insn)) == 0xd61f0800)
#define IS_BLR(insn) ((0xfffffc1f & (insn)) == 0xd63f0000 || (0xfefff800 & (insn)) == 0xd63f0800)
#define IS_RET(insn) ((insn) == 0xd65f03c0 || (insn) == 0xd65f0bff || (insn) == 0xd65f0fff)
/* brk, udf */
#define IS_TRAP(insn) ((0xffe0001f & (insn)) == 0xd4200000 || (0xffff0000 & (insn)) == 0)
#define IS_ADR(insn)  ((0x9f000000 & (insn)) == 0x10000000)
#define IS_ADRP(insn) ((0x9f000000 & (insn)) == 0x90000000)
/* exclusive or ordered loads and stores, compare and swap */
#define IS_EXCLUSIVE(insn) ((0x3f000000 & (insn)) == 0x08000000)
/* ldxr, stxr and their kin: not ordered, nor casp */
#define IS_LDXR_OR_STXR(insn) \
	((0x3f800000 & (insn)) == 0x08000000 && (0x80200000 & (insn)) != 0x00200000)
#define IS_LDXR(insn) (IS_LDXR_OR_STXR(insn) && (insn) >> 22 & 1)

#define INSN_REG(insn, at) (31 & (insn) >> (at))

/* the instruction at code[at]; 0, which is udf, behind the end */
static inline uint32_t insn_at(const uint8_t *code, uint64_t size, uint64_t at)
{
	uint32_t insn = 0;

	if (at <= size && size - at >= INSN_BYTES)
		memcpy(&insn, code + at, sizeof(insn));
	return insn;
}

/* the `bits` of a signed number that begins at bit `at` */
static inline int64_t insn_signed(uint32_t insn, int at, int bits)
{
	return (int64_t)((uint64_t)insn << (64 - at - bits)) >> (64 - bits);
}

/* where a direct jump or call at vaddr leads */
static inline uint64_t insn_target(uint32_t insn, uint64_t vaddr)
{
	if (IS_B(insn) || IS_BL(insn))
		return vaddr + insn_signed(insn, 0, 26) * 4;
	return vaddr + (IS_TBZ(insn) ? insn_signed(insn, 5, 14) : insn_signed(insn, 5, 19)) * 4;
}

#endif
