/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of all runtimes. */
#ifndef EHPERF_RUNTIMES_RUNTIMES_H
#define EHPERF_RUNTIMES_RUNTIMES_H

#include "unwind/runtime.h"

extern const struct runtime *const all_runtimes[];	/* up to NULL */

#endif
