// SPDX-License-Identifier: GPL-2.0-or-later
/* is-trusted FILE: status 0 if the file may take time (process/trust.h), 1 if not. */
#include <stdio.h>

#include "process/trust.h"

int main(int argc, char **argv)
{
	struct file_key key;

	if (argc != 2 || regular_file_find(-1, argv[1], true, &key) < 0) {
		fprintf(stderr, "usage: is-trusted FILE\n");
		return 2;
	}
	return owner_of_file(&key) != 0;
}
