/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_RUNTIMES_JIT_CURES_H
#define EHPERF_RUNTIMES_JIT_CURES_H

/*
 * What makes a runtime write its perf map, by the name of one of its threads or files. NULL: not
 * known
 */
const char *jit_cure(const char *name);

#endif
