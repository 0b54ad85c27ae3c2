/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's walk (bpf/walk/walk.bpf.h) in user space: for raw samples, and for processes that
 * are stopped. It neither finds Python frames nor restores return addresses that uretprobes have
 * replaced: a raw sample does not have the data.
 */
#ifndef EHPERF_UNWIND_HOST_UNWIND_H
#define EHPERF_UNWIND_HOST_UNWIND_H

#include <stdbool.h>

#include "table/slabs.h"
#include "tables_abi.h"
#include "stacks_abi.h"

struct host_registers {
	uint64_t reg[EH_NR_REGS], ip; /* by DWARF numbers */
	bool in_syscall, is_32bit;
};

struct host_memory {
	/*
	 * Read bytes of the process's data, or of its code, from addr on. Return the number of
	 * bytes that could be read
	 */
	uint32_t (*read)(void *arg, void *to, uint32_t bytes, uint64_t addr);
	uint32_t (*read_text)(void *arg, void *to, uint32_t bytes, uint64_t addr);
	void *arg;
	/*
	 * a runtime's .look()'s: .see() will name the functions of interpreted frames. 0: they are
	 * not recorded
	 */
	uint32_t functions_epoch;
};

struct host_stack {
	uint64_t id;
	enum end_reason end;
	uint32_t nr;
	uint64_t cfa; /* of the leaf, if its caller was found */
	/* not 0: the walk needs a table of this module, which is not made yet */
	uint32_t wants_table;
	uint64_t wants_rows; /* not 0: the walk needs rows for this address, in a runtime's code */
	/* not 0: the walk has ended at this address, in a region that may be read (regions.h) */
	uint64_t wants_region;
	uint64_t frames[MAX_DEPTH + 1]; /* as in stacks_abi.h, leaf first */
};

/*
 * Sets the seed of the hash that identifies stacks: the odd number that the kernel's programs use
 * (bpf/stack_hash.bpf.h)
 */
void host_unwind_seed(uint64_t seed);

/* Unwinds by the mapping list at `process`, which mapping_list_write() has written. */
void host_unwind(const struct slabs *slabs, loc_t process, const struct host_registers *registers,
		 struct host_memory memory, uint32_t max_depth, struct host_stack *stack);

#endif
