/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbols of kernel addresses: the kernel's own, its modules' and those of BPF programs. */
#ifndef EHPERF_PROCESS_KERNEL_SYMBOLS_H
#define EHPERF_PROCESS_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_symbols;

struct kernel_symbol {
	uint64_t offset; /* of the address in the symbol */
	const char *name;
	const char *module; /* "bpf" for BPF programs; NULL: the kernel itself */
	/* a function of the scheduler, which /proc/PID/wchan and /proc/PID/stack leave out */
	bool schedules;
};

/*
 * Asks the kernel. *text is valid until the next call; its form is that of %pS in
 * printk-formats.rst, "symbol+0x1/0x2 [module]"; "0x123": it is in no symbol. 0 or -errno
 */
typedef int kernel_symbol_fn(void *arg, uint64_t address, const char **text, bool *schedules);

/*
 * The kernel is asked for each address once; and again, after kernel_symbols_renew(), though not
 * within ten seconds, for what is not its own code: modules and BPF programs may go, and others
 * take their place. Then, if many are known, those of its own go that nobody has wanted for two such
 * turns. Addresses that it does not name, such as those in trampolines, are looked up in
 * /proc/kallsyms, which is read once. NULL: no memory
 */
struct kernel_symbols *kernel_symbols_new(kernel_symbol_fn *ask, void *arg);
void kernel_symbols_renew(struct kernel_symbols *symbols, uint64_t now_ns);
void kernel_symbols_free(struct kernel_symbols *symbols);

/* NULL: it has none, or there is no memory; valid until kernel_symbols_renew() */
const struct kernel_symbol *kernel_symbols_find(struct kernel_symbols *symbols, uint64_t address);

/*
 * why addresses have no names: -EACCES (they are hidden: kernel.kptr_restrict), -errno; 0:
 * /proc/kallsyms was read, or not needed
 */
int kernel_symbols_error(const struct kernel_symbols *symbols);

#endif
