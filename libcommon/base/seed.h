/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For hashes of what others choose: who does not know the seed cannot make many values collide. */
#ifndef EHPERF_BASE_SEED_H
#define EHPERF_BASE_SEED_H

#include <stddef.h>
#include <stdint.h>

/* random, and the same as long as the process lives */
uint64_t process_seed(void);
/* The same for equal bytes that begin with equal numbers, each below 2^56 */
uint64_t seeded_hash(const uint64_t *numbers, size_t nr, const char *bytes, size_t length);

#endif
