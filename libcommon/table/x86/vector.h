/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions on vectors, told by their first bytes and ahead of Zydis: OpenBLAS's and the codecs'
 * assembly consists of them for the most part, and only their lengths are of interest here.
 */
#ifndef EHPERF_TABLE_X86_VECTOR_H
#define EHPERF_TABLE_X86_VECTOR_H

#include <stddef.h>
#include <stdint.h>

/*
 * The bytes of the instruction at code[0 .. size), if it is one of the frequent ones that write vector
 * registers or memory and nothing else; 0: it may be any other.
 */
size_t vector_bytes(const uint8_t *code, size_t size);

#endif
