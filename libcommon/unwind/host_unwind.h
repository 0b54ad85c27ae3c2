/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's walk (bpf/unwind_walk.bpf.h), run on this side: for raw samples, and for processes that are
 * stopped. It finds no Python frames, and does not mend return addresses that uretprobes have replaced: a
 * raw sample has the data for neither.
 */
#ifndef EHPERF_UNWIND_HOST_UNWIND_H
#define EHPERF_UNWIND_HOST_UNWIND_H

#include <stdbool.h>

#include "table/slabs.h"
#include "tables_abi.h"
#include "stacks_abi.h"

struct host_registers {
	uint64_t reg[EH_NR_REGS], ip;	/* by DWARF numbers */
	bool in_syscall, is_32bit;
};

struct host_memory {
	/* bytes of the process's data, and of its code: how many of these there were, from addr on */
	uint32_t (*read)(void *arg, void *to, uint32_t bytes, uint64_t addr);
	uint32_t (*read_text)(void *arg, void *to, uint32_t bytes, uint64_t addr);
	void *arg;
	bool methods;	/* record those that HotSpot interprets (hotspot_abi.h) */
};

struct host_stack {
	uint64_t id;
	enum end_reason end;
	uint32_t nr;
	uint64_t cfa;		/* of the leaf, if its caller was found */
	/* not 0: the walk needs a table of this module that is not made yet */
	uint32_t wants_table;
	uint64_t wants_rows;	/* not 0: it needs rows for this address, in a runtime's code */
	uint64_t frames[MAX_DEPTH + 1];	/* as in stacks_abi.h, leaf first */
};

/*
 * The seed of the hash that names stacks, an odd number, as the kernel's programs have it
 * (bpf/stack_hash.bpf.h)
 */
void host_unwind_seed(uint64_t seed);

/* by the mapping list at `process`, as mapping_list_write() left it */
void host_unwind(const struct slabs *slabs, loc_t process, const struct host_registers *registers,
		 struct host_memory memory, uint32_t max_depth, struct host_stack *stack);

#endif
