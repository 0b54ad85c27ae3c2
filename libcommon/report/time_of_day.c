// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/time_of_day.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

struct time_of_day time_of_day(uint64_t monotonic_ns)
{
	struct time_of_day day;
	struct tm local;
	uint64_t ns;
	time_t seconds;
	char clock[16];

	ns = clock_realtime_ns(monotonic_ns);
	seconds = ns / 1000000000;
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&seconds, &local));
	snprintf(day.text, sizeof(day.text), "%s.%06" PRIu64, clock, ns % 1000000000 / 1000);
	return day;
}
