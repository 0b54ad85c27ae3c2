/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel stack of a task that is leaving the CPU, or is waking another, unwound from the
 * tracepoint in __schedule() or try_to_wake_up() by the kernel's own ORC tables. The result is that
 * of bpf_get_stack() in a tenth of its time, because the ORC entry of each return address is looked
 * up once and cached.
 *
 * bpf_get_stack() takes unusual stacks (with frames in modules, interrupts, hooked returns), and at
 * first all stacks, until this walk has had the same result KERNEL_WALK_TRUSTED times. Until then,
 * a difference means that it starts at the wrong place, which is looked for again. Afterwards every
 * COMPARE_EVERYth stack is taken in both ways, and one difference ends its use.
 *
 * See arch/x86/include/asm/orc_types.h and unwind_next_frame() in arch/x86/kernel/unwind_orc.c.
 */
#ifndef EHPERF_KERNEL_WALK_BPF_H
#define EHPERF_KERNEL_WALK_BPF_H

#include "kernel.bpf.h"
#include "kernel_walk_abi.h"
#include "stacks.bpf.h"
#include "records_abi.h"

SEC(".data.layout") struct kernel_layout layout = {};

/* The layout of ORC entries differs between kernels: relocated by the kernel's BTF. */
struct orc_entry___any {
	__s16 sp_offset, bp_offset;
	unsigned int sp_reg : 4, bp_reg : 4, type : 3, end : 1;
} __attribute__((packed, preserve_access_index));

/* For a kernel without ORC types, all that uses them is dead code to the verifier. */
#define HAS_ORC (bpf_core_type_exists(struct orc_entry___any) && layout.nr_orc)

#define ORC_BYTES         6
#define ORC_REG_UNDEFINED 0
#define ORC_REG_BP        4
/* other numbers changed in 7.1, and no type tells: see learn_orc_sp() */
__u32 orc_sp;
/*
 * values of .type up to 6.3, where .end exists: CALL, REGS; from 6.4 on: UNDEFINED, END_OF_STACK,
 * CALL, REGS
 */
#define ORC_CALL (bpf_core_field_exists(struct orc_entry___any, end) ? 0 : 2)
#define ORC_REGS (bpf_core_field_exists(struct orc_entry___any, end) ? 1 : 3)
#define ORC_END  1

enum { KERNEL_ODD, KERNEL_SP, KERNEL_BP, KERNEL_REGS, KERNEL_END };
struct kernel_rule {
	__s16 cfa_offset, bp_offset;
	__u8 kind;
	__u8 restores_bp;
	__u8 interrupt; /* the frame of an interrupt's entry */
	__u8 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, __u64); /* return address */
	__type(value, struct kernel_rule);
} kernel_rules SEC(".maps");

/*
 * the rules that this CPU has used last, each where its return address belongs: a lookup in a hash
 * costs more than a step
 */
#define RECENT_RULES 512
struct recent_rule {
	__u64 ip;
	struct kernel_rule rule;
};

#define RECENT_PLACE(ip) MASKED((ip) ^ (ip) >> 9, RECENT_RULES - 1)

#define KERNEL_WORDS      512
#define MAX_KERNEL_WALK   64
#define CALIBRATION_WORDS 80
#define COMPARE_EVERY     1024

/*
 * Where a walk starts, found by calibrate(). .ip: the address to which the tracepoint returns in
 * the function. .word: the place of that address on the stack, in words; word 0 is BELOW_CONTEXT
 * bytes below the program's context. .bp_word: the place of the function's rbp, which one of the
 * functions between it and the program has saved; 0: not found. .frames_above: how many frames
 * there are from the program's to the function's, the program and bpf_trace_run4(); one more if
 * another tracer uses the tracepoint, too, and .walks starts at 0 again. .walks: how many results
 * equalled bpf_get_stack()'s so far, or NEVER_TRUSTED. .trusted: how often that has been enough.
 * .failed: how often the places that calibrate() had found were wrong: a word below the stack's end
 * may have been left there by an earlier call. .missed: how many walks have not reached the
 * outermost frame since the last one that equalled bpf_get_stack()'s
 */
SEC(".data.starts")
struct kernel_start starts[NR_KERNEL_STARTS] = { { .frames_above = 2 }, { .frames_above = 2 } };
#define BELOW_CONTEXT 256
/* one of the results differed, of this many calibrations or after it was trusted */
#define NEVER_TRUSTED    (~0U)
#define MAX_CALIBRATIONS 8

