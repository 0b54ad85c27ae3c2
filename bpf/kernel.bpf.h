/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's types and libbpf's helpers: every header and program here includes this. */
#ifndef EHPERF_KERNEL_BPF_H
#define EHPERF_KERNEL_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* the type of a map with one value for each CPU, at key 0 */
#define ONE_PER_CPU(value_type)                          \
	struct {                                         \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); \
		__uint(max_entries, 1);                  \
		__type(key, __u32);                      \
		__type(value, value_type);               \
	}

/* the word at this address of the running process's memory; 0 also if it cannot be read */
static __always_inline __u64 user_word(__u64 addr)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)addr);
	return word;
}

#endif
