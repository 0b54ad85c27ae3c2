// SPDX-License-Identifier: GPL-2.0-or-later
#include "map_losses.h"

#include <string.h>

#include "bpf/object.h"
#include "call_ways.h"
#include "stacks_abi.h"

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
		/* who had no memory is among them, unless the thread has died in the call */
		{ "begun_before", c.unseen > c.no_memory ? c.unseen - c.no_memory : 0,
		  "calls that began before the start, or whose entry was not seen: not in any histogram" },
		{ "lost_returns", c.returns_unseen, "calls lost: the return was not seen", .lost = true },
		{ "not_seen", call_ways_not_seen(object),
		  "calls that may not have been seen: their CPU was inside a map operation of a preempted thread" },
		{ NULL, call_ways_uncounted(object) ? c.preempted : 0,
		  "calls preempted inside the map operation: other calls on their CPU may have "
		  "been missed, which this kernel does not count" },
		{ "preempted", c.preempted },
		{ "lost_no_memory", c.no_memory, "calls lost: no memory to track them", .lost = true },
		{ "died", c.died, "calls whose thread died: not in any histogram" },
		{ "ends_unseen", c.ends_unseen,
		  "times that the kernel did not report when a thread got the CPU back within a call: the time since its "
		  "wake-up, or since the call's beginning if that is unknown too, counts as on the CPU" },
		{ "slow_lost", c.slow_lost, "slow calls not printed: too many at a time" },
		{ "stacks_no_room_ns", stacks->no_room, "stacks of calls lost: no room in the maps" },
		{ "stacks_lost", stacks->stacks_lost,
		  "failed attempts to send a stack's frames: the ring buffer was full" },
		{ "forks_lost", stacks->forks_lost,
		  "tasks not measured: too many at a time, or no memory" },
		{ "stacks_untold", c.stacks_dropped,
		  "times that a call was blocked in more different stacks than are kept" },
	};
	_Static_assert(sizeof(all) == NR_MAP_LOSSES * sizeof(all[0]), "NR_MAP_LOSSES");

	memcpy(losses, all, sizeof(all));
	return 0;
}
