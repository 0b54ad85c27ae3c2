/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers with their nouns: "2 samples lost", "1 sample lost". */
#ifndef EHPERF_REPORT_COUNTED_H
#define EHPERF_REPORT_COUNTED_H

#include <stdint.h>

struct counted {
	char text[320];
};

/*
 * what: how it is said of many, "slow calls not printed". Of one, its first word that ends in s is in the singular. What
 * follows must do for both.
 */
struct counted counted(uint64_t nr, const char *what);

#endif
