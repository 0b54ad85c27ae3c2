/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types shared by tools that measure off-CPU periods and their BPF programs. */
#ifndef EHPERF_OFF_CPU_ABI_H
#define EHPERF_OFF_CPU_ABI_H

#include "kernel_walk_abi.h"

/* how the iterator begin_periods is run */
struct periods_begin {
	__u32 only_create; /* creates the task storages that are missing, and begins no period */
	__u32 not_created; /* how many it could not create since this was set to 0 */
};

#endif
