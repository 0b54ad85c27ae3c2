// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbols of kernel addresses, as the kernel writes them. */
#include <string.h>

#include "check.h"
#include "process/kernel_symbols.h"

static const char *answer;
static unsigned nr_asked;

static int ask(void *arg, uint64_t address, const char **text, bool *schedules)
{
	(void)arg;
	nr_asked++;
	*text = answer;
	*schedules = address == 2;
	return 0;
}

/* name NULL: it has none */
static bool is(struct kernel_symbols *symbols, uint64_t address, const char *text, const char *name,
	       uint64_t offset, const char *module)
{
	const struct kernel_symbol *symbol;

	answer = text;
	symbol = kernel_symbols_find(symbols, address);
	if (!symbol || !name)
		return !symbol && !name;
	return !strcmp(symbol->name, name) && symbol->offset == offset &&
	       (module ? symbol->module && !strcmp(symbol->module, module) : !symbol->module);
}

int main(void)
{
	struct kernel_symbols *symbols = kernel_symbols_new(ask, NULL);
	uint64_t now_ns = 20000000000;

	check(is(symbols, 1, "vfs_read+0x1f/0x320", "vfs_read", 0x1f, NULL),
	      "a function of the kernel");
	check(is(symbols, 2, "schedule+0x0/0x10", "schedule", 0, NULL) &&
		      kernel_symbols_find(symbols, 2)->schedules &&
		      !kernel_symbols_find(symbols, 1)->schedules,
	      "one of the scheduler");
	check(nr_asked == 2, "each address is asked for once");
	check(is(symbols, 3, "cpuid_read+0x45/0x90 [cpuid]", "cpuid_read", 0x45, "cpuid"),
	      "a function of a module");
	check(is(symbols, 4, "bpf_prog_6deef7357e7b4530_busy+0x2/0x99",
		 "bpf_prog_6deef7357e7b4530_busy", 2, "bpf"),
	      "a BPF program");
	check(is(symbols, 5, "bpf_trampoline_6442536467+0x4b/0x1000", "bpf_trampoline_6442536467",
		 0x4b, "bpf"),
	      "a trampoline of one");
	check(is(symbols, 6, "bpf_prog_put+0x2/0x99", "bpf_prog_put", 2, NULL) &&
		      is(symbols, 7, "bpf_trampoline_link_prog+0x2/0x99",
			 "bpf_trampoline_link_prog", 2, NULL),
	      "functions that serve them are the kernel's");
	check(is(symbols, 8, "0x8", NULL, 0, NULL),
	      "an address in no symbol: /proc/kallsyms, too, has none below the first");
	kernel_symbols_renew(symbols, now_ns);
	nr_asked = 0;
	check(is(symbols, 1, "", "vfs_read", 0x1f, NULL) && !nr_asked, "the kernel's own stay");
	check(is(symbols, 4, "bpf_prog_6deef7357e7b4530_busy+0x2/0x99",
		 "bpf_prog_6deef7357e7b4530_busy", 2, "bpf") &&
		      kernel_symbols_find(symbols, 4) && nr_asked == 1,
	      "a BPF program is asked for again, once, and may still be there");
	check(is(symbols, 3, "0x3", "cpuid_read", 0x45, "cpuid"),
	      "a module that is gone keeps its name, for earlier stacks");
	check(is(symbols, 5, "bpf_prog_0123456789abcdef_other+0x1/0x99",
		 "bpf_prog_0123456789abcdef_other", 1, "bpf") &&
		      is(symbols, 8, "late+0x1/0x9 [cpuid]", "late", 1, "cpuid"),
	      "other code in its place");

	for (uint64_t address = 100; address < 20000; address++)
		kernel_symbols_find(symbols, address);
	for (int i = 0; i < 4; i++) {
		kernel_symbols_renew(symbols, now_ns += 20000000000);
		is(symbols, 2, "", "schedule", 0, NULL);
	}
	nr_asked = 0;
	check(is(symbols, 2, "", "schedule", 0, NULL) && !nr_asked, "what is wanted stays");
	check(is(symbols, 100, "vfs_write+0x1/0x9", "vfs_write", 1, NULL) && nr_asked == 1,
	      "of many, what nobody wants goes");
	kernel_symbols_free(symbols);
	return check_done();
}
