/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Demangles names of C++, Rust and D at a bounded cost. A mangled name of 300 bytes can expand to
 * gigabytes, or take very long without any output. So the demangler runs in a child process, which
 * may neither use much memory nor open anything, and which a CPU timer ends.
 */
#ifndef EHPERF_DWARF_DEMANGLE_H
#define EHPERF_DWARF_DEMANGLE_H

#include <stdint.h>

#define DEMANGLE_MAX_MANGLED 16384      /* bytes; a longer name stays as it is */
#define DEMANGLE_MAX_NAME    4096       /* bytes, with its NUL: a longer name stays mangled */
#define DEMANGLE_CPU_MS      20         /* for one name */
#define DEMANGLE_MAX_BYTES   (32 << 20) /* of memory */
/* after so many names that took more, only short ones are tried: */
#define DEMANGLE_MAX_OVERRUNS 10
#define DEMANGLE_SHORT        96 /* bytes that cannot stand for much */

/*
 * The demangled name, to be freed, without parameter lists and Rust's hash; NULL: not a mangled
 * name, or beyond the limits. From any thread.
 */
char *demangle(const char *mangled);

/*
 * For a process that will not be able to start a child: starts DEMANGLE_MAX_OVERRUNS now, and none
 * later. A name that takes too much costs one of them.
 */
void demangle_begin(void);

/* Starts the child now, while this process is small. From any thread */
void demangle_prepare(void);

/* names that stayed mangled because of the limits, or because no child could be started */
uint64_t demangle_refused(void);

/* ends the child; the next demangle() starts another. Not needed before exit */
void demangle_stop(void);

#endif
