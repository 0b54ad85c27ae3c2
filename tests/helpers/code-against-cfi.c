// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * code-against-cfi FILE...: works rules out from the code of .text as if it had no CFI, and compares each
 * instruction's CFA with what the compiler's CFI says. Prints for each file: instructions, share with a
 * rule, how many differ.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "table/code_rules.h"
#include "table/unwind_table.h"
#include "tables_abi.h"

struct comparison {
	const struct unwind_table *table;
	const uint8_t *code;
	uint64_t file_offset;
	size_t nr, nr_known, nr_wrong;
};

/* whatever it says of padding is right */
static bool is_padding(const uint8_t *p)
{
	while (*p == 0x66 || *p == 0x2e)
		p++;
	return *p == 0x90 || *p == 0xcc || (p[0] == 0x0f && p[1] == 0x1f);
}

static void compare(void *arg, size_t at, const struct eh_rule *rule)
{
	struct comparison *c = arg;
	struct eh_rule cfi = unwind_table_lookup(c->table, c->file_offset + at);

	if (cfi.kind != RULE_REG || cfi.saved[SAVED_RA] == SAVED_LOST || is_padding(c->code + at))
		return;
	c->nr++;
	if (rule->kind == RULE_NONE)
		return;
	c->nr_known++;
	/* where a frame pointer and the stack pointer both tell, either may */
	c->nr_wrong += rule->kind == RULE_REG && rule->cfa_reg == cfi.cfa_reg && rule->cfa_offset != cfi.cfa_offset;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct comparison c = {};
		struct elf_section text;
		struct unwind_table table;
		struct elf_file file;
		int fd = open(argv[i], O_RDONLY);

		if (elf_file_open(&file, fd) || unwind_table_build(&table, &file) ||
		    elf_file_section(&file, ".text", &text) ||
		    !elf_file_offset_of(&file, text.vaddr, &c.file_offset))
			return 1;
		c.table = &table;
		c.code = text.bytes;
		if (code_rules(text.bytes, text.size, text.vaddr, compare, &c))
			return 1;
		printf("%s %zu %.2f %zu\n", argv[i], c.nr, c.nr ? 100.0 * c.nr_known / c.nr : 0, c.nr_wrong);
		unwind_table_free(&table);
		elf_file_close(&file);
		close(fd);
	}
	return 0;
}
