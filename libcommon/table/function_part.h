/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of a function that the compiler has put elsewhere, because it seldom runs (GCC's NAME.cold). It has its own FDE. In
 * a stripped file, only jumps say to which function it belongs: no function jumps into the middle of another one.
 */
#ifndef EHPERF_TABLE_FUNCTION_PART_H
#define EHPERF_TABLE_FUNCTION_PART_H

#include <stdint.h>

#include "dwarf/elf_file.h"

/*
 * *vaddr, *bytes: in: the function; out: the other part, into which most of its jumps lead. 0; -ENOENT: it
 * has none; -ENOMEM; -EBADMSG
 */
int function_part_find(struct elf_file *file, uint64_t *vaddr, uint64_t *bytes);

#endif
