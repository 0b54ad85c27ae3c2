/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a library exports, by its own hash table (.gnu.hash): one symbol costs a few reads, however many
 * there are.
 */
#ifndef EHPERF_DWARF_EXPORTS_H
#define EHPERF_DWARF_EXPORTS_H

#include <stdint.h>

#include "dwarf/elf_file.h"

/* 0, or -ENOENT (it exports no such symbol), -ENODATA (no hash table says what it exports), -EBADMSG, -ENOMEM */
int exports_find(struct elf_file *file, const char *name, uint64_t *vaddr, uint64_t *size);

#endif
