/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names a kernel address, or finds a symbol, when user space asks. Reading /proc/kallsyms instead
 * would take the kernel nearly 0.1 seconds.
 */
#ifndef EHPERF_KERNEL_SYMBOL_BPF_H
#define EHPERF_KERNEL_SYMBOL_BPF_H

#include "kernel.bpf.h"
#include "kernel_symbol_abi.h"

/* a struct kernel_symbol_asked, in a map of its own */
SEC(".data.symbol")
__attribute__((aligned(8))) char symbol_asked[sizeof(struct kernel_symbol_asked)] = "";

/* where the linker has put the scheduler's functions; 0: not known yet */
__u64 scheduler_start, scheduler_end;

static __always_inline void find_symbol(const char *name, __u32 size, __u64 *address)
{
	__u64 found = 0;

	if (!bpf_kallsyms_lookup_name(name, size, 0, &found))
		*address = found;
}

SEC("syscall")
int name_kernel_address(void *ctx)
{
	static const char format[] = "%pS", start[] = "__sched_text_start",
			  end[] = "__sched_text_end";
	struct kernel_symbol_asked *asked = (void *)symbol_asked;
	__u64 address = asked->address;

	if (!scheduler_end) {
		find_symbol(start, sizeof(start), &scheduler_start);
		find_symbol(end, sizeof(end), &scheduler_end);
	}
	asked->schedules = address >= scheduler_start && address < scheduler_end;
	return bpf_snprintf(asked->text, sizeof(asked->text), format, &address, sizeof(address)) <
	       0;
}

SEC("syscall")
int find_kernel_symbol(void *ctx)
{
	static const char format[] = "%pS";
	struct kernel_symbol_asked *asked = (void *)symbol_asked;
	__u64 address = 0;

	find_symbol(asked->text, sizeof(asked->text), &address);
	if (!address)
		return 1;
	asked->address = address;
	return bpf_snprintf(asked->text, sizeof(asked->text), format, &address, sizeof(address)) <
	       0;
}

#endif
