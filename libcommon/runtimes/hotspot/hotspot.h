/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process with a HotSpot JVM. The code that the JVM has generated lies in anonymous memory. Its
 * rows are in the slabs, as those of files (tables_abi.h). They are made piece by piece, when a raw
 * sample's stack leads there. Each piece is identified by a word of the process's memory (struct
 * rule_note). When that word has changed, walks ask for new rows.
 *
 * All anonymous code of the process is one struct published_module, without an ID.
 */
#ifndef EHPERF_RUNTIMES_HOTSPOT_H
#define EHPERF_RUNTIMES_HOTSPOT_H

#include "unwind/runtime.h"

extern const struct runtime hotspot_runtime;

#endif
