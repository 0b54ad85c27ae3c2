/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind rules for code whose compiler says how large its frame is and where it is entered, as
 * HotSpot's compilers do. The instructions are followed from the entries on. Code that is not
 * reached from there, such as exception handlers, has the complete frame.
 */
#ifndef EHPERF_RUNTIMES_JIT_RULES_H
#define EHPERF_RUNTIMES_JIT_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "table/code_rules.h"

#define MAX_JIT_ENTRIES 4

struct jit_code {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
	uint32_t frame_bytes; /* from sp to the CFA; 0: not said */
	/* from this offset on; UINT32_MAX: not said, but where other code is called */
	uint32_t complete;
	/*
	 * offsets of entries; if .complete is not known, they are used only if then all calls have
	 * the complete frame
	 */
	uint32_t nr_entries, entries[MAX_JIT_ENTRIES];
};

/*
 * Calls emit as code_rules() does. The rules restore the frame pointer, and no other register: the
 * code does not preserve them. 0, -ENOMEM; -EBADMSG with nothing emitted: the instructions say
 * something else than the compiler does
 */
int jit_rules(const struct jit_code *code, code_rule_fn *emit, void *arg);

#endif
