/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A raw sample's registers and memory (records_abi.h), for the walk on the host. */
#ifndef EHPERF_UNWIND_RAW_STACK_H
#define EHPERF_UNWIND_RAW_STACK_H

#include "unwind/host_unwind.h"
#include "records_abi.h"

struct host_registers raw_stack_registers(const struct raw_record *raw);

/*
 * Data is the record's copy of the stack: what it lacks, other stacks too, is unreadable, as the process may
 * have written over it since. Code is for the caller to read (.read_text). The record must outlive the
 * result.
 */
struct host_memory raw_stack_memory(const struct raw_record *raw);

#endif
