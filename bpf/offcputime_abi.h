/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What offcputime and its BPF programs agree on. */
#ifndef EHPERF_OFFCPUTIME_ABI_H
#define EHPERF_OFFCPUTIME_ABI_H

#define MAX_CPUS 4096

#endif
