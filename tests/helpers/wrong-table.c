// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wrong-table FILE: that the comparison behind ehdump --check sees what is wrong. Compiles the
 * file's table, spoils one row's rule after the other, here and there, and compares with the exact
 * rows each time.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "ehdump/expect.h"
#include "table/eh_rule.h"
#include "table/unwind_table.h"
#include "tables_abi.h"

static size_t nr_differences(const struct unwind_table *table, const struct expectation *expected,
			     size_t nr)
{
	size_t different = 0;

	for (size_t i = 0; i < nr; i++) {
		struct eh_rule rule = unwind_table_lookup(table, expected[i].file_offset);

		different += !eh_rule_same(&rule, &expected[i].rule);
	}
	return different;
}

int main(int argc, char **argv)
{
	int fd = open(argv[argc - 1], O_RDONLY), seen = 0, spoilt = 0;
	struct expectation *expected;
	struct elf_section section;
	struct unwind_table table;
	struct eh_frame frame;
	struct elf_file file;
	size_t nr;

	if (elf_file_open(&file, fd) || elf_file_cfi(&file, &section, &frame) ||
	    cfi_expect(&file, &frame, &expected, &nr) || unwind_table_build(&table, &file) ||
	    nr_differences(&table, expected, nr))
		return 1;
	for (uint64_t row = 1; row + 1 < table.nr_rows; row += 17) {
		uint8_t *at = table.rows + row * ROW_BYTES, before[ROW_BYTES];

		memcpy(before, at, ROW_BYTES);
		at[2] ^= 0x01; /* another rule */
		if ((at[2] << 4 | at[1] >> 4) < (int)table.nr_rules) {
			spoilt++;
			seen += nr_differences(&table, expected, nr) > 0;
		}
		memcpy(at, before, ROW_BYTES);
	}
	printf("%d of %d spoilt rows: the table differs\n", seen, spoilt);
	/* a first row that the next one hides is no difference */
	return spoilt < 20 || seen < spoilt * 9 / 10;
}
