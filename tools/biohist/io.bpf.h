/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block I/Os from their beginning to their end, for any tracepoints: io_begin() and io_finish(). An
 * I/O is identified by the address of its request or bio, and is added to its histogram at its end;
 * if stacks are wanted, with those of its beginning.
 */
#ifndef EHPERF_IO_BPF_H
#define EHPERF_IO_BPF_H

#include "biohist_abi.h"

#define SERIES_KEY struct io_key
#include "alone.bpf.h"
#include "histograms.bpf.h"
#include "processes.bpf.h"
#include "stacks.bpf.h"
#include "task.bpf.h"

#define REQ_OP_MASK 0xff
/* REQ_OP_DRV_IN: commands of the driver's own, which are no I/O of the disk's */
#define FIRST_PRIVATE_OP 34

/* ---- what is measured: set before loading ---- */

const volatile bool by_size, by_part, by_disk, by_flags, by_process;
const volatile bool only_one_disk, only_one_partition;
const volatile __u32 wanted_dev;
const volatile bool with_stacks; /* those of I/Os, summed up */
const volatile __u64 slow_ns;    /* I/Os that take longer are also sent one by one; 0: none */

/* ---- I/Os that are under way ---- */

/* of which disk and partition, and what is done there */
struct io_target {
	__u32 dev, partition;
	__u32 operation; /* as in the kernel, with flags */
};

struct io {
	__u64 queued_ns, issued_ns; /* issued_ns: 0, not yet */
	__u64 bytes;                /* that are done so far */
	__u64 allocated_ns; /* as the request has it: another one may have its address later */
	__u64 issuer; /* ID of the key_record of who began it, with the stacks there; 0: none */
	struct io_target target; /* where it began: a driver may send it on to another disk */
	__u32 pid;
	bool done;     /* it is kept, to know it again */
	bool unwanted; /* and done: who inserted it is not measured, whoever issues it */
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64); /* address of the request or of the bio */
	__type(value, struct io);
} under_way SEC(".maps");

static __always_inline struct io *io_at(const void *at)
{
	__u64 address = (__u64)at;

	return bpf_map_lookup_elem(&under_way, &address);
}

static __always_inline void io_forget(const void *at)
{
	__u64 address = (__u64)at;

	bpf_map_delete_elem(&under_way, &address);
}

ONE_PER_CPU(struct io_counts) io_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} slow_ios SEC(".maps");

/* I/Os begin in programs that a completion may interrupt */
#define COUNT(counts, field) __sync_fetch_and_add(&(counts)->field, 1)

static __always_inline struct io_counts *own_counts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&io_counts, &zero);
}

static __always_inline bool target_wanted(const struct io_target *t)
{
	if (only_one_partition)
		return t->partition == wanted_dev;
	return !only_one_disk || t->dev == wanted_dev;
}

static __always_inline bool is_private(const struct io_target *t)
{
	return (t->operation & REQ_OP_MASK) >= FIRST_PRIVATE_OP;
}

/* ---- begun ---- */

ONE_PER_CPU(struct stack_key) issuers SEC(".maps");

/* The ID of the running process, with its stacks: ctx is the program's. The caller is alone. */
static __always_inline __u64 take_issuer(void *ctx, struct task_struct *task, const struct io *io)
{
	struct stack_stats *stats = own_stats();
	__u32 zero = 0;
	struct user_walk *u = bpf_map_lookup_elem(&unwinds, &zero);
	struct stack_key *key = bpf_map_lookup_elem(&issuers, &zero);

	if (!key || !u || !stats)
		return 0;
	__builtin_memset(key, 0, sizeof(*key));
	key->flags = STACK_SENT_APART;
	key->pid = io->pid;
	key->uid = task_uid(task);
	__builtin_memcpy(key->comm, io->comm, sizeof(key->comm));
	key->kernel_stack = send_kernel_stack(ctx, stats);
	take_user_stack(u, task, key, stats);
	return send_key(key, stats);
}

/*
 * Those outside the tool's PID namespace, as the kernel's threads are for a container, have no
 * number there.
 */
static __always_inline bool issuer_wanted(struct task_struct *task, __u32 pid)
{
	return pid || !task->pid ? task_wanted(task, pid, 0) : !only_listed_pids;
}

/*
 * *io is new, issued already or not: its queued_ns, and what describes who begins it, are filled
 * in. False: no room
 */
static __always_inline bool io_begin(void *ctx, const void *at, struct io *io)
{
	__u64 address = (__u64)at;
	struct task_struct *task = bpf_get_current_task_btf();
	struct io_counts *counts = own_counts();
	struct io *before;

	io->queued_ns = io->issued_ns ? io->issued_ns : bpf_ktime_get_ns();
	io->pid = task_user_pid(task);
	before = io_at(at);
	if (before && !before->done && counts)
		COUNT(counts, ends_unseen);
	if (before)
		io_forget(at);
	if (!counts || !target_wanted(&io->target))
		return true;
	if (!issuer_wanted(task, io->pid)) {
		io->done = io->unwanted = true;
		if (io->allocated_ns && !io->issued_ns)
			bpf_map_update_elem(&under_way, &address, io, BPF_ANY);
		return true;
	}
	if (by_process || with_stacks || slow_ns)
		bpf_probe_read_kernel_str(io->comm, sizeof(io->comm),
					  untrusted(task)->group_leader->comm);
	if ((with_stacks || slow_ns) && alone_begin()) {
		io->issuer = take_issuer(ctx, task, io);
		alone_end();
	}
	if (bpf_map_update_elem(&under_way, &address, io, BPF_ANY))
		return false;
	COUNT(counts, begun);
	return true;
}

