/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where functions begin in code that no FDE covers, so that each of them has its own name. */
#ifndef EHPERF_TABLE_CODE_ENTRIES_H
#define EHPERF_TABLE_CODE_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

#include "dwarf/elf_file.h"

/* of code that is looked at in one file; musl's libc has 600 KB */
#define CODE_ENTRIES_MAX_BYTES (2 << 20)

/*
 * Sets *vaddrs (to be freed) to the rising vaddrs of: the beginnings of such code; the targets of
 * its direct calls; and places after the end of a function that are aligned as functions are and
 * are not jumped to. So each byte of such code has an entry at or before it. 0; or, with nothing to
 * be freed, -ENOMEM or -EFBIG (too much code, as in Go's files)
 */
int code_entries(struct elf_file *file, uint64_t **vaddrs, size_t *nr);

#endif
