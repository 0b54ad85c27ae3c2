/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends stacks and values to user space. The frames of each distinct stack go through the ring
 * buffer once. Values are summed up by struct stack_key in the map `values`. Values without room in
 * the map go through the ring buffer, too. So do raw samples, which the kernel cannot unwind yet.
 */
#ifndef EHPERF_STACKS_BPF_H
#define EHPERF_STACKS_BPF_H

#include <asm-generic/errno-base.h>

#include "kernel.bpf.h"
#include "kernel_symbol.bpf.h"
#include "preemption.bpf.h"
#include "records_abi.h"
#include "stats.bpf.h"
#include "task.bpf.h"
#include "unwind.bpf.h"

#define RECORDS_BYTES (16 << 20)

const volatile bool with_user_stacks = true, with_kernel_stacks = true;
/* set before loading, by wallprof: keys get numbers, and its records name keys by these */
const volatile bool keys_apart;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RECORDS_BYTES);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);   /* a stack's ID, or that of a key_record */
	__type(value, __u32); /* the number of the key_record; for a stack: 1 */
} sent SEC(".maps");

__u64 keys_sent;

/* the time in units of 2^30 ns, about a second; never 0 */
static __always_inline __u64 this_second(void)
{
	return (bpf_ktime_get_ns() >> 30) + 1;
}

/*
 * with keys_apart: the second in which `sent` was full last. Until it ends, new keys get no number:
 * without this, one key would get a new number at each event
 */
__u64 full_second;

/* with keys_apart: users who have used up their share of `sent`. Their new keys get no number */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* resized before loading */
	__type(key, __u32);     /* uid */
	__type(value, __u8);
} crowded SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct stack_key);
	__type(value, struct stack_value);
} values SEC(".maps");

/* sent as a struct frames_record */
struct kernel_stack {
	struct frames_header stack;
	__u64 frames[MAX_KERNEL_DEPTH + 1];
};
_Static_assert(__builtin_offsetof(struct kernel_stack, frames) == sizeof(struct frames_record),
	       "struct kernel_stack");

ONE_PER_CPU(struct kernel_stack) kernel_stacks SEC(".maps");

/*
 * Sends a struct frames_record, unless it was sent before. If the ring buffer is full, the next
 * sample with this stack tries again. frames_bytes must not exceed room. This is checked again
 * here, because 6.1's verifier forgets the bound of a number that it has spilled.
 */
static __always_inline void send_stack(__u64 id, const void *record, __u64 frames_bytes, __u64 room,
				       __u64 wakeup, struct stack_stats *stats)
{
	__u32 one = 1;

	if (bpf_map_lookup_elem(&sent, &id))
		return;
	barrier_var(frames_bytes);
	if (frames_bytes > room)
		return;
	if (bpf_ringbuf_output(&records, (void *)record,
			       sizeof(struct frames_record) + frames_bytes, wakeup))
		stats->stacks_lost++;
	else
		bpf_map_update_elem(&sent, &id, &one, BPF_ANY);
}

/*
 * Sends a stack with more than DEFAULT_DEPTH frames. The later ones are in own_deep_stack()
 * already; copies the first ones there.
 */
static __always_inline void send_deep_stack(struct user_walk *u, __u64 bytes, __u64 wakeup,
					    struct stack_stats *stats)
{
	struct deep_stack *deep = own_deep_stack();

	if (!deep)
		return;
	bpf_probe_read_kernel(deep, sizeof(u->stack) + sizeof(u->frames), &u->stack);
	barrier_var(bytes); /* for 6.1's verifier */
	if (bytes > MAX_DEPTH * 8)
		bytes = MAX_DEPTH * 8;
	send_stack(u->stack.id, deep, bytes, MAX_DEPTH * 8, wakeup, stats);
}

/* Sends the stack of the last walk. Returns its ID; 0: none */
VERIFIED_ONCE __u64 send_user_stack(struct user_walk *u, struct stack_stats *stats)
{
	__u64 bytes, wakeup;

	if (!u || !stats || !u->stack.id)
		return 0;
	bytes = (u->stack.nr_frames < max_depth ? u->stack.nr_frames : max_depth) * 8ULL;
	u->stack.kind = RECORD_USER_STACK;
	u->stack.pid = task_user_pid(bpf_get_current_task_btf());
	u->stack.uid = task_uid(bpf_get_current_task_btf());
	barrier_var(bytes); /* for 6.1's verifier */
	/* a runtime may free its functions soon: wake up user space, which reads their names */
	wakeup = u->has_functions ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	if (bytes <= DEFAULT_DEPTH * 8)
		send_stack(u->stack.id, &u->stack, bytes, DEFAULT_DEPTH * 8, wakeup, stats);
	else
		send_deep_stack(u, bytes, wakeup, stats);
	return u->stack.id;
}