struct kernel_walk {
	__u64 from, top;  /* the part of the stack that is read: up to the saved user registers */
	__u64 ip, at, bp; /* a return address, the end of the word it lies in, and rbp */
	bool bp_known, done; /* done: the walk has reached the outermost frame */
	__u32 start;         /* enum kernel_start_of */
	__u32 nr;            /* trusted walks on this CPU */
	__u32 orc_at, nr_orcs;
	__u64 orc[2];
	__u64 expected_ip[2]; /* bpf_get_stack()'s first two frames */
	__u32 ip_word, bp_word;
	__u64 words[KERNEL_WORDS];
	struct recent_rule recent[RECENT_RULES];
	struct kernel_stack stack;
};

ONE_PER_CPU(struct kernel_walk) kernel_walks_of SEC(".maps");

/* One step of a binary search in [orc_at, orc_at + nr_orcs), for bpf_loop(). */
static long search_orc(__u32 i, struct kernel_walk **ctx)
{
	struct kernel_walk *w = *ctx;
	__u32 half = w->nr_orcs / 2;
	__u64 entry = layout.orc_ips + (w->orc_at + half) * 4ULL;
	__s32 ip;

	if (!half || bpf_probe_read_kernel(&ip, sizeof(ip), (void *)entry))
		return 1;
	if (entry + ip <= w->ip - 1)
		w->orc_at += half;
	w->nr_orcs -= half;
	return 0;
}

/* Finds the ORC entry of the call site of this return address, at ip - 1. */
static __always_inline bool find_orc(struct kernel_walk *w)
{
	w->orc_at = 0;
	w->nr_orcs = layout.nr_orc;
	bpf_loop(32, search_orc, &w, 0);
	return w->nr_orcs == 1 &&
	       !bpf_probe_read_kernel(w->orc, ORC_BYTES,
				      (void *)(layout.orc_entries + w->orc_at * (__u64)ORC_BYTES));
}

/* rsp's number, from the entry of a function's first instruction, where the CFA is rsp + 8 */
static __always_inline bool learn_orc_sp(struct kernel_walk *w)
{
	struct orc_entry___any *orc = (void *)w->orc;

	w->ip = layout.any_function + 1;
	if (!layout.any_function || !find_orc(w) || orc->sp_offset != 8)
		return false;
	orc_sp = BPF_CORE_READ_BITFIELD(orc, sp_reg);
	return true;
}

static __always_inline bool enters_interrupt(__u64 ip)
{
	return ip > layout.interrupt_entries.begin && ip <= layout.interrupt_entries.end;
}

static __always_inline __u8 kind_of_orc(const struct orc_entry___any *orc, bool keeps_bp)
{
	__u32 sp_reg = BPF_CORE_READ_BITFIELD(orc, sp_reg),
	      type = BPF_CORE_READ_BITFIELD(orc, type);

	if (bpf_core_field_exists(orc->end) ? BPF_CORE_READ_BITFIELD(orc, end) : type == ORC_END)
		return KERNEL_END;
	if (type == ORC_REGS && sp_reg == orc_sp)
		return KERNEL_REGS;
	if (type != ORC_CALL || !keeps_bp)
		return KERNEL_ODD;
	if (sp_reg == orc_sp)
		return KERNEL_SP;
	return sp_reg == ORC_REG_BP ? KERNEL_BP : KERNEL_ODD;
}

/* The rule is in map memory, and read from there again: see AGAIN() for why. */
static __always_inline void make_rule(struct kernel_walk *w, struct kernel_rule *rule)
{
	struct orc_entry___any *orc = (void *)w->orc;

	*rule = (struct kernel_rule){ .kind = KERNEL_ODD };
	if (w->ip < layout.text.begin || w->ip >= layout.text.end || w->ip == layout.rethook ||
	    w->ip == layout.graph_hook || !find_orc(w))
		return;
	rule->interrupt = enters_interrupt(w->ip);
	barrier();
	rule->cfa_offset = orc->sp_offset;
	rule->bp_offset = orc->bp_offset;
	/* only what is saved below the CFA has an offset */
	rule->restores_bp =
		BPF_CORE_READ_BITFIELD(orc, bp_reg) != ORC_REG_UNDEFINED && rule->bp_offset;
	barrier();
	rule->kind =
		kind_of_orc(orc, AGAIN(rule->restores_bp) ||
					 BPF_CORE_READ_BITFIELD(orc, bp_reg) == ORC_REG_UNDEFINED);
}

/*
 * Puts the rule of w->ip into its place among the recent ones. A global function, as walk_kernel()
 * is.
 */
