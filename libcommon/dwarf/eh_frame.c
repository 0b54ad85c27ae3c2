// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/eh_frame.h"

#include <dwarf.h>
#include <errno.h>

const char *const eh_frame_skip_names[NR_EH_FRAME_SKIPS] = {
	[SKIP_BAD_ENTRY] = "FDEs that do not parse",
	[SKIP_BAD_CIE] = "FDEs of a CIE that does not parse",
	[SKIP_TRUNCATED] = "entries longer than the section",
	[SKIP_EMPTY] = "FDEs of no bytes",
	[SKIP_OUTSIDE] = "FDEs outside the executable segments",
	[SKIP_BAD_PROGRAM] = "FDEs with instructions that do not decode",
};

#define NO_CIE UINT64_MAX
/*
 * Real ones have some 20. Each is run again when FDEs alternate between CIEs, so long ones could be
 * made to take for ever.
 */
#define MAX_CIE_BYTES 1024

struct eh_frame eh_frame_over(const uint8_t *bytes, size_t size, uint64_t vaddr)
{
	/* cie_error: an FDE's pointer may lead to NO_CIE, too */
	return (struct eh_frame){
		.bytes = bytes,
		.size = size,
		.vaddr = vaddr,
		.last_cie = NO_CIE,
		.cie_error = -EBADMSG,
	};
}

uint64_t eh_frame_pointer(struct cursor *c, uint8_t encoding, uint64_t pc_bias, uint64_t data_base)
{
	uint64_t at = pc_bias + (uintptr_t)c->p, value;

	if (encoding == DW_EH_PE_omit)
		return 0;
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = cursor_u64(c);
		break;
	case DW_EH_PE_uleb128:
		value = cursor_uleb128(c);
		break;
	case DW_EH_PE_sleb128:
		value = cursor_sleb128(c);
		break;
	case DW_EH_PE_udata2:
		value = cursor_u16(c);
		break;
	case DW_EH_PE_sdata2:
		value = (int16_t)cursor_u16(c);
		break;
	case DW_EH_PE_udata4:
		value = cursor_u32(c);
		break;
	case DW_EH_PE_sdata4:
		value = (int32_t)cursor_u32(c);
		break;
	default:
		cursor_fail(c);
		return 0;
	}
	switch (encoding & 0xf0) {
	case DW_EH_PE_absptr:
		return value;
	case DW_EH_PE_pcrel:
		return value + at;
	case DW_EH_PE_datarel:
		return value + data_base;
	default:
		cursor_fail(c);
		return 0;
	}
}

/* the length field: the entry's bytes after it, and whether offsets in it have 64 bits */
static inline struct cursor entry_at(const struct eh_frame *frame, uint64_t offset, bool *is_64)
{
	struct cursor c = { .p = frame->bytes, .end = frame->bytes + frame->size };
	uint64_t length;
	const uint8_t *bytes;

	cursor_bytes(&c, offset);
	length = cursor_u32(&c);
	*is_64 = __builtin_expect(length == 0xffffffff, 0);
	if (*is_64)
		length = cursor_u64(&c);
	bytes = cursor_bytes(&c, length);
	return (struct cursor){ .p = bytes, .end = bytes ? bytes + length : NULL, .bad = c.bad };
}

static int parse_augmentation(struct eh_frame *frame, struct cursor *c, const char *augmentation,
			      struct cie *cie)
{
	uint64_t pc_bias = frame->vaddr - (uintptr_t)frame->bytes;
	struct cursor extra;
	uint64_t size;

	if (!*augmentation)
		return 0;
	if (*augmentation != 'z')
		/* augmentation data of unknown length comes before the instructions */
		return -ENOTSUP;
	cie->has_augmentation_bytes = true;
	size = cursor_uleb128(c);
	extra.p = cursor_bytes(c, size);
	if (!extra.p)
		return -EBADMSG;
	extra = cursor_over(extra.p, size);
	while (*++augmentation) {
		switch (*augmentation) {
		case 'R':
			cie->fde_encoding = cursor_u8(&extra);
			break;
		case 'P': {
			uint8_t encoding = cursor_u8(&extra);

			/* only its size matters: an indirect pointer is as long as a direct one */
			eh_frame_pointer(&extra, encoding & 0x0f, pc_bias, 0);
			break;
		}
		case 'L':
			cie->has_lsda = true;
			cursor_u8(&extra);
			break;
		case 'S':
			cie->signal_frame = true;
			break;
		case 'B': /* aarch64: return addresses are signed with the B key */
		case 'G': /* aarch64: memory tagging of the stack */
			break;
		default: /* 'z' says how much to pass over */
			return extra.bad ? -EBADMSG : 0;
		}
	}
	return extra.bad ? -EBADMSG : 0;
}

/* the ID by which a CIE is known */
static uint64_t cie_id(const struct eh_frame *frame, bool is_64)
{
	if (!frame->is_debug_frame)
		return 0;
	return is_64 ? UINT64_MAX : UINT32_MAX;
}

