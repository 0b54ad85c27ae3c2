/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's symbols: its own, its modules' and those of BPF programs, from /proc/kallsyms. */
#ifndef EHPERF_PROCESS_KALLSYMS_H
#define EHPERF_PROCESS_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

struct kallsyms;

struct kernel_symbol {
	uint64_t start;
	const char *name;
	const char *module;	/* "bpf" for BPF programs; NULL: the kernel itself */
};

/* 0, -EACCES (addresses are hidden: kernel.kptr_restrict), -errno */
int kallsyms_read(struct kallsyms **kallsyms);
/* why that failed, and what to do about it: valid until the next call of strerror() */
const char *kallsyms_explain(int error);
void kallsyms_free(struct kallsyms *kallsyms);

/* the symbol that holds addr, or NULL; valid until kallsyms_free() */
const struct kernel_symbol *kallsyms_find(const struct kallsyms *kallsyms, uint64_t addr);

struct kernel_range {
	uint64_t start, end;	/* of the symbol, up to the next symbol; 0 if there is none */
};

/* Finds symbols of the kernel itself, not of modules, by name: functions and data. 0 or -errno */
int kallsyms_ranges(const char *const names[], struct kernel_range ranges[], size_t nr);

#endif
