// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums up off-CPU periods by thread, state, stacks and waker. */
#include "off_cpu_sums.bpf.h"
#include "wakers.bpf.h"

char LICENSE[] SEC("license") = "GPL";
