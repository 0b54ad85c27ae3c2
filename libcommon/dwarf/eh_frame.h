/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CIEs and FDEs of .eh_frame (LSB core, 10.6.1) and .debug_frame (DWARF 5, 6.4.1). */
#ifndef EHPERF_DWARF_EH_FRAME_H
#define EHPERF_DWARF_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/cursor.h"

struct cie {
	uint64_t offset; /* in the section; identifies it */
	uint64_t code_align;
	int64_t data_align;
	uint32_t ra_reg;
	uint8_t fde_encoding;        /* DW_EH_PE_* of the FDE's addresses */
	bool has_augmentation_bytes; /* 'z' */
	bool signal_frame;           /* 'S' */
	bool has_lsda;               /* 'L': exceptions may be caught in its FDEs' code */
	const uint8_t *program;      /* initial instructions */
	size_t program_bytes;
};

struct fde {
	uint64_t offset;        /* in the section */
	uint64_t start, length; /* vaddr and bytes of the code it covers */
	const struct cie *cie;  /* valid until the next eh_frame_next() */
	const uint8_t *program;
	size_t program_bytes;
};

/*
 * Why an FDE is missing from the exact rows (ehdump -r) or from the table, as far as those differ;
 * texts in eh_frame_skip_names[].
 */
enum eh_frame_skip {
	SKIP_BAD_ENTRY, /* it does not parse */
	SKIP_BAD_CIE,   /* its CIE does not parse or is of no known version */
	SKIP_TRUNCATED, /* the rest of the section: a length leads past its end */
	SKIP_EMPTY,     /* it covers no byte: missing from the table */
	SKIP_OUTSIDE,   /* not in one executable segment: missing from the table */
	/* instructions that do not decode: rows up to there; RULE_UNSUPPORTED after */
	SKIP_BAD_PROGRAM,
	NR_EH_FRAME_SKIPS
};
extern const char *const eh_frame_skip_names[NR_EH_FRAME_SKIPS];

struct eh_frame {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr; /* of bytes[0] */
	bool is_debug_frame;
	/* .debug_frame, which comes behind all of .eh_frame; NULL: none, or bytes is it */
	const uint8_t *debug_frame;
	size_t debug_frame_bytes;
	bool ends_at_terminator; /* where the size is not known; else a terminator is passed over */
	/* private */
	size_t at;
	struct cie cie;
	int cie_error;
	uint64_t last_cie;
	/* results */
	uint64_t nr_cies, nr_fdes, skipped[NR_EH_FRAME_SKIPS];
};

/* over bytes of a section at vaddr, which must outlive it */
struct eh_frame eh_frame_over(const uint8_t *bytes, size_t size, uint64_t vaddr);

/*
 * The next FDE in section order into *fde: true; false at the end. frame->is_debug_frame says of
 * which section it is. What does not parse is counted in skipped[] and passed over. A zero
 * terminator in the middle (crtend's) is passed over as well.
 */
bool eh_frame_next(struct eh_frame *frame, struct fde *fde);

/*
 * A pointer encoded as DW_EH_PE_* (LSB core, 10.5.1) says. pc_bias + the address of its first byte
 * in memory is its vaddr. A form that cannot be resolved in a file (indirect, textrel, funcrel)
 * fails c.
 */
uint64_t eh_frame_pointer(struct cursor *c, uint8_t encoding, uint64_t pc_bias, uint64_t data_base);

#endif
