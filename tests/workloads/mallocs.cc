// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mallocs: reads a number from standard input, and calls malloc() so many times, from ten places at
 * different depths; then it waits for the end of its input. Nothing else in it calls malloc() meanwhile.
 */
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

static void *volatile kept;

template <int N> struct Place {
	[[gnu::noinline]] static int take(unsigned size)
	{
		char bytes[16 * (N % 3) + 8];

		bytes[0] = size;
		kept = malloc(size + N + bytes[0] % 2);
		free(kept);
		asm volatile("" : : "r"(bytes) : "memory");
		return bytes[0];
	}
};

template <int N> [[gnu::noinline]] static int deeper(int depth, unsigned size)
{
	int taken = depth ? deeper<N>(depth - 1, size) : Place<N>::take(size);

	asm volatile("" : "+r"(taken));
	return taken + 1;
}

template <int... N> static void all(unsigned i)
{
	static int (*const places[])(int, unsigned) = { deeper<N>... };
	unsigned which = i % sizeof...(N);

	places[which](which * 2, i % 100);
}

int main()
{
	char text[32] = "";

	if (read(0, text, sizeof(text) - 1) <= 0)
		return 1;
	for (unsigned i = 0, nr = strtoul(text, nullptr, 10); i < nr; i++)
		all<0, 1, 2, 3, 4, 5, 6, 7, 8, 9>(i);
	(void)!write(1, "done\n", 5);
	while (read(0, text, sizeof(text)) > 0)
		;
}
