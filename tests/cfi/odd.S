/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .eh_frame written by hand: every encoding that a file can resolve, 64-bit lengths, FDEs unsorted,
 * overlapping, twice, of no bytes, and a terminator in the middle. To be linked with -nostdlib -no-pie -Ttext=0x1000.
 */
	.text
	.globl _start
_start:	.fill 0x400, 1, 0x90

	.macro cie name, encoding, bits=32
\name:
	.if \bits == 64
	.long 0xffffffff
	.quad 2f - 1f
1:	.quad 0
	.else
	.long 2f - 1f
1:	.long 0
	.endif
	.byte 1
	.string "zR"
	.uleb128 1
	.sleb128 -8
	.byte 16
	.uleb128 1
	.byte \encoding
	.byte 0x0c, 7, 8, 0x90, 1	/* CFA = rsp + 8, ra at CFA - 8 */
	.balign 8, 0
2:
	.endm

	/* start and length as the caller writes them between fde and program */
	.macro fde cie, bits=32
	.if \bits == 64
	.long 0xffffffff
	.quad 2f - 1f
1:	.quad 1b - \cie
	.else
	.long 2f - 1f
1:	.long 1b - \cie
	.endif
	.endm
	.macro program offset
	.uleb128 0
	.byte 0x41, 0x0e, \offset	/* after one byte, CFA = rsp + offset */
	.balign 8, 0
2:
	.endm

	.section .eh_frame, "a", @progbits
	cie absptr, 0x00
	fde absptr
	.quad _start + 0x100, 0x10
	program 16
	cie udata2, 0x02
	fde udata2
	.short 0x1110, 0x10
	program 24
	cie udata4, 0x03
	fde udata4
	.long _start + 0x120, 0x10
	program 32
	cie udata8, 0x04
	fde udata8
	.quad _start + 0x130, 0x10
	program 40
#ifdef ODDER	/* binutils' readelf reads LEB128 addresses and 64-bit entries wrongly: the test knows them */
	cie uleb, 0x01
	fde uleb
	.uleb128 0x1140
	.uleb128 0x10
	program 48
	cie sleb, 0x09
	fde sleb
	.sleb128 0x1150
	.sleb128 0x10
	program 56
#endif
	cie sdata2, 0x0a
	fde sdata2
	.short 0x1160, 0x10
	program 64
	cie sdata4, 0x0b
	fde sdata4
	.long _start + 0x170, 0x10
	program 72
	cie sdata8, 0x0c
	fde sdata8
	.quad _start + 0x180, 0x10
	program 80
	cie pcrel4, 0x1b
	fde pcrel4
	.long _start + 0x190 - ., 0x10
	program 88
	cie pcrel8, 0x1c
	fde pcrel8
	.quad _start + 0x1a0 - ., 0x10
	program 96
#ifdef ODDER
	cie wide, 0x1b, 64
	fde wide, 64
	.long _start + 0x1b0 - ., 0x10
	program 104
#endif
	fde pcrel4			/* one that comes before the others */
	.long _start + 0x20 - ., 0x20
	program 16
	fde pcrel4			/* the same again: the first one rules */
	.long _start + 0x20 - ., 0x20
	program 24
	fde pcrel4			/* into the middle of it */
	.long _start + 0x30 - ., 0x40
	program 32
	fde pcrel4			/* no bytes */
	.long _start + 0x38 - ., 0
	program 40
	.long 0				/* a terminator, and more after it */
	fde pcrel4
	.long _start + 0x200 - ., 0x10
	program 48
	.long 0