__noinline int find_rule_of(struct kernel_walk *w)
{
	struct kernel_rule *known, rule;
	struct recent_rule *recent;
	__u64 ip;

	if (!w || !HAS_ORC)
		return 0;
	ip = w->ip;
	recent = &w->recent[RECENT_PLACE(ip)];
	recent->ip = ip;
	known = bpf_map_lookup_elem(&kernel_rules, &ip);
	if (known) {
		recent->rule = *known;
	} else {
		make_rule(w, &recent->rule);
		rule = recent->rule;
		bpf_map_update_elem(&kernel_rules, &ip, &rule, BPF_ANY);
	}
	return 0;
}

/*
 * One frame. 1 ends the walk: w->done says whether at the outermost frame. A global function, as
 * walk_kernel() is.
 */
__noinline int walk_kernel_frame(struct kernel_walk *w)
{
	const struct kernel_rule *rule;
	struct recent_rule *recent;
	__u64 ip, cfa, bp;
	__u32 i;

	if (!w || !HAS_ORC)
		return 1;
	ip = w->ip;
	i = w->stack.stack.nr_frames;
	w->stack.frames[MASKED(i, MAX_KERNEL_WALK - 1)] = ip;
	w->stack.stack.nr_frames = i + 1;
	w->stack.stack.id = hash_word(w->stack.stack.id, ip);
	recent = &w->recent[RECENT_PLACE(ip)];
	if (recent->ip != ip)
		find_rule_of(w);
	rule = &recent->rule;
	if (rule->interrupt && w->start == START_AT_WAKING)
		return 1; /* wakers.bpf.h wants to know */
	if (AGAIN(rule->kind) == KERNEL_END ||
	    (AGAIN(rule->kind) == KERNEL_REGS && w->at + AGAIN(rule->cfa_offset) == w->top)) {
		w->done = true;
		return 1;
	}
	if (AGAIN(rule->kind) == KERNEL_SP)
		cfa = w->at + AGAIN(rule->cfa_offset);
	else if (AGAIN(rule->kind) == KERNEL_BP && w->bp_known)
		cfa = w->bp + AGAIN(rule->cfa_offset);
	else
		return 1;
	if (cfa & 7 || cfa < w->at + 8 || cfa > w->top || cfa - w->from > KERNEL_WORDS * 8)
		return 1;
	if (AGAIN(rule->restores_bp)) {
		bp = cfa + AGAIN(rule->bp_offset) - w->from;
		w->bp = w->words[MASKED(bp / 8, KERNEL_WORDS - 1)];
		w->bp_known = bp < KERNEL_WORDS * 8;
	}
	w->ip = w->words[MASKED((cfa - 8 - w->from) / 8, KERNEL_WORDS - 1)];
	w->at = cfa;
	return 0;
}

#define FRAMES_A_TURN 8 /* a turn of bpf_loop() costs a call, too */

static long walk_kernel_next(__u32 i, struct kernel_walk **ctx)
{
	UNROLL
	for (i = 0; i < FRAMES_A_TURN; i++)
		if (walk_kernel_frame(*ctx))
			return 1;
	return 0;
}

/*
 * Unwinds from w->start's function on into w->stack, with the same frames as bpf_get_stack(). True
 * if it reached the outermost frame. A global function: verified once, and not for each path
 * through its caller.
 */
__noinline int walk_kernel(struct kernel_walk *w)
{
	struct kernel_start *start;
	__u64 bytes;
	__u32 at;

	if (!w || !HAS_ORC)
		return false;
	start = &starts[MASKED(w->start, NR_KERNEL_STARTS - 1)];
	at = start->word;
	bytes = w->top - w->from;
	if (bytes > KERNEL_WORDS * 8)
		bytes = KERNEL_WORDS * 8;
	barrier_var(bytes);
	if (bytes > KERNEL_WORDS * 8 || bpf_probe_read_kernel(w->words, bytes, (void *)w->from) ||
	    w->words[MASKED(at, KERNEL_WORDS - 1)] != start->ip)
		return false;
	w->at = w->from + at * 8 + 8;
	w->ip = start->ip;
	w->bp = w->words[MASKED(start->bp_word, KERNEL_WORDS - 1)];
	w->bp_known = start->bp_word;
	w->done = false;
	w->stack.stack.id = 0;
	w->stack.stack.nr_frames = 0;
	bpf_loop(MAX_KERNEL_WALK / FRAMES_A_TURN, walk_kernel_next, &w, 0);
	if (!w->stack.stack.id)
		w->stack.stack.id = 1;
	return w->done;
}

