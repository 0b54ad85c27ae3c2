/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a tool aggregates: frames, why a stack ends, keys and values, and what was counted on the way. */
#ifndef EHPERF_STACKS_ABI_H
#define EHPERF_STACKS_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define MAX_DEPTH	1024	/* user frames */
#define MAX_KERNEL_DEPTH 127

/*
 * A user frame: a module and an offset in its file, or the address itself where no file is mapped.
 * FRAME_CALL: the frame was entered by a call, so pc is the return address and the call is at pc - 1.
 */
#define FRAME_ADDRESS		(1ULL << 63)
#define FRAME_BY_FP		(1ULL << 62)
#define FRAME_CALL		(1ULL << 61)
#define FRAME_OFFSET_BITS	40
#define FRAME_OFFSET(frame)	((frame) & ((1ULL << FRAME_OFFSET_BITS) - 1))
#define FRAME_MODULE(frame)	((__u32)((frame) >> FRAME_OFFSET_BITS) & 0x1fffff)
#define FRAME_ADDR(frame)	((frame) & ((1ULL << 61) - 1))

/* why a stack ends where it does; names and meanings in libcommon/unwind/end_reason.c */
enum end_reason {
	END_COMPLETE,
	END_NO_MAPPING,
	END_NO_ROW,
	END_NO_TABLE,
	END_UNREADABLE,
	END_UNKNOWN_REGISTER,
	END_UNSUPPORTED,
	END_NO_PROGRESS,
	END_TOO_DEEP,
	END_32BIT,
	END_NO_USER,
	END_UNKNOWN_PROCESS,
	END_STALE,
	END_NOT_TAKEN,
	NR_END_REASONS
};

/* what a tool aggregates by; a key has no padding, so that hashing it is exact */
struct stack_key {
	__u64 user_stack;	/* id, 0: none */
	__u64 kernel_stack;	/* id, 0: none */
	__u32 pid, tid;
	__u32 end;		/* enum end_reason */
	__u32 flags;		/* STACK_* */
	char comm[16];
};
_Static_assert(sizeof(struct stack_key) == 48, "stack_key");
#define STACK_KERNEL_THREAD	1
#define STACK_IDLE		2
#define STACK_OPEN		4	/* off the CPU still when the measurement ended */
#define STACK_PENDING		8	/* user_stack is a token: the stack itself comes raw, apart from its value */
/* the upper flags are the tool's own: offcputime's states, */
#define STACK_STATE_SHIFT	8
#define STACK_STATE(flags)	((flags) >> STACK_STATE_SHIFT & 15)	/* enum thread_state */
/* and, where there are several histograms, the slot of the stack's (histograms_abi.h) */
#define STACK_SLOT_SHIFT	8
#define STACK_SLOT(slot)	((slot) << STACK_SLOT_SHIFT)

/* in which state a thread left the CPU; letters and masks in libcommon/process/thread_state.c */
enum thread_state {
	THREAD_RUNNABLE,
	THREAD_SLEEPING,
	THREAD_UNINTERRUPTIBLE,
	THREAD_STOPPED,
	THREAD_TRACED,
	THREAD_PARKED,
	THREAD_IDLE,
	NR_THREAD_STATES
};

/* what is summed under a key */
struct stack_value {
	__u64 count;
	__u64 blocked_ns, waiting_ns;	/* off the CPU: before the wake-up, and after it; in mapupdlat, not blocked */
};

/* per CPU, summed by user space */
struct stack_stats {
	__u64 runs;		/* of the sampling program, before any filter */
	__u64 idle_runs;	/* of them, in the idle task */
	__u64 samples;		/* of them, what passed the filters */
	__u64 no_room;		/* values lost: neither map nor ring buffer took them */
	__u64 changes_lost;	/* process_records that the ring buffer refused */
	__u64 forks_lost;	/* children that could not be listed, and are not sampled */
	__u64 stacks_lost;	/* stacks whose frames the ring buffer refused */
	__u64 tokens;		/* given out */
	__u64 raw_second, raw_sent;	/* how many raw samples were sent in this second */
};

#endif
