/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where functions begin in the code that no FDE covers, so that frames in it have a name of their own. */
#ifndef EHPERF_TABLE_CODE_ENTRIES_H
#define EHPERF_TABLE_CODE_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

#include "dwarf/elf_file.h"

#define CODE_ENTRIES_MAX_BYTES (2 << 20)	/* of code that is looked at in one file; musl's libc has 600 KB */

/*
 * The vaddrs, rising, in *vaddrs (to be freed): where such code begins; what it calls directly; and what
 * follows the end of a function, is aligned as functions are and is not jumped to. So each byte of it has
 * an entry at or before it. 0, or -ENOMEM, -EFBIG (too much of it, as in Go's files), and nothing is to be
 * freed
 */
int code_entries(struct elf_file *file, uint64_t **vaddrs, size_t *nr);

#endif
