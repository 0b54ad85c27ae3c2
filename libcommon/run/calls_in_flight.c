// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/calls_in_flight.h"

#include <stdlib.h>

#include "bpf/tasks.h"
#include "process/clock.h"
#include "report/counted.h"
#include "report/histogram.h"
#include "run/cli.h"
#include "timed_calls_abi.h"

#define NR_SHOWN	10	/* calls that are printed */

void calls_in_flight_stop(void *arg)
{
	struct calls_in_flight *in_flight = arg;
	size_t bytes;

	*in_flight->measuring = false;
	if (in_flight->records || bpf_tasks_read_named(in_flight->object, "list_calls", &in_flight->records, &bytes))
		return;
	in_flight->record_bytes = sizeof(struct call_in_flight) + in_flight->key_bytes;
	in_flight->nr = bytes / in_flight->record_bytes;
	in_flight->listed_ns = clock_ns();
}

void calls_in_flight_free(struct calls_in_flight *in_flight)
{
	free(in_flight->records);
}

void calls_in_flight_say(const struct calls_in_flight *in_flight, uint64_t count,
			 struct series_title (*title)(const void *key))
{
	if (!count)
		return;
	cli_warn("%s had not returned at the end: not in any histogram", counted(count, "calls").text);
	for (size_t i = 0; i < in_flight->nr && i < NR_SHOWN; i++) {
		const struct call_in_flight *call = in_flight->records + i * in_flight->record_bytes;

		cli_warn("since %s: %s, thread %u", histogram_time(in_flight->listed_ns - call->start_ns).text,
			 title(call + 1).text, call->tid);
	}
}