#define MAX_SCHEDULER_FRAMES 8

/*
 * The frames that bpf_get_task_stack() leaves out of the stack of a task that is off the CPU: those
 * of the scheduler's functions, from __schedule() on. Walks from w->from, where __switch_to_asm()
 * has left the task's registers, up to the return address `until`. How many frames are in w->stack
 * now; 0: it is not on the way. A global function, as walk_kernel() is.
 */
VERIFIED_ONCE __u32 walk_scheduler(struct kernel_walk *w, __u64 until)
{
	enum { BP = 5, RETURN_ADDRESS = 6 }; /* words of struct inactive_task_frame */
	__u64 bytes;
	__u32 i;

	if (!w || !HAS_ORC || (!orc_sp && !learn_orc_sp(w)))
		return 0;
	bytes = w->top - w->from;
	if (bytes > KERNEL_WORDS * 8)
		bytes = KERNEL_WORDS * 8;
	barrier_var(bytes);
	if (bytes > KERNEL_WORDS * 8 || bpf_probe_read_kernel(w->words, bytes, (void *)w->from))
		return 0;
	w->start = START_AT_SWITCH;
	w->at = w->from + (RETURN_ADDRESS + 1) * 8;
	w->ip = w->words[RETURN_ADDRESS];
	w->bp = w->words[BP];
	w->bp_known = true;
	w->stack.stack.nr_frames = 0;
	for (i = 0; i < MAX_SCHEDULER_FRAMES; i++) {
		if (w->ip == until)
			return i;
		if (walk_kernel_frame(w))
			break;
	}
	return 0;
}

static long calibrate_word(__u32 i, struct kernel_walk **ctx)
{
	struct kernel_walk *w = *ctx;
	__u64 word = w->words[MASKED(i, KERNEL_WORDS - 1)], ip;

	if (word == w->expected_ip[0]) {
		w->ip_word = i;
		return 1;
	}
	if (word > w->from && word < w->top &&
	    !bpf_probe_read_kernel(&ip, sizeof(ip), (void *)(word + 8)) && ip == w->expected_ip[1])
		w->bp_word = i;
	return 0;
}

/* The next stack calibrates again. */
static __always_inline void calibration_failed(struct kernel_start *start)
{
	start->ip = 0;
	start->walks = ++start->failed < MAX_CALIBRATIONS ? 0 : NEVER_TRUSTED;
}

/*
 * Looks for both words, given what bpf_get_stack() says: the return address, and what leads to the
 * caller's. A global function, as walk_kernel() is.
 */
__noinline int calibrate(struct kernel_walk *w, const struct kernel_stack *expected)
{
	struct kernel_start *start;

	if (!w || !expected || !HAS_ORC ||
	    bpf_probe_read_kernel(w->words, CALIBRATION_WORDS * 8, (void *)w->from))
		return 0;
	w->expected_ip[0] = expected->frames[0];
	w->expected_ip[1] = expected->frames[1];
	w->ip_word = w->bp_word = 0;
	bpf_loop(CALIBRATION_WORDS, calibrate_word, &w, 0);
	start = &starts[MASKED(w->start, NR_KERNEL_STARTS - 1)];
	start->bp_word = w->bp_word;
	start->word = w->ip_word;
	start->ip = expected->frames[0];
	if (!w->ip_word || !learn_orc_sp(w))
		calibration_failed(start);
	return 0;
}

/*
 * Compares the walk's result with bpf_get_stack()'s; calibrates if there has been no successful
 * walk yet.
 */
VERIFIED_ONCE int learn(struct kernel_walk *w, const struct kernel_stack *expected)
{
	struct kernel_start *start;

	if (!w || !expected || !HAS_ORC)
		return 0;
	start = &starts[MASKED(w->start, NR_KERNEL_STARTS - 1)];
	if (!w->done) {
		/* the places may be wrong after all, though a walk from there went well */
		if (!start->walks || ++start->missed == KERNEL_WALK_TRUSTED) {
			start->walks = start->missed = 0;
			calibrate(w, expected);
		}
	} else if (w->stack.stack.id == expected->stack.id &&
		   w->stack.stack.nr_frames == expected->stack.nr_frames) {
		start->missed = 0;
		if (start->walks < KERNEL_WALK_TRUSTED && ++start->walks == KERNEL_WALK_TRUSTED)
			start->trusted++;
	} else if (start->trusted) {
		start->walks = NEVER_TRUSTED;
	} else {
		calibration_failed(start);
	}
	return 0;
}

