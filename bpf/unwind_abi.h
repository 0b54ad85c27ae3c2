/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What user space writes for the unwinder in the kernel, and what it gets back.
 *
 * Everything the unwinder reads lies in slabs: big flat pieces of memory, each the one value of an
 * array map, all of them inner maps of one ARRAY_OF_MAPS, written by user space through mmap(). A
 * `loc` names a byte in them: the slab's number in the upper bits, the byte's offset in the lower.
 *
 *   procs hash:  tgid -> handle (loc of the process's mapping list, generation)
 *   changes hash: tgid -> how often the process gave up memory that held code
 *   struct eh_process, then struct eh_mapping[nr_mappings], sorted by address
 *   mapping.module -> struct eh_module
 *   table.pages    -> struct eh_page[nr_pages], one for each 4 KiB of the file's text
 *   page.rows      -> 3-byte rows, sorted by pc
 *   table.rules    -> struct eh_rule[], indexed by page.rule_base + the row's rule
 *
 * A pc is looked up by its offset in the file, so that one number finds the row and names the frame,
 * and the load bias of each segment is nothing but its mapping's start and file offset.
 */
#ifndef EHPERF_UNWIND_ABI_H
#define EHPERF_UNWIND_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* ---- slabs ---- */

#define SLAB_SHIFT	22
#define SLAB_BYTES	(1U << SLAB_SHIFT)
/* an object that starts below SLAB_BYTES may be read this far past it, so that masking an offset is check enough */
#define SLAB_SLACK	4096
#define SLAB_VALUE_SIZE	(SLAB_BYTES + SLAB_SLACK)
#define NR_SLABS	1024

typedef __u32 loc_t;	/* slab << SLAB_SHIFT | byte offset; 0, the first byte of slab 0, is never used: "none" */

#define LOC_SLAB(loc)	((loc) >> SLAB_SHIFT)
#define LOC_OFFSET(loc)	((loc) & (SLAB_BYTES - 1))

/* ---- tables ---- */

#define PAGE_ROWS_SHIFT	12	/* bits of file offset that a row's pc holds */
#define MAX_PAGE_ROWS	(1 << PAGE_ROWS_SHIFT)
#define ROW_BYTES	3
#define ROW_PC(row)	((row) & 0xfff)		/* offset in the page where the row begins to hold */
#define ROW_RULE(row)	((row) >> 12 & 0xfff)	/* relative to its page's rule_base */
#define MAX_PAGE_RULES	(1 << 12)

/*
 * The rows of one page of text. The first one's pc is 0, so that every pc of the page has a row.
 * The rules of a file are as many as it needs: rule_base moves the 12-bit window of the page's rows.
 */
struct eh_page {
	loc_t rows;
	__u16 nr_rows;
	__u16 rule_base;	/* in units of RULE_BASE_UNIT rules */
};
#define RULE_BASE_UNIT	64
_Static_assert(sizeof(struct eh_page) == 8, "page");

/* x86-64 registers by their DWARF numbers (psABI, figure 3.36) */
enum { EH_RBX = 3, EH_RBP = 6, EH_RSP = 7, EH_R12 = 12, EH_RA = 16, EH_NR_REGS = 16 };

/* the registers a rule restores, in the order of rule.saved; the return address comes last */
enum { SAVED_RBX, SAVED_RBP, SAVED_R12, SAVED_R13, SAVED_R14, SAVED_R15, SAVED_RA, NR_SAVED };

enum rule_kind {
	RULE_NONE,	/* no FDE covers this pc */
	RULE_REG,	/* CFA = cfa_reg + cfa_offset */
	RULE_DEREF,	/* CFA = *(cfa_reg + deref_offset) + cfa_offset */
	RULE_PLT,	/* CFA = cfa_reg + cfa_offset + (((rip & 15) >= deref_offset) << 3) */
	RULE_INDEXED,	/* CFA = *(cfa_reg + deref_offset + 8 * INDEXED_REG) + INDEXED_PLUS: libcrypto's multiplications */
	RULE_UNSUPPORTED,	/* the CFI is there and says what a rule cannot */
	NR_RULE_KINDS
};

/* of a RULE_INDEXED's cfa_offset */
#define INDEXED_REG(offset)	((offset) >> 16 & 15)
#define INDEXED_PLUS(offset)	((offset) & 0xffff)

/* rule.saved[]: where a register's value in the caller lies, in units of 8 bytes from the CFA or from base_reg, or: */
#define SAVED_SAME	127	/* unchanged */
#define SAVED_LOST	(-128)	/* undefined; for the return address: this is the outermost frame */
#define SAVED_ODD	(-127)	/* somewhere a rule cannot say; known to the CFI, unknown to us */

/* rule.flags */
#define RULE_SIGNAL	1	/* the CIE's augmentation has 'S', a signal frame */
#define RULE_FROM_CODE	2	/* no FDE covers it: worked out from its instructions; RULE_NONE: in vain, and it keeps no frame pointer */

/* How to find the caller's registers from this frame's (DWARF 5, 6.4.1). Never all zero but for RULE_NONE. */
struct eh_rule {
	__s32 cfa_offset;
	__s16 deref_offset;
	__u8 kind : 4, cfa_reg : 4;
	__u8 flags : 4, base_reg : 4;
	__s8 saved[NR_SAVED];
	/*
	 * bit i: saved[i] counts from base_reg's value in this frame, not from the CFA; SAVED_SAME: it is that
	 * value, as in vfork(), which keeps its return address in rdi
	 */
	__u8 from_base;
};
_Static_assert(sizeof(struct eh_rule) == 16, "rule");

struct eh_table {
	__u32 first_page;	/* file offset >> PAGE_ROWS_SHIFT of pages[0] */
	__u32 nr_pages;
	loc_t pages;
	loc_t rules;
};

/* TABLE_CODE: for what no FDE covers, worked out from the instructions; made when a sample first needs it */
enum { TABLE_CFI, TABLE_CODE, NR_TABLES };

struct eh_module {
	__u32 id;		/* for frames; never 0 */
	__u32 code_pending;	/* TABLE_CODE is not made yet */
	/* offsets in the file of code at the ELF entry point that no FDE covers; empty where one does */
	__u32 entry_start, entry_end;
	struct eh_table tables[NR_TABLES];
};
_Static_assert(sizeof(struct eh_module) == 48, "module");

/* ---- processes ---- */

struct eh_mapping {
	__u64 start, end;	/* addresses */
	__u64 file_offset;	/* of start */
	loc_t module;		/* 0: executable, but nobody's file (JIT code) or a file without a table */
	__u32 module_id;	/* 0: nobody's file; frames keep the address */
};
_Static_assert(sizeof(struct eh_mapping) == 32, "mapping");
#define MAX_MAPPINGS_SHIFT 16
#define MAX_MAPPINGS	(1 << MAX_MAPPINGS_SHIFT)

/* an image: changes with fork (start time) and with exec (exec id) */
struct eh_image {
	__u32 tgid;		/* in the kernel's initial PID namespace */
	__u32 exec_id;		/* task_struct.self_exec_id of the leader */
	__u64 start_ns;		/* start_boottime of the leader */
};

/*
 * Written: generation = 0, the rest, generation. Read: generation, the rest, generation again; the
 * three values (two of these and the handle's) must agree, or what was read is nobody's.
 */
struct eh_process {
	struct eh_image image;
	__u32 generation;	/* never 0 while valid */
	__u32 nr_mappings;
	__u32 changes;		/* how many of the process's changes it knows of: with any more, it is stale */
	__u32 pad;
	__u64 quiet_until_ns;	/* till then, no raw samples of pcs outside the list: it is known to be all there is */
	struct eh_mapping mappings[];
};
_Static_assert(sizeof(struct eh_process) == 40, "process");

#define HANDLE(loc, generation)	((__u64)(generation) << 32 | (loc))
#define HANDLE_LOC(handle)	((loc_t)(handle))
#define HANDLE_GENERATION(handle) ((__u32)((handle) >> 32))

/* what the task iterator writes for each thread */
struct task_record {
	struct eh_image image;	/* of its process */
	__u32 pid, tid;		/* user space's words, in the reader's PID namespace */
	__u32 kernel_thread;
	__u32 pad;
	__u64 last_ran_ns;	/* by the scheduler's clock: for telling the recently used */
};
_Static_assert(sizeof(struct task_record) == 40, "task_record");

/* ---- stacks ---- */

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

/* records of the ring buffer */
enum record_kind { RECORD_USER_STACK, RECORD_KERNEL_STACK, RECORD_VALUE, RECORD_RAW, RECORD_UNMAPPED, RECORD_EXITED };

struct frames_record {
	__u32 kind;
	__u32 nr_frames;
	__u64 id;
	__u64 frames[];		/* leaf first; user frames as above, kernel frames are addresses */
};

/* a value that found no room in the map of values, or whose stack is pending */
struct value_record {
	__u32 kind;
	__u32 pad;
	struct stack_key key;
	struct stack_value value;
};

/* a process gave up part of its address space that held code, or is gone */
struct process_record {
	__u32 kind;
	__u32 pid;		/* as task_record's */
	__u64 time_ns;		/* CLOCK_MONOTONIC */
	__u64 start, end;	/* RECORD_UNMAPPED: the addresses given up */
	__u32 changes;		/* with this one; for struct eh_process */
	__u32 pad;
};

/*
 * A sample that could not be unwound in the kernel because the process's mappings were not published
 * or have changed: what user space needs to run the same walk.
 */
#define RAW_STACK_BYTES (64 << 10)
struct raw_record {
	__u32 kind;
	__u32 stack_bytes;	/* from stack_addr on */
	__u64 stack_addr;	/* about rsp */
	__u64 time_ns;		/* CLOCK_MONOTONIC */
	struct stack_key key;	/* .user_stack and .end are for user space to fill in */
	struct stack_value value;	/* if key.flags has STACK_PENDING, it comes apart, under this: */
	__u64 token;
	struct eh_image image;
	__u64 ip, reg[16];	/* by DWARF numbers */
	__u32 in_exec;		/* interrupted in execve(), where registers may be the old image's */
	__u32 missing;		/* bit i: the i-th page from stack_addr's on was not there, and its bytes mean nothing */
	/* stack_bytes bytes follow */
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
