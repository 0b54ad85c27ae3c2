// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums up off-CPU periods by thread, state and stacks. */
#include "off_cpu_sums.bpf.h"

char LICENSE[] SEC("license") = "GPL";
