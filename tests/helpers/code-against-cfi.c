// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * code-against-cfi [-v] FILE...: works rules out from the code of .text as if it had no CFI, and
 * compares each instruction's CFA with what the compiler's CFI says, and where the return address
 * is. Prints for each file: instructions, share with a rule, how many differ; -v: and where.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table/code_insns.h"
#include "table/code_rules.h"
#include "table/machine.h"
#include "table/unwind_table.h"
#include "tables_abi.h"

struct comparison {
	const struct unwind_table *table;
	struct code code;
	uint64_t file_offset;
	size_t nr, nr_known, nr_wrong;
	bool verbose;
};

/*
 * of the return address: in bytes from the CFA's register, if that is also what the place is
 * counted from
 */
static int place_of(const struct eh_rule *rule)
{
	int saved = rule->saved[SAVED_RA];
	bool by_base = rule->from_base >> SAVED_RA & 1;

	return saved == SAVED_SAME || (by_base && rule->base_reg != rule->cfa_reg)
		       ? SAVED_SAME
		       : 8 * saved + (by_base ? 0 : rule->cfa_offset);
}

static void say(const struct comparison *c, size_t at, const struct eh_rule *rule,
		const struct eh_rule *cfi)
{
	printf("%#llx: CFA %d + %d, return address %d; by CFI %d + %d, %d\n",
	       (unsigned long long)(c->code.vaddr + at), rule->cfa_reg, rule->cfa_offset,
	       rule->saved[SAVED_RA], cfi->cfa_reg, cfi->cfa_offset, cfi->saved[SAVED_RA]);
}

static void compare(void *arg, size_t at, const struct eh_rule *rule)
{
	struct comparison *c = arg;
	struct eh_rule cfi = unwind_table_lookup(c->table, c->file_offset + at);
	bool wrong;

	/* whatever it says of padding is right */
	if (cfi.kind != RULE_REG || cfi.saved[SAVED_RA] == SAVED_LOST ||
	    c->code.insns[code_insn_at(&c->code, at)].padding)
		return;
	c->nr++;
	if (rule->kind == RULE_NONE)
		return;
	c->nr_known++;
	/* where a frame pointer and the stack pointer both tell, either may */
	wrong = rule->kind == RULE_REG && rule->cfa_reg == cfi.cfa_reg &&
		(rule->cfa_offset != cfi.cfa_offset ||
		 (place_of(rule) != SAVED_SAME && place_of(&cfi) != SAVED_SAME &&
		  place_of(rule) != place_of(&cfi)));
	c->nr_wrong += wrong;
	if (wrong && c->verbose)
		say(c, at, rule, &cfi);
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && !strcmp(argv[1], "-v");

	for (int i = 1 + verbose; i < argc; i++) {
		struct comparison c = { .verbose = verbose };
		struct elf_section text;
		struct unwind_table table;
		struct elf_file file;
		int fd = open(argv[i], O_RDONLY);

		if (elf_file_open(&file, fd) || unwind_table_build(&table, &file) ||
		    elf_file_section(&file, ".text", &text) ||
		    !elf_file_offset_of(&file, text.vaddr, &c.file_offset))
			return 1;
		c.table = &table;
		c.code = (struct code){ .bytes = text.bytes,
					.size = text.size,
					.vaddr = text.vaddr };
		if (machine_decode(&c.code) ||
		    code_rules(text.bytes, text.size, text.vaddr, compare, &c))
			return 1;
		printf("%s %zu %.2f %zu\n", argv[i], c.nr, c.nr ? 100.0 * c.nr_known / c.nr : 0,
		       c.nr_wrong);
		free(c.code.insns);
		unwind_table_free(&table);
		elf_file_close(&file);
		close(fd);
	}
	return 0;
}
