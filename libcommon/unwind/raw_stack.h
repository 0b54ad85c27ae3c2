/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A raw sample's registers and memory (records_abi.h), for the walk on the host. */
#ifndef EHPERF_UNWIND_RAW_STACK_H
#define EHPERF_UNWIND_RAW_STACK_H

#include "unwind/host_unwind.h"
#include "records_abi.h"

/* Was it taken inside execve()? The registers may still be the old image's. */
bool raw_stack_in_exec(const struct raw_record *raw);
struct host_registers raw_stack_registers(const struct raw_record *raw);

/*
 * Data is read from the record's copy of the stack. Other memory, and other stacks, are unreadable,
 * because the process may have changed them since. The caller sets .read_text to read code. The
 * record must outlive the result.
 */
struct host_memory raw_stack_memory(const struct raw_record *raw);

#endif
