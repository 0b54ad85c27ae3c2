/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames, end reasons, keys and values of stack tools; and counters of what was seen and lost.
 */
#ifndef EHPERF_STACKS_ABI_H
#define EHPERF_STACKS_ABI_H

#include <linux/types.h>

#define MAX_DEPTH        16384 /* user frames */
#define DEFAULT_DEPTH    1024
#define MAX_KERNEL_DEPTH 127

/*
 * A user frame: a module and an offset in its file, or (FRAME_ADDRESS) the address itself where no
 * file is mapped. FRAME_CALL: the pc is a return address, so the call site is at pc - 1.
 * FRAME_BY_FP: found through the frame pointer, for want of a rule. FRAME_CUT(), FRAME_SUMMED(): no
 * frame, but a mark in the place of that many frames, or stacks, more than 0, which were left out.
 * FRAME_NO_ROOM(): a mark in the place of stacks of this user that there was no room for.
 */
#define FRAME_ADDRESS (1ULL << 63)
#define FRAME_BY_FP   (1ULL << 62)
#define FRAME_CALL    (1ULL << 61)
/*
 * Both of the first without the third: a runtime's own frame. The upper bits of CPython's are 1100,
 * of HotSpot's 1101, in user space 110100, and those of others FRAME_OF_RUNTIME()
 */
#define FRAME_RUNTIME           (6ULL << 61)
#define FRAME_IS_RUNTIME(frame) ((frame) >> 61 == 6)
#define RUNTIME_FRAME_BITS      55
/* of the n-th other runtime, up to 7 */
#define FRAME_OF_RUNTIME(n) ((0x1a8ULL | (n)) << RUNTIME_FRAME_BITS)
#define FRAME_OFFSET_BITS   40
#define FRAME_OFFSET(frame) ((frame) & ((1ULL << FRAME_OFFSET_BITS) - 1))
#define FRAME_MODULE(frame) ((__u32)((frame) >> FRAME_OFFSET_BITS) & 0x1fffff)
#define FRAME_ADDR(frame)   ((frame) & ((1ULL << 61) - 1))
/* of a runtime's code: its struct rule_note's tag, above the address. 0: none */
#define FRAME_TAG_SHIFT    48 /* addresses have as many bits, on any machine */
#define FRAME_TAG(frame)   ((__u32)((frame) >> FRAME_TAG_SHIFT) & 0x1fff)
#define MAX_FRAME_TAG      0x1ffe /* a kernel's address has all bits set there */
#define FRAME_CUT(nr)      ((__u64)(nr))
#define FRAME_SUMMED(nr)   (1ULL << 39 | (nr))
#define FRAME_NO_ROOM(uid) (1ULL << 38 | (uid))
/* one of the three; module IDs begin at 1 */
#define FRAME_IS_MARK(frame)    (!((frame) >> FRAME_OFFSET_BITS))
#define FRAME_IS_SUMMED(frame)  ((frame) >> 39 == 1)
#define FRAME_IS_NO_ROOM(frame) ((frame) >> 38 == 1)

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
	END_CUT,
	END_32BIT,
	END_NO_USER,
	END_UNKNOWN_PROCESS,
	END_STALE,
	END_NOT_TAKEN,
	END_LOST, /* user space says it: the frames had no room on their way */
	NR_END_REASONS
};

/*
 * The key that values are summed up by. It has no padding, so that equal keys have equal bytes in
 * the kernel's hash.
 */
struct stack_key {
	__u64 user_stack;   /* id, 0: none */
	__u64 kernel_stack; /* id, 0: none */
	__u64 waker;        /* id of the key_record of who ended the period, 0: none */
	__u32 pid, tid;
	__u32 end;   /* enum end_reason */
	__u32 flags; /* STACK_* */
	__u32 uid;   /* the thread's real user, in the initial user namespace */
	__u32 pad;
	char comm[16];
};
_Static_assert(sizeof(struct stack_key) == 64, "struct stack_key");
#define STACK_KERNEL_THREAD 1
#define STACK_IDLE          2
#define STACK_OPEN          4 /* an off-CPU period that was open when the measurement ended */
/* user_stack is a token: the stack comes in a raw_record, its value separately */
#define STACK_PENDING    8
#define STACK_INTERRUPT  16 /* a waker: an interrupt, which belongs to no thread */
#define STACK_SENT_APART 32 /* the key goes out by itself, as a key_record */
/* The upper bits are the tool's own: in off-CPU tools, the thread's state; */
#define STACK_STATE_SHIFT  8
#define STACK_STATE(flags) ((flags) >> STACK_STATE_SHIFT & 15) /* enum thread_state */
/* in tools that count events, the event's number; */
#define STACK_EVENT_SHIFT  8
#define STACK_EVENT(flags) ((flags) >> STACK_EVENT_SHIFT)
/* in histogram tools, the slot of the histogram that the stack belongs to (histograms_abi.h) */
#define STACK_SLOT_SHIFT 8
#define STACK_SLOT(slot) ((slot) << STACK_SLOT_SHIFT)

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
	union {
		__u64 blocked_ns; /* off the CPU, before the wake-up */
		__u64 sum;        /* of an argument of the events that are counted */
	};
	/* off the CPU, after the wake-up; for timed calls: all time that is not blocked */
	__u64 waiting_ns;
};
_Static_assert(sizeof(struct stack_value) == 24, "struct stack_value");

#define RAW_USERS 8 /* users other than root share so many limits */

/* counters of one CPU, summed by user space */
struct stack_stats {
	__u64 runs;         /* of the sampling program, before any filter */
	__u64 idle_runs;    /* those of them in the idle task */
	__u64 samples;      /* values that passed the filters */
	__u64 no_room;      /* values lost: neither the map nor the ring buffer had room */
	__u64 changes_lost; /* process_records lost: no room in the ring buffer, or for the count */
	/* new threads and processes that could not be listed, and are not measured */
	__u64 forks_lost;
	__u64 stacks_lost; /* times that the ring buffer had no room for a stack's frames */
	/* off-CPU periods lost: the kernel did not tell when the thread came back */
	__u64 returns_missed;
	__u64 tokens;     /* given to pending stacks */
	__u64 raw_second; /* in which these were sent, to limit their rate: */
	__u32 raw_of_root, raw_of_others, raw_of_user[RAW_USERS]; /* raw samples */
};

#endif
