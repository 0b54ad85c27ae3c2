/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hash that names a stack, word by word; the kernel and the host compute the same. Stacks are
 * compared by it alone. Somebody who could make two stacks of one name could have his own shown as
 * another's, so each run has a secret seed.
 */
#ifndef EHPERF_STACK_HASH_BPF_H
#define EHPERF_STACK_HASH_BPF_H

#define DEFAULT_HASH_SEED 0x9e3779b97f4a7c15

#ifdef __bpf__
const volatile __u64 hash_seed = DEFAULT_HASH_SEED; /* odd; set before loading */
#else
static __u64 hash_seed = DEFAULT_HASH_SEED; /* set by host_unwind_seed() */
#endif

/*
 * The second product is the seed's: a difference in the highest bit passes through the first by any
 * odd number, and could be undone by the next word.
 */
static __always_inline __u64 hash_word(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	hash = (hash ^ hash >> 29) * hash_seed;
	return hash ^ hash >> 32;
}

#endif
