/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame instructions (DWARF 5, 6.4.2; GNU's in LSB core, 10.6; AArch64's in AADWARF64). All
 * users have the same decoder. Each user has a constant table of callbacks, and keeps only the
 * state that it needs. The decoder and the callbacks are inlined into the user.
 */
#ifndef EHPERF_DWARF_CFI_H
#define EHPERF_DWARF_CFI_H

#include <dwarf.h>
#include <errno.h>

#include "dwarf/eh_frame.h"

enum cfi_where {
	CFI_OFFSET,     /* saved at CFA + offset */
	CFI_VAL_OFFSET, /* is CFA + offset */
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_REGISTER, /* in the register whose number is the offset */
};

struct cfi_ops {
	/* the current row ends at vaddr; no later vaddr is lower */
	void (*advance)(void *state, uint64_t vaddr);
	void (*cfa)(void *state, uint64_t reg, int64_t offset);
	void (*cfa_register)(void *state, uint64_t reg);
	void (*cfa_offset)(void *state, int64_t offset);
	void (*cfa_expression)(void *state, const uint8_t *bytes, size_t size);
	void (*saved)(void *state, uint64_t reg, enum cfi_where where, int64_t offset);
	/*
	 * the expression's value is where the register is saved, or (is_value) the register's value
	 */
	void (*expression)(void *state, uint64_t reg, bool is_value, const uint8_t *bytes,
			   size_t size);
	/* to its rule after the CIE's initial instructions */
	void (*restore)(void *state, uint64_t reg);
	void (*remember)(void *state);
	void (*restore_state)(void *state);
	void (*toggle_ra_signing)(void *state); /* DW_CFA_AARCH64_negate_ra_state */
};

#ifndef DW_CFA_AARCH64_negate_ra_state
#define DW_CFA_AARCH64_negate_ra_state 0x2d
#endif

/* an instruction with its operands */
struct cfi_insn {
	/* enum DW_CFA_*; only the upper two bits, if these alone select the operation */
	uint8_t op;
	/* the register, if there is one; or what is added to the address, or the new address */
	uint64_t first;
	uint64_t second;      /* the operand after the register */
	const uint8_t *bytes; /* an expression */
	size_t size;
};

/*
 * Reads the next instruction; the cursor must have bytes left. encoding and pc_bias apply to the
 * address of DW_CFA_set_loc. false: the instruction is unknown, or goes past the end
 */
static inline bool cfi_decode(struct cursor *c, uint8_t encoding, uint64_t pc_bias,
			      struct cfi_insn *insn)
{
	uint8_t op = *c->p++;

	insn->op = op & 0xc0 ? op & 0xc0 : op;
	insn->first = op & 0x3f;
	switch (insn->op) {
	case DW_CFA_advance_loc:
	case DW_CFA_restore:
	case DW_CFA_nop:
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
	case DW_CFA_AARCH64_negate_ra_state:
		break;
	case DW_CFA_set_loc:
		insn->first = eh_frame_pointer(c, encoding, pc_bias, 0);
		break;
	case DW_CFA_advance_loc1:
		insn->first = cursor_u8(c);
		break;
	case DW_CFA_advance_loc2:
		insn->first = cursor_u16(c);
		break;
	case DW_CFA_advance_loc4:
		insn->first = cursor_u32(c);
		break;
	case DW_CFA_MIPS_advance_loc8:
		insn->first = cursor_u64(c);
		break;
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_def_cfa_register:
		insn->first = cursor_uleb128(c);
		break;
	case DW_CFA_offset_extended:
	case DW_CFA_register:
	case DW_CFA_def_cfa:
	case DW_CFA_val_offset:
	case DW_CFA_GNU_negative_offset_extended:
		insn->first = cursor_uleb128(c);
		/* fall through */
	case DW_CFA_offset:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_GNU_args_size:
		insn->second = cursor_uleb128(c);
		break;
	case DW_CFA_def_cfa_sf:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset_sf:
		insn->first = cursor_uleb128(c);
		/* fall through */
	case DW_CFA_def_cfa_offset_sf:
		insn->second = cursor_sleb128(c);
		break;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		insn->first = cursor_uleb128(c);
		/* fall through */
	case DW_CFA_def_cfa_expression:
		insn->size = cursor_uleb128(c);
		insn->bytes = cursor_bytes(c, insn->size);
		break;
	default:
		return false;
	}
	return !c->bad;
}

