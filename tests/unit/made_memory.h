/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the walk needs of the place it runs in (walk/state.bpf.h): code, a stack and a slab made
 * by hand.
 */
#ifndef EHPERF_MADE_MEMORY_H
#define EHPERF_MADE_MEMORY_H

#include <stdint.h>
#include <string.h>

#include "walk/state.bpf.h"

#define CODE  0x401000ULL
#define STACK 0x7fff0000ULL

static uint8_t code[256];  /* at address CODE */
static uint64_t stack[64]; /* at address STACK */

static void *slab; /* the first one; NULL: there is none */

/* all of the bytes or none, from `size` bytes of memory that lie at address start */
static inline uint32_t copy_bytes(void *to, uint32_t bytes, uint64_t addr, const void *memory,
				  uint64_t start, size_t size)
{
	if (addr < start || addr - start > size - bytes)
		return 0;
	memcpy(to, (const char *)memory + (addr - start), bytes);
	return bytes;
}

static __always_inline void *slab_of(struct user_walk *u, loc_t loc)
{
	(void)u;
	return LOC_SLAB(loc) ? NULL : slab;
}

static __always_inline __u32 read_stack(struct user_walk *u, void *to, __u32 bytes, __u64 addr)
{
	(void)u;
	return copy_bytes(to, bytes, addr, stack, STACK, sizeof(stack));
}

static __always_inline __u32 read_text(struct user_walk *u, void *to, __u32 bytes, __u64 addr)
{
	(void)u;
	return copy_bytes(to, bytes, addr, code, CODE, sizeof(code));
}

static __always_inline bool is_word(struct user_walk *u, __u64 addr, __u32 word)
{
	(void)u, (void)addr, (void)word;
	return true;
}

static __always_inline __u64 *deep_frames(struct user_walk *u)
{
	(void)u;
	return NULL;
}

static __always_inline __u32 functions_epoch(const struct user_walk *u)
{
	(void)u;
	return 0;
}

static __always_inline bool read_hijacked(struct user_walk *u, struct hijacked_return *r)
{
	(void)u, (void)r;
	return false;
}

#endif
