/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame instructions (DWARF 5, 6.4.2; GNU's in LSB core, 10.6; AArch64's in AADWARF64). One decoder
 * for all users: each has a constant table of callbacks and keeps just the state it needs, and the decoder
 * is inlined with the callbacks into it.
 */
#ifndef EHPERF_DWARF_CFI_H
#define EHPERF_DWARF_CFI_H

#include <dwarf.h>
#include <errno.h>

#include "dwarf/eh_frame.h"

enum cfi_where {
	CFI_OFFSET,	/* saved at CFA + offset */
	CFI_VAL_OFFSET,	/* is CFA + offset */
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_REGISTER,	/* in the register whose number is the offset */
};

struct cfi_ops {
	void (*advance)(void *state, uint64_t vaddr);	/* the current row ends at vaddr, which never falls */
	void (*cfa)(void *state, uint64_t reg, int64_t offset);
	void (*cfa_register)(void *state, uint64_t reg);
	void (*cfa_offset)(void *state, int64_t offset);
	void (*cfa_expression)(void *state, const uint8_t *bytes, size_t size);
	void (*saved)(void *state, uint64_t reg, enum cfi_where where, int64_t offset);
	/* the expression's value is where the register is saved, or (is_value) the register's value */
	void (*expression)(void *state, uint64_t reg, bool is_value, const uint8_t *bytes, size_t size);
	void (*restore)(void *state, uint64_t reg);	/* to its rule after the CIE's initial instructions */
	void (*remember)(void *state);
	void (*restore_state)(void *state);
	void (*toggle_ra_signing)(void *state);		/* DW_CFA_AARCH64_negate_ra_state */
};

#ifndef DW_CFA_AARCH64_negate_ra_state
#define DW_CFA_AARCH64_negate_ra_state 0x2d
#endif

/*
 * Runs a program that starts at vaddr. 0, or -EBADMSG where it does not decode; ops has been called for the
 * instructions before that. pc_bias as for eh_frame_pointer().
 */