static long hash_frame(__u32 i, struct kernel_stack **ctx)
{
	struct kernel_stack *k = *ctx;

	if (i >= MAX_KERNEL_DEPTH || i >= k->stack.nr_frames)
		return 1;
	k->stack.id = hash_word(k->stack.id, k->frames[i]);
	return 0;
}

/*
 * Sends the kernel stack in k->frames. result: its size in bytes, or an error, as from
 * bpf_get_stack(). The caller has set k->stack.uid. Returns the stack's ID; 0: none
 */
VERIFIED_ONCE __u64 send_kernel_frames(struct kernel_stack *k, long result,
				       struct stack_stats *stats)
{
	__u64 bytes = result;

	if (!k || !stats || result <= 0)
		return 0;
	barrier_var(bytes); /* for 6.1's verifier */
	if (bytes > MAX_KERNEL_DEPTH * 8)
		bytes = MAX_KERNEL_DEPTH * 8;
	k->stack.kind = RECORD_KERNEL_STACK;
	k->stack.nr_frames = bytes / 8;
	k->stack.id = 0;
	bpf_loop(MAX_KERNEL_DEPTH, hash_frame, &k, 0);
	if (!k->stack.id)
		k->stack.id = 1;
	send_stack(k->stack.id, k, bytes, MAX_KERNEL_DEPTH * 8, BPF_RB_NO_WAKEUP, stats);
	return k->stack.id;
}

static __always_inline __u64 send_kernel_stack(void *ctx, struct stack_stats *stats)
{
	__u32 zero = 0;
	struct kernel_stack *k = bpf_map_lookup_elem(&kernel_stacks, &zero);
	long bytes;

	if (!k)
		return 0;
	bytes = bpf_get_stack(ctx, k->frames, MAX_KERNEL_DEPTH * 8, 0);
	k->stack.uid = task_uid(bpf_get_current_task_btf());
	return CALL(send_kernel_frames, k, bytes, stats);
}

static __always_inline __u64 hash_key(const struct stack_key *key)
{
	const __u64 *words = (const __u64 *)key;
	__u64 id = 0;
	__u32 i;

	UNROLL
	for (i = 0; i < sizeof(*key) / sizeof(*words); i++)
		id = hash_word(id, words[i]);
	return id ? id : 1;
}

/*
 * Sends a key, unless it was sent before; a pending one is sent each time. Its stacks must have
 * been sent. Sets *id to its ID. If the ring buffer is full, the next call with this key tries
 * again.
 *
 * Returns the key's number, from 1 on. Returns 0 without keys_apart, and once 2^32 numbers are
 * used. Returns 0 and sends nothing if the key's user has too many keys, or if `sent` was full in
 * this second.
 */
VERIFIED_ONCE __u32 send_numbered_key(const struct stack_key *key, __u64 *id,
				      struct stack_stats *stats)
{
	struct key_record record = { .kind = RECORD_KEY };
	__u32 *known, number, uid;
	__u64 nr, copy; /* of *id: 6.1 takes no map key by an argument's pointer */

	if (!key || !id || !stats)
		return 0;
	*id = record.id = copy = hash_key(key);
	known = bpf_map_lookup_elem(&sent, &copy);
	if (known)
		return *known;
	uid = key->uid;
	if (keys_apart && (full_second == this_second() || bpf_map_lookup_elem(&crowded, &uid)))
		return 0;
	nr = keys_apart ? __sync_fetch_and_add(&keys_sent, 1) + 1 : 0;
	record.number = number = nr <= 0xffffffff ? nr : 0;
	record.key = *key;
	if (bpf_ringbuf_output(&records, &record, sizeof(record), BPF_RB_NO_WAKEUP))
		stats->stacks_lost++;
	else if (!(key->flags & STACK_PENDING) && /* its token is unique */
		 bpf_map_update_elem(&sent, &copy, &number, BPF_ANY) == -E2BIG)
		full_second = this_second();
	return number;
}

static __always_inline __u64 send_key(const struct stack_key *key, struct stack_stats *stats)
{
	__u64 id = 0;

	CALL(send_numbered_key, key, &id, stats);
	return id;
}

static __always_inline __u32 number_key(const struct stack_key *key, struct stack_stats *stats)
{
	__u64 id = 0;

	return CALL(send_numbered_key, key, &id, stats);
}