static __always_inline bool is_in(enum kernel_start_of of, __u64 ip)
{
	return !layout.starts[of].end ||
	       (ip > layout.starts[of].begin && ip <= layout.starts[of].end);
}

/* which of the first frames is the function's; 8: none of them */
VERIFIED_ONCE __u32 find_start(const struct kernel_stack *k, enum kernel_start_of of)
{
	__u32 i;

	if (!k || of >= NR_KERNEL_STARTS)
		return 8;
	for (i = 0; i < 8; i++)
		if (is_in(of, k->frames[i]))
			break;
	return i;
}

/*
 * bpf_get_stack() from the function on. How many frames lie above that depends on whether other
 * tracers use the tracepoint, which may change at any time. The result in bytes, or 0 or less on
 * failure
 */
static __always_inline long get_stack_from(enum kernel_start_of of, void *ctx,
					   struct kernel_stack *k)
{
	struct kernel_start *start = &starts[of];
	long bytes = bpf_get_stack(ctx, k->frames, MAX_KERNEL_DEPTH * 8, start->frames_above & 7);
	__u32 i;

	if (bytes < 8 || is_in(of, k->frames[0]))
		return bytes;
	bpf_get_stack(ctx, k->frames, 8 * 8, 0);
	i = CALL(find_start, k, of);
	start->frames_above = i & 7;
	if (start->walks != NEVER_TRUSTED)
		start->walks = 0;
	return bpf_get_stack(ctx, k->frames, MAX_KERNEL_DEPTH * 8, i & 7);
}

/*
 * Sends the stack of the running task from one of the two tracepoints on by the tables alone: its
 * ID, or 0 if this walk is not trusted yet, or did not reach the outermost frame
 */
static __always_inline __u64 send_walked(enum kernel_start_of of, void *ctx,
					 struct task_struct *task, struct stack_stats *stats)
{
	struct kernel_start *start = &starts[of];
	__u32 zero = 0;
	__u64 bytes;
	struct kernel_walk *w = bpf_map_lookup_elem(&kernel_walks_of, &zero);

	if (!w)
		return 0;
	w->done = false;
	w->start = of;
	if (!HAS_ORC || start->walks == NEVER_TRUSTED)
		return 0;
	w->from = (__u64)ctx - BELOW_CONTEXT;
	w->top = (__u64)bpf_task_pt_regs(task);
	barrier(); /* from here on, both are numbers for the verifier, no longer pointers */
	if (!start->ip || !walk_kernel(w) || start->walks < KERNEL_WALK_TRUSTED ||
	    !(++w->nr % COMPARE_EVERY))
		return 0;
	bytes = w->stack.stack.nr_frames * 8ULL;
	barrier_var(bytes);
	if (bytes > MAX_KERNEL_WALK * 8)
		return 0;
	w->stack.stack.kind = RECORD_KERNEL_STACK;
	w->stack.stack.uid = task_uid(task);
	send_stack(w->stack.stack.id, &w->stack, bytes, MAX_KERNEL_WALK * 8, BPF_RB_NO_WAKEUP,
		   stats);
	return w->stack.stack.id;
}

/*
 * Sends what get_stack_from() has put into k, after send_walked() has returned 0, and learns from
 * it.
 */
static __always_inline __u64 send_unwound(enum kernel_start_of of, struct kernel_stack *k,
					  long bytes, struct stack_stats *stats)
{
	struct kernel_start *start = &starts[of];
	__u32 zero = 0;
	struct kernel_walk *w = bpf_map_lookup_elem(&kernel_walks_of, &zero);
	__u64 id;

	k->stack.uid = task_uid(bpf_get_current_task_btf());
	id = CALL(send_kernel_frames, k, bytes, stats);
	if (w && id && HAS_ORC && (start->walks < KERNEL_WALK_TRUSTED || w->done))
		CALL(learn, w, k);
	return id;
}

/* send_kernel_stack() for a task that is leaving the CPU */
static __always_inline __u64 send_schedule_stack(void *ctx, struct task_struct *task,
						 struct stack_stats *stats)
{
	__u64 id = send_walked(START_AT_SWITCH, ctx, task, stats);
	__u32 zero = 0;
	struct kernel_stack *k = bpf_map_lookup_elem(&kernel_stacks, &zero);

	if (id || !k)
		return id;
	return send_unwound(START_AT_SWITCH, k, get_stack_from(START_AT_SWITCH, ctx, k), stats);
}

#endif
