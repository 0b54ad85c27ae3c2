// SPDX-License-Identifier: GPL-2.0-or-later
#include "map_losses.h"

#include <bpf/libbpf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/load.h"
#include "bpf/object.h"
#include "bpf/tasks.h"
#include "map_calls.h"
#include "process/clock.h"
#include "report/histogram.h"
#include "run/cli.h"
#include "stacks_abi.h"

#define NR_SHOWN	10	/* calls in flight that are printed */

/* ---- calls in flight ---- */

void calls_in_flight_list(struct calls_in_flight *in_flight, struct bpf_object *object)
{
	const struct bpf_program *list = bpf_object__find_program_by_name(object, "list_calls");
	size_t bytes;
	void *records;

	if (in_flight->calls || !list || bpf_tasks_read(list, 0, &records, &bytes))
		return;
	in_flight->calls = records;
	in_flight->nr = bytes / sizeof(*in_flight->calls);
	for (size_t i = 0; i < in_flight->nr; i++)
		memcpy(in_flight->calls[i].key.comm, in_flight->calls[i].call.comm,
		       sizeof(in_flight->calls[i].key.comm));
	in_flight->listed_ns = clock_ns();
}

void calls_in_flight_free(struct calls_in_flight *in_flight)
{
	free(in_flight->calls);
}

void calls_in_flight_say(const struct calls_in_flight *in_flight, uint64_t count)
{
	if (!count)
		return;
	cli_warn("%" PRIu64 " calls had not returned at the end and are in no histogram", count);
	for (size_t i = 0; i < in_flight->nr && i < NR_SHOWN; i++)
		cli_warn("since %s: %s, thread %u",
			 histogram_time(in_flight->listed_ns - in_flight->calls[i].call.start_ns).text,
			 map_calls_title(&in_flight->calls[i].key).text, in_flight->calls[i].call.tid);
}

/* ---- losses ---- */

/*
 * An upper limit of the calls of which neither entry nor return was seen: all programs that watch them must
 * have been skipped, which newer kernels count.
 */
static uint64_t not_seen(const struct bpf_object *object)
{
	static const char *const programs[] = { "call_begins", "call_returns", "call_begins_raw",
						"call_returns_raw" };
	uint64_t least = UINT64_MAX, missed;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (object_missed(object, programs[i], &missed) && missed < least)
			least = missed;
	return least == UINT64_MAX ? 0 : least;
}

/* Are skipped programs not counted? Before 6.7, for those on a system call's own tracepoints. */
static bool is_uncounted(const struct bpf_object *object)
{
	return !bpf_program__autoload(bpf_object__find_program_by_name(object, "call_begins_raw")) &&
	       kernel_is_older_than(6, 7);
}

int map_losses_read(struct loss losses[NR_MAP_LOSSES], struct bpf_object *object,
		    const struct stack_stats *stacks, uint64_t calls)
{
	struct call_counts c;
	int error = object_sum_counts(object, "call_counts", &c, sizeof(c));

	if (error)
		return error;

	const struct loss all[] = {
		/* calls_in_flight_say() prints this one */
		{ "in_flight", c.entered - calls - c.died - c.returns_unseen },
		{ "begun_before", c.unseen - c.no_memory,
		  "calls had begun before the start, or their entry was not seen, and are in no histogram" },
		{ "lost_returns", c.returns_unseen, "calls lost: their return was not seen", .lost = true },
		{ "not_seen", not_seen(object),
		  "calls at most were not seen: their CPU was inside a map operation of a preempted thread" },
		{ NULL, is_uncounted(object) ? c.preempted : 0,
		  "calls were preempted inside the map operation: other calls on their CPU may have "
		  "been missed, which this kernel does not count" },
		{ "preempted", c.preempted },
		{ "lost_no_memory", c.no_memory, "calls lost: no memory to track them", .lost = true },
		{ "died", c.died, "threads died inside a call, which is in no histogram" },
		{ "slow_lost", c.slow_lost, "slow calls not printed: too many at a time" },
		{ "stacks_no_room_ns", stacks->no_room, "stacks of calls lost: no room in the maps" },
		{ "stacks_lost", stacks->stacks_lost,
		  "failed attempts to send a stack's frames: the ring buffer was full" },
		{ "forks_lost", stacks->forks_lost,
		  "processes or threads not measured: too many at a time, or no memory" },
		{ "stacks_untold", c.stacks_dropped,
		  "times that a call was blocked in more different stacks than are kept" },
	};
	_Static_assert(sizeof(all) == NR_MAP_LOSSES * sizeof(all[0]), "NR_MAP_LOSSES");

	memcpy(losses, all, sizeof(all));
	return 0;
}
