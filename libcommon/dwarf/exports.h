/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library's exports, looked up in its hash table (.gnu.hash): one symbol takes a few reads.
 */
#ifndef EHPERF_DWARF_EXPORTS_H
#define EHPERF_DWARF_EXPORTS_H

#include <stdint.h>

#include "dwarf/elf_file.h"

/*
 * 0, or -ENOENT (it exports no such symbol), -ENODATA (no hash table says what it exports),
 * -EBADMSG, -ENOMEM
 */
int exports_find(struct elf_file *file, const char *name, uint64_t *vaddr, uint64_t *size);

#endif
