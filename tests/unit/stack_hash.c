// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hash that names stacks: what is chosen without knowing the seed makes no two stacks of one
 * name.
 */
#include <linux/types.h>
#include <stdint.h>

#include "check.h"
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "stack_hash.bpf.h"

#define TOP (UINT64_C(1) << 63)

static uint64_t name(uint64_t leaf, uint64_t caller)
{
	return hash_word(hash_word(0, leaf), caller);
}

/* differences in the highest bit pass through products by odd numbers as they are */
static int collisions(int shift)
{
	int nr = 0;

	for (uint64_t leaf = 1; leaf < 1000; leaf++)
		nr += name(leaf, 5) == name(leaf ^ TOP, 5 ^ (TOP | TOP >> shift));
	return nr;
}

int main(void)
{
	uint64_t first, second;

	hash_seed = 1;
	check(collisions(29) == 0 && collisions(61) == 0);
	for (int shift = 1; shift < 64; shift++) {
		hash_seed = 0xf1357aea2e62a9c5;
		check(!collisions(shift), "shifted by %d", shift);
	}
	first = name(1, 2);
	hash_seed = 0x8f2b9d4c5e6a7b13;
	second = name(1, 2);
	check(first != second, "another run, another name");
	check(first != name(2, 1) && name(1, 2) == second);
	return check_done();
}