static int parse_cie(struct eh_frame *frame, uint64_t offset, struct cie *cie)
{
	bool is_64;
	struct cursor c = entry_at(frame, offset, &is_64);
	uint64_t id = is_64 ? cursor_u64(&c) : cursor_u32(&c);
	uint8_t version = cursor_u8(&c);
	const char *augmentation = cursor_string(&c);
	int error;

	*cie = (struct cie){ .offset = offset, .fde_encoding = DW_EH_PE_absptr };
	if (c.bad || cursor_left(&c) > MAX_CIE_BYTES || id != cie_id(frame, is_64))
		return -EBADMSG;
	if (version != 1 && version != 3 && version != 4)
		return -ENOTSUP;
	if (version == 4 && (cursor_u8(&c) != 8 || cursor_u8(&c) != 0))
		return -ENOTSUP; /* other than 8-byte addresses without segments */
	cie->code_align = cursor_uleb128(&c);
	cie->data_align = cursor_sleb128(&c);
	cie->ra_reg = version == 1 ? cursor_u8(&c) : cursor_uleb128(&c);
	error = parse_augmentation(frame, &c, augmentation, cie);
	if (error)
		return error;
	cie->program = c.p;
	cie->program_bytes = cursor_left(&c);
	return c.bad ? -EBADMSG : 0;
}

static int find_cie(struct eh_frame *frame, uint64_t offset)
{
	if (offset != frame->last_cie) {
		frame->last_cie = offset;
		frame->cie_error = parse_cie(frame, offset, &frame->cie);
	}
	return frame->cie_error;
}

static int parse_fde(struct eh_frame *frame, struct cursor c, uint64_t cie_offset, struct fde *fde)
{
	uint64_t pc_bias = frame->vaddr - (uintptr_t)frame->bytes;

	if (find_cie(frame, cie_offset)) {
		frame->skipped[SKIP_BAD_CIE]++;
		return -EBADMSG;
	}
	fde->cie = &frame->cie;
	if (fde->cie->fde_encoding == (DW_EH_PE_pcrel | DW_EH_PE_sdata4) && cursor_left(&c) >= 9 &&
	    !c.p[8]) {
		/* nearly every FDE has this form: the same as below, but faster */
		fde->start = pc_bias + (uintptr_t)c.p + (int32_t)cursor_u32(&c);
		fde->length = (int32_t)cursor_u32(&c);
		c.p += fde->cie->has_augmentation_bytes;
		goto program;
	}
	fde->start = eh_frame_pointer(&c, fde->cie->fde_encoding, pc_bias, 0);
	fde->length = eh_frame_pointer(&c, fde->cie->fde_encoding & 0x0f, pc_bias, 0);
	if (fde->cie->has_augmentation_bytes)
		cursor_bytes(&c, cursor_uleb128(&c));
program:
	fde->program = c.p;
	fde->program_bytes = cursor_left(&c);
	if (c.bad || fde->start + fde->length < fde->start) {
		frame->skipped[SKIP_BAD_ENTRY]++;
		return -EBADMSG;
	}
	return 0;
}

/* false: there is none behind this section */
static bool go_on_in_debug_frame(struct eh_frame *frame)
{
	if (!frame->debug_frame)
		return false;
	frame->bytes = frame->debug_frame;
	frame->size = frame->debug_frame_bytes;
	frame->debug_frame = NULL;
	frame->vaddr = frame->at = 0;
	frame->is_debug_frame = true;
	frame->ends_at_terminator = false;
	frame->last_cie = NO_CIE;
	frame->cie_error = -EBADMSG;
	return true;
}

bool eh_frame_next(struct eh_frame *frame, struct fde *fde)
{
	while (frame->at + 4 <= frame->size || go_on_in_debug_frame(frame)) {
		uint64_t offset = frame->at, id_offset, id;
		bool is_64;
		struct cursor c = entry_at(frame, offset, &is_64);

		if (c.bad) {
			frame->skipped[SKIP_TRUNCATED]++;
			frame->at = frame->size;
			continue;
		}
		frame->at = c.end ? (size_t)(c.end - frame->bytes) : offset + 4;
		if (!cursor_left(&c)) { /* a terminator */
			if (frame->ends_at_terminator)
				frame->at = frame->size;
			continue;
		}
		id_offset = c.p - frame->bytes;
		id = is_64 ? cursor_u64(&c) : cursor_u32(&c);
		if (id == cie_id(frame, is_64)) {
			frame->nr_cies++;
			continue;
		}
		fde->offset = offset;
		if (c.bad) {
			frame->skipped[SKIP_BAD_ENTRY]++;
			continue;
		}
		/*
		 * .eh_frame counts back from the field itself, .debug_frame from the section's
		 * start
		 */
		if (parse_fde(frame, c, frame->is_debug_frame ? id : id_offset - id, fde))
			continue;
		frame->nr_fdes++;
		return true;
	}
	return false;
}
