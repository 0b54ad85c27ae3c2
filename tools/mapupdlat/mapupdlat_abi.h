/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of bpf(2) on maps, as mapupdlat's programs tell of them. */
#ifndef EHPERF_MAPUPDLAT_ABI_H
#define EHPERF_MAPUPDLAT_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* what the call's file descriptor is */
enum map_call_kind {
	CALL_ON_MAP,
	CALL_BAD_FD,		/* not open */
	CALL_NOT_A_MAP,		/* a file of another kind */
	CALL_UNREADABLE,	/* the call's attributes could not be read */
	CALL_NOT_CREATED,	/* there is no map: it was not created */
	NR_CALL_KINDS
};

/* on what a call was, by whom; for a series, what it does not tell apart is 0 */
struct map_call_key {
	__u32 kind;
	__u32 map_id, map_type;
	__u32 command;		/* enum bpf_cmd + 1 */
	__u32 pid;
	__u32 pad;
	char name[16];		/* the map's */
	char comm[16];
};
_Static_assert(sizeof(struct map_call_key) == 56, "map_call_key");

#define MAX_BLOCKED_STACKS 6	/* of one call, that are told apart */

struct blocked_in {
	__u64 kernel_stack;	/* id */
	__u64 ns;
};

/* a call that took longer than --slow says */
struct slow_call {
	struct map_call_key key;
	__u32 tid;
	__s32 result;		/* or -errno */
	__u64 ended_ns;		/* CLOCK_MONOTONIC */
	__u64 latency_ns, blocked_ns, waiting_ns;
	__u64 user_stack;	/* id, 0: none */
	__u32 user_end;		/* enum end_reason */
	__u32 nr_blocked;
	struct blocked_in blocked[MAX_BLOCKED_STACKS];
};

/* a call that has not returned */
struct call_in_flight {
	struct map_call_key key;
	__u32 tid;
	__u32 pad;
	__u64 start_ns;
};

/* per CPU */
struct map_call_counts {
	__u64 entered;		/* calls that are measured */
	__u64 unseen;		/* whose return was seen and whose beginning was not */
	__u64 no_memory;	/* of the unseen: there was no memory to remember them */
	__u64 returns_unseen;	/* calls whose return was not seen */
	__u64 preempted;	/* times a call was preempted inside the map operation */
	__u64 died;		/* threads that died inside one */
	__u64 no_series;	/* calls that are in no series: there were too many of them */
	__u64 slow_lost;	/* struct slow_call that the ring buffer refused */
	__u64 stacks_untold;	/* times a call blocked in more stacks than are told apart */
};

#endif
