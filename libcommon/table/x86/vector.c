// SPDX-License-Identifier: GPL-2.0-or-later
/* Encodings: Intel SDM vol. 2A, 2.1 to 2.3 and 2.7; opcodes: vol. 2D, tables. */
#include "vector.h"

#include <stdbool.h>

/* the mandatory prefixes that an opcode may have, as VEX's and EVEX's field pp counts them */
enum { NONE = 1 << 0, P66 = 1 << 1, F3 = 1 << 2, F2 = 1 << 3, ALL = NONE | P66 | F3 | F2 };
/*
 * without a prefix it is one of MMX, which VEX does not have; and an operand of 8 bits comes last
 */
enum { MMX = 1 << 4, IMM8 = 1 << 5 };

enum { MAP_0F = 1, MAP_0F38, MAP_0F3A, NR_MAPS };

static const uint8_t opcodes[NR_MAPS][256] = {
	[MAP_0F] = {
		[0x10 ... 0x11] = ALL,				/* movups, movupd, movss, movsd */
		[0x12] = F3 | F2, [0x16] = F3,			/* movsldup, movddup; movshdup */
		[0x14 ... 0x15] = NONE | P66,			/* unpck */
		[0x28 ... 0x29] = NONE | P66,			/* movaps, movapd */
		[0x51] = ALL, [0x54 ... 0x57] = NONE | P66,	/* sqrt; and, andn, or, xor */
		[0x58 ... 0x59] = ALL, [0x5c ... 0x5f] = ALL,	/* add, mul; sub, min, div, max */
		/* punpck, pack */
		[0x60 ... 0x63] = MMX | P66, [0x67 ... 0x6b] = MMX | P66, [0x6c ... 0x6d] = P66,
		[0x6f] = MMX | P66 | F3, [0x7f] = MMX | P66 | F3,	/* movq, movdqa, movdqu */
		[0x7c ... 0x7d] = P66 | F2, [0xd0] = P66 | F2,	/* hadd, hsub, addsub */
		[0xc6] = NONE | P66 | IMM8,			/* shuf */
		[0xd4 ... 0xd5] = MMX | P66, [0xdb ... 0xdf] = MMX | P66, [0xe4 ... 0xe5] = MMX | P66,
		/* integers */
		[0xeb ... 0xef] = MMX | P66, [0xf5 ... 0xf6] = MMX | P66, [0xf8 ... 0xfe] = MMX | P66,
	},
	[MAP_0F38] = {
		[0x18 ... 0x19] = P66, [0x58 ... 0x59] = P66,	/* broadcast */
		/* fmadd and the like */
		[0x96 ... 0x9f] = P66, [0xa6 ... 0xaf] = P66, [0xb6 ... 0xbf] = P66,
	},
	[MAP_0F3A] = {
		/* permil, perm2f128, blend, palignr */
		[0x04 ... 0x06] = P66 | IMM8, [0x0c ... 0x0f] = P66 | IMM8,
		[0x18 ... 0x19] = P66 | IMM8,			/* insertf128, extractf128 */
	},
};

struct prefix {
	uint8_t map, pp; /* map 0: none that is known */
	bool is_vex;
	size_t bytes; /* up to the opcode */
};

/* 66, f3 or f2, then REX, then 0f */
static struct prefix legacy_prefix(const uint8_t *code)
{
	static const uint8_t pp[256] = { [0x66] = 1, [0xf3] = 2, [0xf2] = 3 };
	struct prefix p = { .pp = pp[code[0]] };

	p.bytes = p.pp != 0;
	p.bytes += (code[p.bytes] & 0xf0) == 0x40;
	p.map = code[p.bytes++] == 0x0f ? MAP_0F : 0;
	return p;
}

static struct prefix prefix_of(const uint8_t *code)
{
	switch (code[0]) {
	case 0xc5:
		return (struct prefix){
			.map = MAP_0F, .pp = code[1] & 3, .is_vex = true, .bytes = 2
		};
	case 0xc4:
		return (struct prefix){
			.map = code[1] & 31, .pp = code[2] & 3, .is_vex = true, .bytes = 3
		};
	case 0x62:
		return (struct prefix){
			.map = code[1] & 15, .pp = code[2] & 3, .is_vex = true, .bytes = 4
		};
	default:
		return legacy_prefix(code);
	}
}

/* ModRM, SIB and displacement */
static size_t operand_bytes(const uint8_t *modrm)
{
	static const uint8_t displacement[4] = { 0, 1, 4, 0 };
	uint8_t mode = modrm[0] >> 6, rm = modrm[0] & 7;
	size_t sib = mode != 3 && rm == 4;

	if (mode == 0 && (sib ? modrm[1] & 7 : rm) == 5)
		return 1 + sib + 4;
	return 1 + sib + displacement[mode];
}

#define MAX_BYTES 16 /* an instruction has 15 at most */

size_t vector_bytes(const uint8_t *code, size_t size)
{
	struct prefix p;
	uint8_t opcode;

	if (size < MAX_BYTES)
		return 0;
	p = prefix_of(code);
	if (!p.map || p.map >= NR_MAPS)
		return 0;
	opcode = opcodes[p.map][code[p.bytes]];
	if (opcode & MMX && !p.is_vex)
		opcode |= NONE;
	if (!(opcode >> p.pp & 1) || (!p.is_vex && p.map != MAP_0F))
		return 0;
	return p.bytes + 1 + operand_bytes(code + p.bytes + 1) + (opcode & IMM8 ? 1 : 0);
}