static inline __attribute__((always_inline))
int cfi_run(const struct cie *cie, const uint8_t *program, size_t size, uint64_t vaddr, uint64_t pc_bias,
	    const struct cfi_ops *ops, void *state)
{
	struct cursor c = cursor_over(program, size);

	while (c.p < c.end) {
		uint8_t op = *c.p++;
		uint64_t reg, delta;
		const uint8_t *bytes;

		switch (op & 0xc0 ? op & 0xc0 : op) {
		case DW_CFA_advance_loc:
			delta = op & 0x3f;
			goto advance;
		case DW_CFA_offset:
			ops->saved(state, op & 0x3f, CFI_OFFSET, cursor_uleb128(&c) * cie->data_align);
			break;
		case DW_CFA_restore:
			ops->restore(state, op & 0x3f);
			break;
		case DW_CFA_nop:
			break;
		case DW_CFA_set_loc:
			delta = eh_frame_pointer(&c, cie->fde_encoding, pc_bias, 0);
			if (delta < vaddr)
				cursor_fail(&c);
			if (!c.bad)
				ops->advance(state, vaddr = delta);
			break;
		case DW_CFA_advance_loc1:
			delta = cursor_u8(&c);
			goto advance;
		case DW_CFA_advance_loc2:
			delta = cursor_u16(&c);
			goto advance;
		case DW_CFA_advance_loc4:
			delta = cursor_u32(&c);
			goto advance;
		case DW_CFA_MIPS_advance_loc8:
			delta = cursor_u64(&c);
advance:
			if (__builtin_mul_overflow(delta, cie->code_align, &delta) ||
			    __builtin_add_overflow(vaddr, delta, &vaddr))
				cursor_fail(&c);
			if (!c.bad)
				ops->advance(state, vaddr);
			break;
		case DW_CFA_offset_extended:
			reg = cursor_uleb128(&c);
			ops->saved(state, reg, CFI_OFFSET, cursor_uleb128(&c) * cie->data_align);
			break;
		case DW_CFA_restore_extended:
			ops->restore(state, cursor_uleb128(&c));
			break;
		case DW_CFA_undefined:
			ops->saved(state, cursor_uleb128(&c), CFI_UNDEFINED, 0);
			break;
		case DW_CFA_same_value:
			ops->saved(state, cursor_uleb128(&c), CFI_SAME, 0);
			break;
		case DW_CFA_register:
			reg = cursor_uleb128(&c);
			ops->saved(state, reg, CFI_REGISTER, cursor_uleb128(&c));
			break;
		case DW_CFA_remember_state:
			ops->remember(state);
			break;
		case DW_CFA_restore_state:
			ops->restore_state(state);
			break;
		case DW_CFA_def_cfa:
			reg = cursor_uleb128(&c);
			ops->cfa(state, reg, cursor_uleb128(&c));
			break;
		case DW_CFA_def_cfa_sf:
			reg = cursor_uleb128(&c);
			ops->cfa(state, reg, (uint64_t)cursor_sleb128(&c) * cie->data_align);
			break;
		case DW_CFA_def_cfa_register:
			ops->cfa_register(state, cursor_uleb128(&c));
			break;
		case DW_CFA_def_cfa_offset:
			ops->cfa_offset(state, cursor_uleb128(&c));
			break;
		case DW_CFA_def_cfa_offset_sf:
			ops->cfa_offset(state, (uint64_t)cursor_sleb128(&c) * cie->data_align);
			break;
		case DW_CFA_def_cfa_expression:
			delta = cursor_uleb128(&c);
			bytes = cursor_bytes(&c, delta);
			if (bytes)
				ops->cfa_expression(state, bytes, delta);
			break;
		case DW_CFA_expression:
		case DW_CFA_val_expression:
			reg = cursor_uleb128(&c);
			delta = cursor_uleb128(&c);
			bytes = cursor_bytes(&c, delta);
			if (bytes)
				ops->expression(state, reg, op == DW_CFA_val_expression, bytes, delta);
			break;
		case DW_CFA_offset_extended_sf:
			reg = cursor_uleb128(&c);
			ops->saved(state, reg, CFI_OFFSET, (uint64_t)cursor_sleb128(&c) * cie->data_align);
			break;
		case DW_CFA_val_offset:
			reg = cursor_uleb128(&c);
			ops->saved(state, reg, CFI_VAL_OFFSET, cursor_uleb128(&c) * cie->data_align);
			break;
		case DW_CFA_val_offset_sf:
			reg = cursor_uleb128(&c);
			ops->saved(state, reg, CFI_VAL_OFFSET, (uint64_t)cursor_sleb128(&c) * cie->data_align);
			break;
		case DW_CFA_GNU_args_size:
			cursor_uleb128(&c);
			break;
		case DW_CFA_GNU_negative_offset_extended:
			reg = cursor_uleb128(&c);
			ops->saved(state, reg, CFI_OFFSET, -(cursor_uleb128(&c) * cie->data_align));
			break;
		case DW_CFA_AARCH64_negate_ra_state:
			ops->toggle_ra_signing(state);
			break;
		default:
			return -EBADMSG;
		}
	}
	return c.bad ? -EBADMSG : 0;
}

/* The bytes of the instruction at p, which is below end; 0 where it is unknown or leads past end. */
static inline size_t cfi_op_bytes(const uint8_t *p, const uint8_t *end)
{
	struct cursor c = cursor_over(p + 1, end - p - 1);
	uint8_t op = *p;

	switch (op & 0xc0 ? op & 0xc0 : op) {
	case DW_CFA_advance_loc:
	case DW_CFA_restore:
	case DW_CFA_nop:
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
	case DW_CFA_AARCH64_negate_ra_state:
		return 1;
	case DW_CFA_advance_loc1:
		cursor_u8(&c);
		break;
	case DW_CFA_advance_loc2:
		cursor_u16(&c);
		break;
	case DW_CFA_advance_loc4:
		cursor_u32(&c);
		break;
	case DW_CFA_MIPS_advance_loc8:
		cursor_u64(&c);
		break;
	case DW_CFA_offset_extended:
	case DW_CFA_register:
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_GNU_negative_offset_extended:
		cursor_uleb128(&c);
		/* fall through */
	case DW_CFA_offset:
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_GNU_args_size:
		cursor_uleb128(&c);
		break;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		cursor_uleb128(&c);
		/* fall through */
	case DW_CFA_def_cfa_expression:
		cursor_bytes(&c, cursor_uleb128(&c));
		break;
	default:	/* unknown, or DW_CFA_set_loc, whose size the CIE says */
		return 0;
	}
	return c.bad ? 0 : c.p - p;
}

#endif
