# SPDX-License-Identifier: GPL-2.0-or-later
# spin(), whose DWARF goes round: a unit that imports itself, an abstract origin that leads to itself, and three that lead to each other
	.text
	.globl spin
	.type spin, @function
spin:
	.cfi_startproc
	mov $50000, %eax
.Linlined:
1:	dec %eax
	jnz 1b
.Linlined_end:
	ret
	.cfi_endproc
.Lend:
	.size spin, . - spin
	.section .debug_abbrev,"",@progbits
.Labbrev:
	.uleb128 1, 0x11; .byte 1; .uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0	# compile unit: name, low_pc, high_pc
	.uleb128 2, 0x2e; .byte 1; .uleb128 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0, 0	# subprogram: abstract_origin
	.uleb128 3, 0x1d; .byte 1; .uleb128 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0, 0	# inlined subroutine
	.uleb128 4, 0x3d; .byte 0; .uleb128 0x18, 0x13, 0, 0	# imported unit
	.uleb128 5, 0x2e; .byte 0; .uleb128 0x47, 0x13, 0, 0	# subprogram: specification
	.uleb128 0
	.section .debug_info,"",@progbits
.Lcu:
	.long .Linfo_end - .Lversion
.Lversion:
	.value 4
	.long .Labbrev
	.byte 8
.Lunit:
	.uleb128 1
	.string "cycle.c"
	.quad .text
	.long .Lend - spin
.Limport:
	.uleb128 4
	.long .Lunit - .Lcu
.Lfunction:
	.uleb128 2
	.long .Lcall - .Lcu
	.quad spin
	.long .Lend - spin
.Lcall:
	.uleb128 3
	.long .Lother - .Lcu
	.quad .Linlined
	.long .Linlined_end - .Linlined
.Lself:
	.uleb128 3
	.long .Lself - .Lcu
	.quad .Linlined
	.long .Linlined_end - .Linlined
	.byte 0, 0, 0
.Lother:
	.uleb128 5
	.long .Lfunction - .Lcu
	.byte 0
.Linfo_end:
	.section .note.GNU-stack,"",@progbits
