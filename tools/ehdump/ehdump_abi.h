/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by ehdump --check and its BPF program. */
#ifndef EHPERF_EHDUMP_ABI_H
#define EHPERF_EHDUMP_ABI_H

#include "tables_abi.h"

struct eh_lookup {
	__u64 file_offset;
	struct eh_rule rule; /* the program's result */
};
_Static_assert(sizeof(struct eh_lookup) == 8 + sizeof(struct eh_rule), "lookup");
#define MAX_LOOKUPS (1 << 16)

/* the program's context */
struct eh_lookup_args {
	__u32 nr_lookups;
	loc_t module;
};

#endif
