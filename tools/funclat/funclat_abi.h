/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call of a function: which one, by which process. In the key of a series, fields that do not
 * distinguish series are 0.
 */
#ifndef EHPERF_FUNCLAT_ABI_H
#define EHPERF_FUNCLAT_ABI_H

#include <linux/types.h>

#include "timed_calls_abi.h"

struct function_call_key {
	__u32 function; /* its number + 1 */
	__u32 pid;
	char comm[16];
};
_Static_assert(sizeof(struct function_call_key) == 24, "struct function_call_key");

#endif
