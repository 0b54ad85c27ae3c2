/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For opening and loading BPF objects: raises limits, and explains why the kernel refused. */
#ifndef EHPERF_BPF_LOAD_H
#define EHPERF_BPF_LOAD_H

#include <stdarg.h>
#include <stdbool.h>

/*
 * To be called first. Passes libbpf's messages to `say`, if that is not NULL, and keeps what they say about a
 * failure for bpf_load_explain(). Raises RLIMIT_MEMLOCK and RLIMIT_NOFILE as far as permitted.
 */
void bpf_load_init(void (*say)(const char *format, va_list args));

/*
 * Why opening, loading or attaching failed with this error, and what to do about it: one line each, valid
 * until the next call.
 */
void bpf_load_explain(int error, const char **cause, const char **cure);

bool kernel_is_older_than(int major, int minor);

#endif
