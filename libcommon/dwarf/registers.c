// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/registers.h"

#include <inttypes.h>
#include <stdio.h>

const char *register_name(uint16_t machine, uint64_t reg)
{
	static const char *const x86_64[] = {
		"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
		"r15", "rip",
	};
	static char names[8][24];
	static unsigned next;
	char *name = names[next++ % 8];

	if (machine == EM_X86_64 && reg < sizeof(x86_64) / sizeof(x86_64[0]))
		return x86_64[reg];
	if (machine == EM_X86_64 && reg >= 17 && reg <= 32)
		snprintf(name, sizeof(names[0]), "xmm%d", (int)reg - 17);
	else if (machine == EM_AARCH64 && reg <= 30)
		snprintf(name, sizeof(names[0]), "x%d", (int)reg);
	else if (machine == EM_AARCH64 && reg == 31)
		return "sp";
	else if (machine == EM_AARCH64 && reg == 33)
		return "elr";
	else if (machine == EM_AARCH64 && reg >= 64 && reg <= 95)
		snprintf(name, sizeof(names[0]), "v%d", (int)reg - 64);
	else
		snprintf(name, sizeof(names[0]), "r%" PRIu64, reg);
	return name;
}
