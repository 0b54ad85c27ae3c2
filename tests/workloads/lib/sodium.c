// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sodium [ROUNDS]: X25519 and others by libsodium, partly in assembly. Its headers are not needed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int sodium_init(void);
int crypto_scalarmult_base(uint8_t *to, const uint8_t *key);
int crypto_scalarmult(uint8_t *to, const uint8_t *key, const uint8_t *point);
int crypto_stream_salsa20_xor(uint8_t *to, const uint8_t *from, unsigned long long bytes,
			      const uint8_t *nonce, const uint8_t *key);
int crypto_onetimeauth(uint8_t *to, const uint8_t *from, unsigned long long bytes,
		       const uint8_t *key);

int main(int argc, char **argv)
{
	static uint8_t key[32] = { 1 }, point[32], text[1 << 16], nonce[8];
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	unsigned sum = 0;

	if (sodium_init() < 0 || crypto_scalarmult_base(point, key))
		return 1;
	for (int i = 0; i < rounds; i++) {
		key[1] = i;
		sum += crypto_scalarmult(point, key, point) + point[0];
		crypto_stream_salsa20_xor(text, text, sizeof(text) - 13, nonce, key);
		crypto_onetimeauth(point, text, sizeof(text), key);
	}
	printf("%u\n", sum + text[0]);
	return 0;
}