/*
 * Runs a program whose first row is at vaddr. 0, or -EBADMSG if an instruction does not decode; ops
 * was called for the instructions before it. pc_bias as for eh_frame_pointer().
 */
static inline __attribute__((always_inline)) int cfi_run(const struct cie *cie,
							 const uint8_t *program, size_t size,
							 uint64_t vaddr, uint64_t pc_bias,
							 const struct cfi_ops *ops, void *state)
{
	struct cursor c = cursor_over(program, size);
	uint64_t align = cie->data_align;
	struct cfi_insn i;

	while (c.p < c.end) {
		if (!cfi_decode(&c, cie->fde_encoding, pc_bias, &i))
			return -EBADMSG;
		switch (i.op) {
		case DW_CFA_set_loc:
			if (i.first < vaddr)
				return -EBADMSG;
			ops->advance(state, vaddr = i.first);
			break;
		case DW_CFA_advance_loc:
		case DW_CFA_advance_loc1:
		case DW_CFA_advance_loc2:
		case DW_CFA_advance_loc4:
		case DW_CFA_MIPS_advance_loc8:
			if (__builtin_mul_overflow(i.first, cie->code_align, &i.first) ||
			    __builtin_add_overflow(vaddr, i.first, &vaddr))
				return -EBADMSG;
			ops->advance(state, vaddr);
			break;
		case DW_CFA_offset:
		case DW_CFA_offset_extended:
		case DW_CFA_offset_extended_sf:
			ops->saved(state, i.first, CFI_OFFSET, i.second * align);
			break;
		case DW_CFA_GNU_negative_offset_extended:
			ops->saved(state, i.first, CFI_OFFSET, -(i.second * align));
			break;
		case DW_CFA_val_offset:
		case DW_CFA_val_offset_sf:
			ops->saved(state, i.first, CFI_VAL_OFFSET, i.second * align);
			break;
		case DW_CFA_undefined:
			ops->saved(state, i.first, CFI_UNDEFINED, 0);
			break;
		case DW_CFA_same_value:
			ops->saved(state, i.first, CFI_SAME, 0);
			break;
		case DW_CFA_register:
			ops->saved(state, i.first, CFI_REGISTER, i.second);
			break;
		case DW_CFA_restore:
		case DW_CFA_restore_extended:
			ops->restore(state, i.first);
			break;
		case DW_CFA_remember_state:
			ops->remember(state);
			break;
		case DW_CFA_restore_state:
			ops->restore_state(state);
			break;
		case DW_CFA_def_cfa:
			ops->cfa(state, i.first, i.second);
			break;
		case DW_CFA_def_cfa_sf:
			ops->cfa(state, i.first, i.second * align);
			break;
		case DW_CFA_def_cfa_register:
			ops->cfa_register(state, i.first);
			break;
		case DW_CFA_def_cfa_offset:
			ops->cfa_offset(state, i.second);
			break;
		case DW_CFA_def_cfa_offset_sf:
			ops->cfa_offset(state, i.second * align);
			break;
		case DW_CFA_def_cfa_expression:
			ops->cfa_expression(state, i.bytes, i.size);
			break;
		case DW_CFA_expression:
		case DW_CFA_val_expression:
			ops->expression(state, i.first, i.op == DW_CFA_val_expression, i.bytes,
					i.size);
			break;
		case DW_CFA_AARCH64_negate_ra_state:
			ops->toggle_ra_signing(state);
			break;
		}
	}
	return 0;
}

#endif
