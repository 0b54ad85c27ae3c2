// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * histogram nsecs|usecs|msecs: prints the histogram of the numbers, in nanoseconds, on standard
 * input.
 */
#include <inttypes.h>
#include <string.h>

#include "report/histogram.h"

int main(int argc, char **argv)
{
	const struct histogram_unit *units[] = { &histogram_nsecs, &histogram_usecs,
						 &histogram_msecs };
	static struct histogram h;
	uint64_t value;

	if (argc < 2)
		return 2;
	histogram_init(&h, &histogram_nsecs);
	for (int i = 0; i < 3; i++)
		if (!strcmp(argv[1], units[i]->name))
			histogram_init(&h, units[i]);
	while (scanf("%" SCNu64, &value) == 1)
		histogram_add(&h, value, 1);
	histogram_print_log2(stdout, &h);
	return 0;
}
