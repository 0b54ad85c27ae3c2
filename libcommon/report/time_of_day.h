/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_REPORT_TIME_OF_DAY_H
#define EHPERF_REPORT_TIME_OF_DAY_H

#include <stdint.h>

/* "HH:MM:SS.uuuuuu", local time */
struct time_of_day {
	char text[32];
};
#define TIME_OF_DAY_SECONDS 8 /* bytes of the text without the fraction */

/* converts a time of CLOCK_MONOTONIC */
struct time_of_day time_of_day(uint64_t monotonic_ns);

#endif