static __always_inline void sum_up(struct stack_value *sum, const struct stack_value *value)
{
	__sync_fetch_and_add(&sum->count, value->count);
	if (value->blocked_ns)
		__sync_fetch_and_add(&sum->blocked_ns, value->blocked_ns);
	if (value->waiting_ns)
		__sync_fetch_and_add(&sum->waiting_ns, value->waiting_ns);
}

VERIFIED_ONCE int send_value(const struct stack_key *key, const struct stack_value *value)
{
	struct value_record record = { .kind = RECORD_VALUE };

	if (!key || !value)
		return false;
	record.key = *key;
	record.value = *value;
	return !bpf_ringbuf_output(&records, &record, sizeof(record), BPF_RB_NO_WAKEUP);
}

static __always_inline void add_value(const struct stack_key *key, const struct stack_value *value,
				      struct stack_stats *stats)
{
	struct stack_value *sum;

	stats->samples++;
	if (key->flags & STACK_PENDING && CALL(send_value, key, value))
		return; /* a pending key is unique: nothing to sum up */
	sum = bpf_map_lookup_elem(&values, key);
	if (!sum) {
		if (!bpf_map_update_elem(&values, key, value, BPF_NOEXIST))
			return;
		/* another CPU was first, or there is no room */
		sum = bpf_map_lookup_elem(&values, key);
	}
	if (sum)
		sum_up(sum, value);
	else if (!CALL(send_value, key, value))
		stats->no_room += value->count;
}

struct raw_sample {
	__u64 end; /* the stack is copied up to this address */
	struct raw_record record;
	__u8 stack[RAW_NEAR_BYTES + RAW_FAR_BYTES + 4096];
};

/*
 * One for each possible CPU, by its number, since a per-CPU map's values cannot be as large.
 * Resized before loading.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct raw_sample);
} raw_samples SEC(".maps");

/* For bpf_loop(): copies the part of the i-th page that belongs to the copy. 1 ends the loop */
static long copy_near_page(__u32 i, struct raw_sample **ctx)
{
	struct raw_sample *raw = *ctx;
	__u64 addr = i ? (raw->record.stack_addr & ~4095ULL) + i * 4096ULL : raw->record.stack_addr;
	__u64 done = addr - raw->record.stack_addr, bytes = 4096 - (addr & 4095);

	if (addr >= raw->end || done >= RAW_NEAR_BYTES)
		return 1;
	if (bytes > RAW_NEAR_BYTES - done)
		bytes = RAW_NEAR_BYTES - done;
	if (bytes > raw->end - addr)
		bytes = raw->end - addr;
	/*
	 * keeps the check below in the code: the compiler knows its result, but 6.1's verifier does
	 * not
	 */
	barrier_var(bytes);
	if (bytes > 4096)
		return 1;
	if (!bpf_probe_read_user(raw->stack + MASKED(done, RAW_NEAR_BYTES - 1), bytes,
				 (void *)addr))
		raw->record.stack_bytes = done + bytes;
	else
		raw->record.missing |= 1ULL << (i & 63);
	return 0;
}

static long copy_far_page(__u32 i, struct raw_sample **ctx)
{
	struct raw_sample *raw = *ctx;
	__u64 done = MASKED(i * 4096ULL, RAW_FAR_BYTES - 1);

	if (!bpf_probe_read_user(raw->stack + RAW_NEAR_BYTES + done, 4096,
				 (void *)(raw->record.far_addr + done)))
		raw->record.stack_bytes = RAW_NEAR_BYTES + done + 4096;
	else
		raw->record.missing |= 1ULL << ((RAW_NEAR_PAGES + i) & 63);
	return 0;
}

/*
 * The end of the stack that sp points to. The stack of a main thread ends where the kernel has put
 * the arguments. The stack of another thread ends at its thread-local storage, because C libraries
 * put that there. 0: not known, sp is above both
 */
static __always_inline __u64 end_of_stack_at(struct task_struct *task, __u64 sp)
{
	__u64 thread = THREAD_POINTER(untrusted(task)), main = untrusted(task)->mm->start_stack;

	if (sp < thread && (thread < main || sp >= main))
		return thread;
	return sp < main ? main : 0;
}

/*
 * Copies the stack from addr on, page by page, because single pages may be absent: some are never
 * touched, and the page into which the stack is just growing is not touched yet. Of a large stack,
 * copies the RAW_NEAR_BYTES at addr, and the last whole pages.
 */
