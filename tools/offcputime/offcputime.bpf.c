// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums up off-CPU periods by thread, state and stacks. */
#include "off_cpu_periods.bpf.h"

const volatile __u64 min_ns = 0, max_ns = ~0ULL;
const volatile bool count_blocked = true, count_waiting = true;	/* the parts of a period that count */

static __always_inline bool period_counts(const struct stack_value *value)
{
	__u64 ns = (count_blocked ? value->blocked_ns : 0) + (count_waiting ? value->waiting_ns : 0);

	return (ns || (count_blocked && count_waiting)) && ns >= min_ns && ns <= max_ns;
}

static __always_inline void period_ended(const struct stack_key *key, const struct stack_value *value,
					 struct stack_stats *stats)
{
	add_value(key, value, stats);
}

char LICENSE[] SEC("license") = "GPL";
