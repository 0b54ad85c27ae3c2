/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file's FDEs by their place in the file, and which of them applies to a byte.
 *
 * As in a search of .eh_frame_hdr (LSB core, 10.6.2), the FDE with the last start at or before a
 * byte applies, if it covers the byte. So an FDE applies up to its own end or to the start of the
 * next one, whichever is lower. After the end of an inner FDE no FDE applies, even if an outer one
 * covers the byte. Of several FDEs with one start, the first that was added applies. Compilers
 * describe a function in .eh_frame or in .debug_frame. An FDE of .debug_frame is left out if one of
 * .eh_frame covers its start.
 */
#ifndef EHPERF_TABLE_FDE_INDEX_H
#define EHPERF_TABLE_FDE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "dwarf/eh_frame.h"
#include "dwarf/elf_file.h"

/* one FDE's code */
struct fde_span {
	uint64_t start; /* offset in the file */
	uint32_t length;
	uint32_t class; /* of its CIE (cfi_states_class()), or SPAN_RULE, or GO_CLASS (go_rows.h) */
	const uint8_t *program; /* in the section */
	size_t program_bytes;
	uint64_t vaddr; /* of start */
};

/* its program is the struct eh_rule that holds in all of it */
#define SPAN_RULE UINT32_MAX

struct fde_index {
	struct fde_span *spans; /* in order of adding */
	size_t nr_spans, max_spans;
	/*
	 * spans from this one on are of .debug_frame, and yield to those before; 0: all are equal
	 */
	size_t nr_first;
	uint32_t *by_address; /* spans' numbers, one for each start, rising */
	size_t nr;
};

/*
 * Adds an FDE. 0, or -ENOMEM; -ERANGE where it covers no byte, or where no executable segment of
 * the file holds all of it.
 */
int fde_index_add(struct fde_index *index, const struct elf_file *file, const struct fde *fde,
		  uint32_t class);

/* Adds a span that is not an FDE's, and lies in the file. 0 or -ENOMEM */
int fde_index_add_span(struct fde_index *index, const struct fde_span *span);

/*
 * Fills by_address, once all are added. 0, -EOVERFLOW (they lie further apart than a table's pages
 * reach) or -ENOMEM
 */
int fde_index_sort(struct fde_index *index);
void fde_index_free(struct fde_index *index);

/* the i-th by address, and where the next one starts: UINT64_MAX after the last */
static inline const struct fde_span *fde_index_at(const struct fde_index *index, size_t i)
{
	return &index->spans[index->by_address[i]];
}

static inline uint64_t fde_index_start(const struct fde_index *index, size_t i)
{
	return i < index->nr ? fde_index_at(index, i)->start : UINT64_MAX;
}

/* the span that applies to this byte; NULL: none */
const struct fde_span *fde_index_covering(const struct fde_index *index, uint64_t file_offset);

/* the first byte from `start` on that an FDE covers, or `end` */
uint64_t fde_index_first_covered(const struct fde_index *index, uint64_t start, uint64_t end);

#endif
