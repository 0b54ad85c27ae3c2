// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Block I/O, from the moment in which it is handed to the disk's queue to its completion. Disks with a queue of requests
 * are watched by the tracepoints of requests, those without one (device mapper, md, zram, brd) by those of bios: as the
 * kernel counts in /proc/diskstats.
 */
#include "biohist_abi.h"

#define SERIES_KEY struct io_key
#include "histograms.bpf.h"
#include "preemption.bpf.h"
#include "task.bpf.h"

#define REQ_OP_MASK	0xff
#define FIRST_PRIVATE_OP	34	/* REQ_OP_DRV_IN: commands of the driver's own, which are no I/O of the disk's */

/* ---- what is measured: set before loading ---- */

const volatile bool by_size, by_part, by_disk, by_flags, by_process;
const volatile bool only_one_disk, only_one_partition;
const volatile __u32 wanted_dev;

/* ---- I/Os that are under way ---- */

struct io {
	__u64 queued_ns, issued_ns;	/* issued_ns: 0, not yet */
	__u64 bytes;			/* that are done so far */
	__u64 allocated_ns;		/* as the request has it: another one may have its address later */
	__u32 pid;
	bool done;			/* it is kept, to know it again */
	char comm[16];
};

/*
 * Requests stay here when they are done: the kernel has a certain number of them, which it uses again and again. Bios do
 * not.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);	/* address of the request or of the bio */
	__type(value, struct io);
} under_way SEC(".maps");

ONE_PER_CPU(struct io_counts) io_counts SEC(".maps");

/* I/Os begin in programs that a completion may interrupt */
#define COUNT(counts, field) __sync_fetch_and_add(&(counts)->field, 1)

static __always_inline struct io_counts *own_counts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&io_counts, &zero);
}

/* of which disk and partition, and what is done there */
struct io_target {
	__u32 dev, partition;
	__u32 operation;	/* as in the kernel, with flags */
};

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

static __always_inline struct io_target target_of_request(struct request *rq)
{
	return (struct io_target){
		.dev = BPF_CORE_READ(rq, q, disk, part0, bd_dev),
		.partition = only_one_partition ? BPF_CORE_READ(rq, part, bd_dev) : 0,
		.operation = BPF_CORE_READ(rq, cmd_flags),
	};
}

static __always_inline void begin(__u64 address, const struct io_target *target, __u64 issued_ns, __u64 allocated_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct io_counts *counts = own_counts();
	struct io io = {
		.queued_ns = bpf_ktime_get_ns(),
		.issued_ns = issued_ns,
		.allocated_ns = allocated_ns,
		.pid = task_user_pid(task),
	};

	if (!counts || !target_wanted(target) || !task_wanted(task, io.pid, 0))
		return;
	if (by_process)
		bpf_probe_read_kernel_str(io.comm, sizeof(io.comm), untrusted(task)->group_leader->comm);
	if (bpf_map_update_elem(&under_way, &address, &io, BPF_ANY))
		COUNT(counts, no_room);
	else
		COUNT(counts, begun);
}

/* ---- done ---- */

#define FLAG(target, kernels, ours) \
	((target)->operation >> bpf_core_enum_value(enum req_flag_bits, kernels) & 1 ? 1 << (ours) : 0)

static __always_inline __u32 flags_of(const struct io_target *t)
{
	return FLAG(t, __REQ_SYNC, IO_SYNC) | FLAG(t, __REQ_META, IO_META) | FLAG(t, __REQ_PRIO, IO_PRIORITY) |
	       FLAG(t, __REQ_IDLE, IO_IDLE) | FLAG(t, __REQ_FUA, IO_FUA) | FLAG(t, __REQ_PREFLUSH, IO_PREFLUSH) |
	       FLAG(t, __REQ_RAHEAD, IO_READ_AHEAD) | FLAG(t, __REQ_BACKGROUND, IO_BACKGROUND) |
	       FLAG(t, __REQ_NOWAIT, IO_NO_WAIT);
}

/* the errno of a status (errors[] of the kernel's block/blk-core.c), of those that disks have; others: EIO */
static __always_inline __u32 errno_of(__u32 status)
{
	static const __u8 errnos[16] = { 0, 95, 110, 28, 67, 121, 52, 61, 84, 12, 5, 5, 5, 5, 5, 5 };

	if (status > 15)
		return 5;
	barrier_var(status);	/* or the compiler leaves out the mask, which the verifier wants */
	return errnos[status & 15];
}

static __always_inline void add(struct io_key *key, enum io_part part, __u64 value, __u32 status)
{
	key->part = by_part ? part : 0;
	series_add(series_slot(series_of(key)), value, 0, 0, errno_of(status));
}

