// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/runtimes.h"

#include <stddef.h>

#include "unwind/hotspot.h"
#include "unwind/python.h"

const struct runtime *const all_runtimes[] = {
	&python_runtime,
	&hotspot_runtime,
	NULL
};
