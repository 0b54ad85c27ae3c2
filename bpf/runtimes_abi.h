/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel has to know of the runtimes that a process runs; 0: it does not run them. */
#ifndef EHPERF_RUNTIMES_ABI_H
#define EHPERF_RUNTIMES_ABI_H

#include "runtimes/python_abi.h"

struct published_runtimes {
	struct python_layout python;
};

#endif