static __always_inline void finish(const struct io *io, const struct io_target *t, __u32 status, __u64 bytes)
{
	__u64 now_ns = bpf_ktime_get_ns();
	__u64 issued_ns = io->issued_ns ? io->issued_ns : io->queued_ns;
	struct io_counts *counts = own_counts();
	struct io_key key = {};

	if (!counts)
		return;
	COUNT(counts, done);
	__sync_fetch_and_add(&counts->bytes, bytes);
	if (by_disk)
		key.dev = t->dev;
	if (by_flags) {
		key.operation = (t->operation & REQ_OP_MASK) + 1;
		key.flags = flags_of(t);
	}
	if (by_process) {
		key.pid = io->pid;
		__builtin_memcpy(key.comm, io->comm, sizeof(key.comm));
	}
	if (by_size) {
		add(&key, IO_WHOLE, bytes, status);
	} else if (by_part) {
		add(&key, IO_QUEUED, issued_ns - io->queued_ns, status);
		add(&key, IO_ON_DEVICE, now_ns > issued_ns ? now_ns - issued_ns : 0, status);
	} else {
		add(&key, IO_WHOLE, now_ns > io->queued_ns ? now_ns - io->queued_ns : 0, status);
	}
}

/* ---- requests ---- */

static __always_inline void queue(struct request *rq, bool issue)
{
	struct io_target target = target_of_request(rq);
	__u64 address = (__u64)rq, now_ns = bpf_ktime_get_ns();
	struct io *io = bpf_map_lookup_elem(&under_way, &address);

	if (is_private(&target))
		return;
	if (!io || io->done || io->allocated_ns != rq->start_time_ns)	/* else it is inserted again, or issued */
		begin(address, &target, issue ? now_ns : 0, rq->start_time_ns);
	else if (issue)
		io->issued_ns = now_ns;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(request_inserted, struct request *rq)
{
	preemption_off();
	queue(rq, false);
	preemption_on();
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(request_issued, struct request *rq)
{
	preemption_off();
	queue(rq, true);
	preemption_on();
	return 0;
}

/* into the one before it on the disk */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(request_merged, struct request *rq)
{
	__u64 address = (__u64)rq;
	struct io *io = bpf_map_lookup_elem(&under_way, &address);
	struct io_counts *counts = own_counts();

	if (io && !io->done && counts) {
		io->done = true;
		COUNT(counts, merged);
	}
	return 0;
}

/*
 * A request that only flushes the disk's cache is never issued, but another in its place is. The kernel counts both:
 * one as a write of nothing.
 */
static __always_inline bool is_empty_flush(struct request *rq, const struct io_target *t)
{
	return t->operation & 1 && rq->bio && !rq->__data_len && rq->start_time_ns;
}

/*
 * A request with a flush before or after its data is completed twice: with its data, and as a whole. The first time is
 * when the disk is done with it, the second one is known by the request that is done already.
 */
static __always_inline void completed(struct request *rq, __u32 status, __u32 bytes)
{
	struct io_target target = target_of_request(rq);
	__u64 address = (__u64)rq;
	struct io *io = bpf_map_lookup_elem(&under_way, &address), flush = { .queued_ns = rq->start_time_ns };
	bool known = io && io->allocated_ns == rq->start_time_ns;
	struct io_counts *counts = own_counts();

	if (!counts || is_private(&target) || !target_wanted(&target))
		return;
	if (!known && is_empty_flush(rq, &target) && !only_listed_pids) {
		COUNT(counts, begun);
		finish(&flush, &target, status, 0);
		return;
	}
	if (!known && rq->bio && !only_listed_pids)
		COUNT(counts, begun_before);
	if (!known || io->done)
		return;
	io->bytes += bytes;
	if (bytes < rq->__data_len)
		return;		/* a part */
	io->done = true;
	finish(io, &target, status, io->bytes);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(request_completed, struct request *rq, __u32 status, __u32 bytes)
{
	preemption_off();
	completed(rq, status, bytes);
	preemption_on();
	return 0;
}

/* ---- bios ---- */

/* of a disk without a queue of requests? */
static __always_inline bool is_bio_based(struct bio *bio)
{
	return bio->bi_bdev && !BPF_CORE_READ(bio, bi_bdev, bd_disk, queue, mq_ops);
}

static __always_inline struct io_target target_of_bio(struct bio *bio)
{
	return (struct io_target){
		.dev = BPF_CORE_READ(bio, bi_bdev, bd_disk, part0, bd_dev),
		.partition = only_one_partition ? BPF_CORE_READ(bio, bi_bdev, bd_dev) : 0,
		.operation = BPF_CORE_READ(bio, bi_opf),
	};
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(bio_queued, struct bio *bio)
{
	struct io_target target;
	__u64 address = (__u64)bio;
	struct io *io;

	if (!is_bio_based(bio))
		return 0;
	preemption_off();
	target = target_of_bio(bio);
	begin(address, &target, 0, 0);
	io = bpf_map_lookup_elem(&under_way, &address);
	if (io)
		io->bytes = bio->bi_iter.bi_size;
	preemption_on();
	return 0;
}

SEC("tp_btf/block_bio_complete")
int BPF_PROG(bio_completed, struct request_queue *q, struct bio *bio)
{
	__u64 address = (__u64)bio;
	struct io_target target;
	struct io *io, whole;

	if (!is_bio_based(bio))
		return 0;
	preemption_off();
	io = bpf_map_lookup_elem(&under_way, &address);
	if (io) {
		whole = *io;
		bpf_map_delete_elem(&under_way, &address);
		target = target_of_bio(bio);
		finish(&whole, &target, bio->bi_status, whole.bytes);
	}
	preemption_on();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
