/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs one FDE's program (DWARF 5, 6.4.3) and writes its rows. */
#ifndef EHPERF_TABLE_FDE_ROWS_H
#define EHPERF_TABLE_FDE_ROWS_H

#include "table/cfi_states.h"
#include "table/fde_index.h"
#include "table/row_writer.h"

/*
 * Writes the rows of the part of the FDE that applies: [span->start, end), offsets in the file. The whole program is decoded,
 * and its number of rows, as the standard counts them (one for each advance, and one at the end), is added to *nr_rows. false:
 * the program does not decode; RULE_UNSUPPORTED holds from that row up to `end`. pc_bias as for eh_frame_pointer().
 */
bool fde_rows_write(struct row_writer *w, struct cfi_states *states, const struct fde_span *span,
		    uint64_t end, uint64_t pc_bias, uint64_t *nr_rows);

#endif
