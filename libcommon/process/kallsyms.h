/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's symbols: its own, its modules' and those of BPF programs, from /proc/kallsyms. */
#ifndef EHPERF_PROCESS_KALLSYMS_H
#define EHPERF_PROCESS_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kallsyms;

struct kernel_symbol {
	uint64_t start;
	const char *name;
	const char *module;	/* "bpf" for BPF programs; NULL: the kernel itself */
};

/* Symbols are read when the first one is looked up, which takes nearly 0.1 seconds. NULL: no memory */
struct kallsyms *kallsyms_new(void);
/*
 * Begins to read them in a thread, unless they are read already: for callers that will need them.
 */
void kallsyms_begin(struct kallsyms *kallsyms);
/* Reads them now, unless they are read already. */
void kallsyms_read(struct kallsyms *kallsyms);
void kallsyms_free(struct kallsyms *kallsyms);

/* the symbol that holds addr, or NULL; valid until kallsyms_free() */
const struct kernel_symbol *kallsyms_find(struct kallsyms *kallsyms, uint64_t addr);

/* Is it in a function of the scheduler, which /proc/PID/wchan and /proc/PID/stack leave out? False if that is not known */
bool kallsyms_is_scheduler(struct kallsyms *kallsyms, uint64_t addr);

/*
 * once a symbol was asked for, why there are none: -EACCES (addresses are hidden: kernel.kptr_restrict),
 * -errno; else 0
 */
int kallsyms_error(const struct kallsyms *kallsyms);
/* explains this error, and what to do about it: valid until the next call of strerror() */
const char *kallsyms_explain(int error);

struct kernel_range {
	uint64_t start, end;	/* of the symbol, up to the next symbol; 0 if there is none */
};

/* Finds symbols of the kernel itself, not of modules, by name: functions and data. 0 or -errno */
int kallsyms_ranges(const char *const names[], struct kernel_range ranges[], size_t nr);

#endif
