/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_BPF_KERNEL_NAMES_H
#define EHPERF_BPF_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Asks the kernel by a loaded object, which includes bpf/kernel_symbol.bpf.h: as kernel_symbol_fn in process/kernel_symbols.h */
int kernel_names_ask(void *object, uint64_t address, const char **text, bool *schedules);

#endif
