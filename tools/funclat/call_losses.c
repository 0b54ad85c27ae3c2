// SPDX-License-Identifier: GPL-2.0-or-later
#include "call_losses.h"

#include <string.h>

#include "bpf/object.h"
#include "nested_calls_abi.h"
#include "timed_calls_abi.h"

int call_losses_read(struct loss losses[NR_CALL_LOSSES], struct bpf_object *object,
		     const struct stack_stats *stacks, uint64_t calls)
{
	struct nested_counts n;
	struct call_counts c;
	int error = object_sum_counts(object, "call_counts", &c, sizeof(c));

	if (!error)
		error = object_sum_counts(object, "nested_counts", &n, sizeof(n));
	if (error)
		return error;

	const struct loss all[] = {
		/* calls_in_flight_say() prints this one */
		{ "in_flight", c.entered - calls - c.died - n.never_returned },
		{ "begun_before", c.unseen,
		  "calls that began before the start, or whose entry was not seen: not in any histogram" },
		{ "never_returned", n.never_returned,
		  "calls without a return, not in any histogram: longjmp(), an exception, or a return that was not seen" },
		{ "died", c.died, "calls whose thread died: not in any histogram" },
		{ "lost_too_deep", n.too_deep, "calls lost: within 64 others", .lost = true },
		{ "lost_no_memory", c.no_memory, "calls lost: no memory to track them", .lost = true },
		{ "ends_unseen", c.ends_unseen,
		  "times that the kernel did not report when a thread got the CPU back within a call: the time since its "
		  "wake-up, or since the call's beginning if that is unknown too, counts as on the CPU" },
		{ "slow_lost", c.slow_lost, "slow calls not printed: too many at a time" },
		{ "stacks_no_room_ns", stacks->no_room, "stacks of calls lost: no room in the maps" },
		{ "stacks_lost", stacks->stacks_lost,
		  "failed attempts to send a stack's frames: the ring buffer was full" },
		{ "stacks_untold", c.stacks_dropped,
		  "times that a call was blocked in more different stacks than are kept" },
		{ "forks_lost", stacks->forks_lost,
		  "tasks not measured: too many at a time, or no memory" },
	};
	_Static_assert(sizeof(all) == (NR_CALL_LOSSES - 1) * sizeof(all[0]), "NR_CALL_LOSSES");

	memcpy(losses, all, sizeof(all));
	return 0;
}
