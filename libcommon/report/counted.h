/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers with their nouns: "2 samples lost", "1 sample lost". */
#ifndef EHPERF_REPORT_COUNTED_H
#define EHPERF_REPORT_COUNTED_H

#include <stdint.h>

struct counted {
	char text[320];
};

/*
 * what: a phrase in the plural, "slow calls not printed". If nr is 1, its first word that ends in s
 * becomes singular; the rest must fit both.
 */
struct counted counted(uint64_t nr, const char *what);

#endif