static __always_inline void io_lost(void)
{
	struct io_counts *counts = own_counts();

	if (counts)
		COUNT(counts, no_room);
}

/* ---- done ---- */

/* without a branch: of so many, the verifier would follow every combination */
#define FLAG(target, kernels, ours) \
	(((target)->operation >> bpf_core_enum_value(enum req_flag_bits, kernels) & 1) << (ours))

static __always_inline __u32 flags_of(const struct io_target *t)
{
	return FLAG(t, __REQ_SYNC, IO_SYNC) | FLAG(t, __REQ_META, IO_META) |
	       FLAG(t, __REQ_PRIO, IO_PRIORITY) | FLAG(t, __REQ_IDLE, IO_IDLE) |
	       FLAG(t, __REQ_FUA, IO_FUA) | FLAG(t, __REQ_PREFLUSH, IO_PREFLUSH) |
	       FLAG(t, __REQ_RAHEAD, IO_READ_AHEAD) | FLAG(t, __REQ_BACKGROUND, IO_BACKGROUND) |
	       FLAG(t, __REQ_NOWAIT, IO_NO_WAIT);
}

/*
 * by status (errors[] of the kernel's block/blk-core.c). Not static: a static variable makes
 * libbpf's BTF invalid
 */
const __u8 errnos[16] = { 0, 95, 110, 28, 67, 121, 52, 61, 84, 12, 5, 5, 11, 16, 5, 5 };

/* the errno of a status, of those that have the same number in all kernels; others: EIO */
static __always_inline __u32 errno_of(__u32 status)
{
	if (status > 15)
		return 5;
	barrier_var(status); /* or the compiler leaves out the mask, which the verifier wants */
	return errnos[status & 15];
}

/* an I/O that is done */
struct io_done {
	struct io_target target;
	__u32 error; /* errno */
	__u64 bytes;
	__u64 queued_ns, device_ns; /* how long it was there */
};

/* Adds a value to the histogram of a part, and with the stacks in which the I/O began. */
static __always_inline void add(struct io_key *key, enum io_part part, __u64 value,
				const struct io_done *done, __u64 issuer)
{
	struct stack_value of_stacks = { .count = 1, .waiting_ns = value };
	struct stack_key stacks = { .waker = issuer, .end = END_NOT_TAKEN };
	struct stack_stats *stats = own_stats();
	__u32 slot;

	key->part = by_part ? part : 0;
	slot = series_slot(series_of(key));
	series_add(slot, value, 0, 0, done->error);
	stacks.flags = STACK_SLOT(slot);
	if (with_stacks && issuer && stats)
		add_value(&stacks, &of_stacks, stats);
}

static __always_inline void send_slow(const struct io *io, const struct io_done *done,
				      struct io_counts *counts)
{
	struct slow_io *slow = bpf_ringbuf_reserve(&slow_ios, sizeof(*slow), 0);

	if (!slow) {
		COUNT(counts, slow_lost);
		return;
	}
	slow->ended_ns = bpf_ktime_get_ns();
	slow->queued_ns = done->queued_ns;
	slow->device_ns = done->device_ns;
	slow->bytes = done->bytes;
	slow->issuer = io->issuer;
	slow->error = done->error;
	slow->key = (struct io_key){
		.dev = done->target.dev,
		.operation = (done->target.operation & REQ_OP_MASK) + 1,
		.flags = flags_of(&done->target),
		.pid = io->pid,
	};
	__builtin_memcpy(slow->key.comm, io->comm, sizeof(slow->key.comm));
	bpf_ringbuf_submit(slow, 0);
}

static __always_inline void add_to_histograms(const struct io *io, const struct io_done *done)
{
	struct io_key key = { .dev = by_disk ? done->target.dev : 0 };

	if (by_flags) {
		key.operation = (done->target.operation & REQ_OP_MASK) + 1;
		key.flags = flags_of(&done->target);
	}
	if (by_process) {
		key.pid = io->pid;
		__builtin_memcpy(key.comm, io->comm, sizeof(key.comm));
	}
	if (by_size) {
		add(&key, IO_WHOLE, done->bytes, done, io->issuer);
	} else if (by_part) {
		add(&key, IO_QUEUED, done->queued_ns, done, io->issuer);
		add(&key, IO_ON_DEVICE, done->device_ns, done, io->issuer);
	} else {
		add(&key, IO_WHOLE, done->queued_ns + done->device_ns, done, io->issuer);
	}
}

/* status: a blk_status_t */
static __always_inline void io_finish(const struct io *io, __u32 status)
{
	__u64 now_ns = bpf_ktime_get_ns(),
	      issued_ns = io->issued_ns ? io->issued_ns : io->queued_ns;
	struct io_done done = {
		.target = io->target,
		.error = errno_of(status),
		.bytes = io->bytes,
		.queued_ns = issued_ns - io->queued_ns,
		.device_ns = now_ns > issued_ns ? now_ns - issued_ns : 0,
	};
	struct io_counts *counts = own_counts();

	if (!counts)
		return;
	COUNT(counts, done);
	__sync_fetch_and_add(&counts->bytes, done.bytes);
	preemption_off();
	add_to_histograms(io, &done);
	preemption_on();
	if (slow_ns && done.queued_ns + done.device_ns > slow_ns)
		send_slow(io, &done, counts);
}

#endif