VERIFIED_ONCE int copy_stack(struct raw_sample *raw, __u64 addr, __u64 end)
{
	if (!raw)
		return 0;
	raw->end = end ? end : ~0ULL;
	raw->record.stack_addr = addr;
	raw->record.stack_bytes = raw->record.missing = raw->record.far_at = 0;
	bpf_loop(RAW_NEAR_PAGES, copy_near_page, &raw, 0);
	if (!end || end - addr <= RAW_NEAR_BYTES)
		return 0;
	raw->record.far_at = RAW_NEAR_BYTES;
	raw->record.far_addr = ((end - 1) & ~4095ULL) + 4096 - RAW_FAR_BYTES;
	bpf_loop(RAW_FAR_PAGES, copy_far_page, &raw, 0);
	return 0;
}

struct raw_restore {
	struct raw_sample *raw;
	struct user_walk *u;
};

/*
 * Restores a hijacked return address in the copy, because user space does not know which ones were
 * hijacked.
 */
static long restore_raw_return(__u32 i, struct raw_restore *m)
{
	struct hijacked_return r;
	__u64 at, *word;

	if (!m->u->hijacked || !read_hijacked(m->u, &r))
		return 1;
	m->u->hijacked = r.next;
	at = r.slot - m->raw->record.stack_addr;
	word = (__u64 *)(m->raw->stack + MASKED(at, RAW_NEAR_BYTES - 1));
	if (at < RAW_NEAR_BYTES && *word == m->u->trampoline)
		*word = r.ip;
	return 0;
}

#define MAX_HIJACKED 64 /* MAX_URETPROBE_DEPTH */

/*
 * Did the walk end because it needs what user space can supply: a current mapping list, or a table
 * that is not made yet?
 */
static __always_inline bool wants_raw(const struct user_walk *u)
{
	return u->end == END_STALE || u->wants_table || walk_wants_region(u) ||
	       ((u->end == END_NO_MAPPING || u->end == END_UNKNOWN_PROCESS) &&
		bpf_ktime_get_ns() > u->quiet_until_ns);
}

/* Fills in the record of a task that has_user_stack(), without the stack's bytes. */
static __always_inline void fill_raw(struct raw_record *record, struct user_walk *u,
				     struct task_struct *task, const struct stack_key *key,
				     const struct stack_value *value, __u64 token)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	take_registers(u, task, regs);
	record->kind = RECORD_RAW;
	record->stack_bytes = record->missing = record->far_at = 0;
	record->time_ns = bpf_ktime_get_ns();
	record->key = *key;
	record->value = *value;
	record->token = token;
	task_image(task, &record->image);
	record->ip = u->frame.ip;
	__builtin_memcpy(record->reg, u->frame.reg, sizeof(record->reg));
	record->syscall = syscall_of(regs);
	record->is_32bit = u->is_32bit;
	record->stack_addr = u->frame.reg[REG_SP] - RED_ZONE_BYTES;
}

#define SHORT_RAW_BYTES (16 << 10) /* most stacks are not deeper */

/*
 * Sends a raw sample, for a walk that wants_raw(). Raw samples use half of the ring buffer at most,
 * to leave room for finished stacks. They are short once a quarter of it is used: if user space is
 * late, many short ones are worth more than a few whole ones.
 */
static __always_inline bool send_raw(struct user_walk *u, struct task_struct *task,
				     const struct stack_key *key, const struct stack_value *value,
				     __u64 token)
{
	__u64 from, end, waiting = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);
	__u32 cpu = bpf_get_smp_processor_id(), bytes;
	struct raw_sample *raw = bpf_map_lookup_elem(&raw_samples, &cpu);

	if (!raw || waiting > RECORDS_BYTES / 2)
		return false;
	fill_raw(&raw->record, u, task, key, value, token);
	from = raw->record.stack_addr;
	end = end_of_stack_at(task, from);
	if (waiting > RECORDS_BYTES / 4 && (!end || end - from > SHORT_RAW_BYTES))
		end = from + SHORT_RAW_BYTES;
	CALL(copy_stack, raw, from, end);
	if (u->hijacked)
		bpf_loop(MAX_HIJACKED, restore_raw_return, &(struct raw_restore){ raw, u }, 0);
	bytes = raw->record.stack_bytes;
	if (bytes > RAW_NEAR_BYTES + RAW_FAR_BYTES)
		bytes = RAW_NEAR_BYTES + RAW_FAR_BYTES;
	return !bpf_ringbuf_output(&records, &raw->record, sizeof(raw->record) + bytes,
				   BPF_RB_FORCE_WAKEUP);
}

