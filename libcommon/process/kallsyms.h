/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's symbols: its own, its modules' and those of BPF programs, from /proc/kallsyms. */
#ifndef EHPERF_PROCESS_KALLSYMS_H
#define EHPERF_PROCESS_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

struct kallsyms;

struct kallsym {
	uint64_t start;
	const char *name;
	const char *module; /* "bpf" for BPF programs; NULL: the kernel itself */
};

/* Reads all symbols of functions, which takes nearly 0.1 seconds. NULL: no memory */
struct kallsyms *kallsyms_read(void);
void kallsyms_free(struct kallsyms *kallsyms);

/* the function that holds the address, or NULL; valid until kallsyms_free() */
const struct kallsym *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address);

/*
 * why there are no symbols: -EACCES (addresses are hidden: kernel.kptr_restrict), -errno; 0: there
 * are
 */
int kallsyms_error(const struct kallsyms *kallsyms);
/* explains this error, and what to do about it: valid until the next call of strerror() */
const char *kallsyms_explain(int error);

#endif
