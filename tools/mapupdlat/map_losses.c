// SPDX-License-Identifier: GPL-2.0-or-later
#include "map_losses.h"

#include <bpf/libbpf.h>
#include <string.h>

#include "bpf/load.h"
#include "bpf/object.h"
#include "stacks_abi.h"

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
