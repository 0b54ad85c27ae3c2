// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/seed.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

uint64_t process_seed(void)
{
	static uint64_t seed;
	struct timespec now;

	if (!seed && getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		seed = (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	}
	return seed;
}

#define PRIME ((1ULL << 61) - 1)

/* hash * key + number, modulo PRIME */
static uint64_t add(uint64_t hash, uint64_t key, uint64_t number)
{
	unsigned __int128 sum = (unsigned __int128)hash * key + number;
	uint64_t rest = (sum & PRIME) + (uint64_t)(sum >> 61);

	return rest < PRIME ? rest : rest - PRIME;
}

/*
 * A polynomial at a secret place: two of them are equal at few places only, whoever has chosen
 * them.
 */
uint64_t seeded_hash(const uint64_t *numbers, size_t nr, const char *bytes, size_t length)
{
	static uint64_t key;
	uint64_t hash = 1, word;
	size_t at = 0;

	if (!key)
		key = process_seed() % PRIME;
	for (size_t i = 0; i < nr; i++)
		hash = add(hash, key, numbers[i]);
	for (; length - at >= sizeof(word); at += 7) {
		memcpy(&word, bytes + at, sizeof(word));
		hash = add(hash, key, word & (1ULL << 56) - 1);
	}
	for (size_t some; at < length; at += some) {
		some = length - at < 7 ? length - at : 7;
		word = 0;
		memcpy(&word, bytes + at, some);
		hash = add(hash, key, word);
	}
	/* last, so that all that others choose is multiplied by the key */
	hash = add(hash, key, length) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}
