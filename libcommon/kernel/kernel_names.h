/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_KERNEL_KERNEL_NAMES_H
#define EHPERF_KERNEL_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Asks the kernel by a loaded object, which includes bpf/kernel_symbol.bpf.h: as kernel_symbol_fn
 * in process/kernel_symbols.h
 */
int kernel_names_ask(void *object, uint64_t address, const char **text, bool *schedules);

struct bpf_object;

/*
 * Finds a symbol of the kernel by the object: where it begins, and, if it is a function, where it
 * ends. 0; -ENOENT: there is none, or the kernel hides its addresses; -errno
 */
int kernel_names_find(const struct bpf_object *object, const char *symbol,
		      unsigned long long *begin, unsigned long long *end);

#endif
