/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's types and libbpf's helpers: every header and program here includes this. */
#ifndef EHPERF_KERNEL_BPF_H
#define EHPERF_KERNEL_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#endif
