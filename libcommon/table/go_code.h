/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of a file's code is Go's own: all that .gopclntab has an entry with a frame size for (Go 1.18 and later:
 * runtime/symtab.go, pcHeader and _func). Go keeps frame pointers there and has stacks of its own, so no rules are made
 * from that code; what is not Go's is the C and the assembly of a file made with cgo.
 */
#ifndef EHPERF_TABLE_GO_CODE_H
#define EHPERF_TABLE_GO_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "dwarf/elf_file.h"

struct go_range {
	uint64_t start, end;	/* offsets in the file */
};

struct go_code {
	struct go_range *ranges;	/* rising, apart from each other */
	size_t nr, max;
};

/*
 * *go is empty if the file is not made by Go, and all of the file where that cannot be told from its .gopclntab. 0, or
 * -ENOMEM; to be freed in any case.
 */
int go_code_find(struct go_code *go, const struct elf_file *file);
void go_code_free(struct go_code *go);

/* the first of Go's ranges that ends behind `at`; NULL: there is none */
const struct go_range *go_code_after(const struct go_code *go, uint64_t at);

#endif