/*
 * Adds one sample of the running task: puts its user stack into the key, if user stacks are wanted,
 * and adds 1 and `sum` to the key's value.
 */
static __always_inline void add_sample(struct user_walk *u, struct task_struct *task,
				       struct stack_key *key, __u64 sum, struct stack_stats *stats)
{
	struct stack_value value = { .count = 1, .sum = sum };

	key->end = END_NOT_TAKEN;
	if (with_user_stacks) {
		unwind_current(u, task, WALK_STEPS(max_depth));
		if (wants_raw(u) && send_raw(u, task, key, &value, 0)) {
			stats->samples++;
			return;
		}
		key->user_stack = CALL(send_user_stack, u, stats);
		key->end = u->end;
	}
	add_value(key, &value, stats);
}

/*
 * Counts the current stacks of the running task, unless a filter excludes the task. The calling
 * program must not be preempted. with_kernel: also take the kernel stack; ctx, the program's
 * context, must be one that bpf_get_stack() takes. flags: the tool's own flags of the key; sum: is
 * added to the value
 */
static __always_inline void count_event(void *ctx, bool with_kernel, __u32 flags, __u64 sum)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 zero = 0;
	struct stack_stats *stats = own_stats();
	struct user_walk *u = bpf_map_lookup_elem(&unwinds, &zero);
	struct stack_key key = { .pid = task_user_pid(task),
				 .tid = task_user_tid(task),
				 .flags = flags,
				 .uid = task_uid(task) };

	if (!stats || !u || !cpu_wanted(bpf_get_smp_processor_id()) || is_own(task) ||
	    !task_wanted(task, key.pid, key.tid) || !task_fits(task))
		return;
	if (task->pid == 0)
		key.flags |= STACK_IDLE;
	if (task->flags & PF_KTHREAD)
		key.flags |= STACK_KERNEL_THREAD;
	bpf_get_current_comm(key.comm, sizeof(key.comm));
	if (with_kernel && with_kernel_stacks)
		key.kernel_stack = send_kernel_stack(ctx, stats);
	add_sample(u, task, &key, sum, stats);
}

static __always_inline void count_sample(void *ctx, bool with_kernel)
{
	count_event(ctx, with_kernel, 0, 0);
}

/* count_sample() for a program on a tracepoint */
static __always_inline void count_stacks(void *ctx)
{
	preemption_off();
	count_sample(ctx, true);
	preemption_on();
}

/*
 * At a switch, a stack is copied with interrupts off, which takes microseconds. So each CPU sends
 * at most so many raw samples a second for root, and as many for all other users together. Users
 * with the same uid % RAW_USERS get at most half of that.
 */
#define RAW_PER_SECOND 2000

static __always_inline bool may_send_raw(struct stack_stats *stats, __u32 uid)
{
	__u64 second = this_second();
	__u32 *sent = &stats->raw_of_user[uid % RAW_USERS];

	if (stats->raw_second != second) {
		stats->raw_second = second;
		stats->raw_of_root = stats->raw_of_others = 0;
		__builtin_memset(stats->raw_of_user, 0, sizeof(stats->raw_of_user));
	}
	if (!uid)
		return stats->raw_of_root++ < RAW_PER_SECOND;
	if (*sent >= RAW_PER_SECOND / 2)
		return false;
	++*sent;
	return stats->raw_of_others++ < RAW_PER_SECOND;
}

static __always_inline __u64 new_token(struct stack_stats *stats)
{
	return (__u64)bpf_get_smp_processor_id() << 40 | ++stats->tokens;
}

#define SWITCH_STEPS 4096 /* the limit of a walk at a context switch, where interrupts are off */

/*
 * Puts the task's user stack, if wanted, into a key whose value comes later. If the stack goes out
 * as a raw sample, the key becomes STACK_PENDING.
 */
static __always_inline void take_user_stack(struct user_walk *u, struct task_struct *task,
					    struct stack_key *key, struct stack_stats *stats)
{
	struct stack_value later = {};

	key->end = END_NOT_TAKEN;
	if (!with_user_stacks)
		return;
	unwind_current(u, task, SWITCH_STEPS);
	if (wants_raw(u) && may_send_raw(stats, key->uid)) {
		__u64 token = new_token(stats);

		key->flags |= STACK_PENDING;
		if (send_raw(u, task, key, &later, token)) {
			key->user_stack = token;
			return;
		}
		key->flags &= ~STACK_PENDING;
	}
	key->user_stack = CALL(send_user_stack, u, stats);
	key->end = u->end;
}

#endif
