// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * musl-qsort N: sorts N times 200,000 numbers. musl's qsort() calls the comparison through a
 * function of one instruction.
 */
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
	int l = *(const int *)left, r = *(const int *)right;

	return (l > r) - (l < r);
}

int main(int argc, char **argv)
{
	static int numbers[200000];
	long sum = 0;

	for (int n = argc > 1 ? atoi(argv[1]) : 1; n > 0; n--) {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			numbers[i] = rand();
		qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), compare);
		sum += numbers[7];
	}
	printf("%ld\n", sum);
	return 0;
}
