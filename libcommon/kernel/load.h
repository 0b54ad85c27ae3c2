/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For opening and loading BPF objects: raises limits, and explains why the kernel refused. */
#ifndef EHPERF_KERNEL_LOAD_H
#define EHPERF_KERNEL_LOAD_H

#include <stdarg.h>
#include <stdbool.h>

/*
 * To be called first. Passes libbpf's messages to `say`, if that is not NULL, and keeps what they
 * say about a failure for bpf_load_explain(). Raises RLIMIT_MEMLOCK and RLIMIT_NOFILE up to their
 * hard limits. -EMFILE: the hard limit is too low for any tool.
 */
int bpf_load_init(void (*say)(const char *format, va_list args));
/* In a child that becomes another program: sets these limits as they were. */
void bpf_load_restore_limits(void);

/*
 * Why opening, loading or attaching failed with this error, and what to do about it: one line each,
 * valid until the next call.
 */
void bpf_load_explain(int error, const char **cause, const char **cure);

/* CAP_SYS_ADMIN, which includes CAP_BPF and CAP_PERFMON, and is what probes of functions need */
bool bpf_load_is_admin(void);

bool kernel_is_older_than(int major, int minor);

/*
 * sysctl kernel.ftrace_enabled: 1 or 0; -ENOENT: the kernel has no ftrace. While it is 0, the
 * kernel lets programs attach to its functions, and does not run them.
 */
int kernel_ftrace(void);

#endif
