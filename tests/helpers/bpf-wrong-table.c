// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bpf-wrong-table OBJECT FILE: that ehdump --check's comparison sees a kernel that answers wrongly.
 * Uploads the file's table with one row spoilt and compares the kernel's answers with the true
 * table.
 */
#include <fcntl.h>
#include <stdio.h>

#include "ehdump/check.h"
#include "tables_abi.h"

int main(int argc, char **argv)
{
	struct bpf_object *object = argc > 2 ? bpf_object__open(argv[1]) : NULL;
	int fd = argc > 2 ? open(argv[2], O_RDONLY) : -1;
	struct check_result clean, spoilt;
	struct unwind_table table;
	struct checker *checker;
	struct elf_file file;
	uint8_t *row;

	if (!object || bpf_object__load(object) || checker_new(&checker, object) ||
	    elf_file_open(&file, fd) || unwind_table_build(&table, &file) ||
	    checker_upload(checker, &table) || checker_compare(checker, &file, &table, &clean))
		return 1;
	row = table.rows + table.nr_rows / 2 * ROW_BYTES;
	row[2] ^= 1; /* another rule */
	if (checker_upload(checker, &table))
		return 1;
	row[2] ^= 1;
	if (checker_compare(checker, &file, &table, &spoilt))
		return 1;
	printf("%lu differences with the true table, %lu with a spoilt row, the first at %#lx\n",
	       clean.differences, spoilt.differences, spoilt.file_offset);
	return clean.differences || !spoilt.differences;
}
