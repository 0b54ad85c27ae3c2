/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recognizes vector instructions by their first bytes, before Zydis: the assembly of OpenBLAS and
 * of codecs consists mostly of them, and only their lengths matter here.
 */
#ifndef EHPERF_TABLE_X86_VECTOR_H
#define EHPERF_TABLE_X86_VECTOR_H

#include <stddef.h>
#include <stdint.h>

/*
 * The bytes of the instruction at code[0 .. size), if it is one of the frequent ones that write
 * vector registers or memory and nothing else; 0: it may be any other.
 */
size_t vector_bytes(const uint8_t *code, size_t size);

#endif
