// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/registers.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * a run of numbers: each has its own name, or all have one prefix and are counted from
 * `first_suffix`
 */
struct names {
	uint16_t machine;
	uint8_t first, last;
	const char *const *names;
	const char *prefix;
	uint8_t first_suffix;
};

static const char *const x86_64[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp" };
static const char *const rip[] = { "rip" }, *const sp[] = { "sp" }, *const elr[] = { "elr" };

static const struct names all[] = {
	{ EM_X86_64, 0, 7, .names = x86_64 },
	{ EM_X86_64, 8, 15, .prefix = "r", .first_suffix = 8 },
	{ EM_X86_64, 16, 16, .names = rip },
	{ EM_X86_64, 17, 32, .prefix = "xmm" },
	{ EM_AARCH64, 0, 30, .prefix = "x" },
	{ EM_AARCH64, 31, 31, .names = sp },
	{ EM_AARCH64, 33, 33, .names = elr },
	{ EM_AARCH64, 64, 95, .prefix = "v" },
};

struct register_name register_name(uint16_t machine, uint64_t reg)
{
	struct register_name name;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct names *n = &all[i];

		if (machine != n->machine || reg < n->first || reg > n->last)
			continue;
		if (n->names)
			snprintf(name.text, sizeof(name.text), "%s", n->names[reg - n->first]);
		else
			snprintf(name.text, sizeof(name.text), "%s%d", n->prefix,
				 (int)reg - n->first + n->first_suffix);
		return name;
	}
	snprintf(name.text, sizeof(name.text), "r%" PRIu64, reg);
	return name;
}
