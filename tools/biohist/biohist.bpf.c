// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Block I/Os from their insertion into the disk's queue to their completion. Disks with a request
 * queue are watched by the tracepoints of requests, the others (device mapper, md, zram, brd) by
 * those of bios, as the kernel counts in /proc/diskstats.
 */
#include "io.bpf.h"

/*
 * Pointers in requests and bios are read by helpers: for one that is read directly, the verifier
 * searches all of the kernel's BTF, which takes it longer than all the rest (untrusted() in
 * task.bpf.h).
 */

/* set once all programs are attached: what begins later is seen to begin */
__u64 attached_ns = ~0ULL;

/* ---- requests ---- */

static __always_inline struct bio *bio_of(struct request *rq)
{
	return BPF_CORE_READ(rq, bio);
}

static __always_inline __u32 partition_of(struct request *rq)
{
	struct block_device *part = BPF_CORE_READ(rq, part);

	if (!part) /* the kernel keeps no statistics of this queue */
		part = BPF_CORE_READ(rq, bio, bi_bdev);
	return BPF_CORE_READ(part, bd_dev);
}

static __always_inline struct io_target target_of_request(struct request *rq)
{
	return (struct io_target){
		.dev = BPF_CORE_READ(rq, q, disk, part0, bd_dev),
		.partition = only_one_partition ? partition_of(rq) : 0,
		.operation = BPF_CORE_READ(rq, cmd_flags),
	};
}

/*
 * Is the request the one that this is known of? Later ones at its address are allocated later; and
 * who takes in the request behind it, takes over that one's time of allocation if it is earlier
 * (attempt_merge() in block/blk-merge.c).
 */
static __always_inline bool is_of(const struct io *io, const struct request *rq)
{
	return io && io->allocated_ns >= rq->start_time_ns;
}

static __always_inline void queue(void *ctx, struct request *rq, __u64 issued_ns)
{
	struct io *known = io_at(rq), io = {
		.target = target_of_request(rq),
		.issued_ns = issued_ns,
		.allocated_ns = rq->start_time_ns,
	};
	bool is_known = is_of(known, rq);

	/* who issues a request may not have inserted it */
	if (is_private(&io.target) || (is_known && known->unwanted) ||
	    (only_listed_pids && issued_ns && !is_known && rq->start_time_ns < attached_ns))
		return;
	if (is_known && !known->done) { /* it is inserted again, or issued */
		if (issued_ns)
			known->issued_ns = issued_ns;
	} else if (!io_begin(ctx, rq, &io) && issued_ns) {
		/* if it is only inserted, there may be room later */
		io_lost();
	}
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(request_inserted, struct request *rq)
{
	queue(ctx, rq, 0);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(request_issued, struct request *rq)
{
	queue(ctx, rq, bpf_ktime_get_ns());
	return 0;
}

/* into the one before it on the disk */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(request_merged, struct request *rq)
{
	struct io *io = io_at(rq);
	struct io_counts *counts = own_counts();

	if (io && io->unwanted) {
		io_forget(rq);
	} else if (io && !io->done && counts) {
		io->done = true;
		COUNT(counts, merged);
		io_forget(rq);
	}
	return 0;
}

/*
 * A request that only flushes the disk's cache is never issued, but another in its place is. The
 * kernel counts both: one as a write of nothing.
 */
static __always_inline bool is_empty_flush(struct request *rq, const struct io_target *t)
{
	return t->operation & 1 && bio_of(rq) && !rq->__data_len;
}

/* A request of which neither the insertion nor the issue was seen is completed. */
static __always_inline void completed_unknown(struct request *rq, const struct io_target *target,
					      __u32 status, struct io_counts *counts)
{
	struct io flush = { .target = *target, .queued_ns = rq->start_time_ns, .comm = "[flush]" };

	if (only_listed_pids || !bio_of(rq))
		return;
	if (!is_empty_flush(rq, target)) {
		if (rq->start_time_ns < attached_ns) /* else it is counted as lost */
			COUNT(counts, begun_before);
	} else if (rq->start_time_ns) { /* 0: the kernel keeps no statistics of this queue */
		COUNT(counts, begun);
		io_finish(&flush, status);
	}
}

#define RQF_FLUSH_SEQ 16 /* where it is no enumerator: before 6.12 */

/*
 * A request before or after whose data the kernel flushes is completed twice: with its data, and as
 * a whole. The first time is when the disk is done with it, the second one is known by the request
 * that is done already. The flushes themselves, which have no bio, are completed once.
 */
static __always_inline bool is_completed_again(struct request *rq)
{
	__u32 flag = RQF_FLUSH_SEQ;

	if (bpf_core_enum_value_exists(enum rqf_flags, __RQF_FLUSH_SEQ))
		flag = 1U << bpf_core_enum_value(enum rqf_flags, __RQF_FLUSH_SEQ);
	return rq->rq_flags & flag && bio_of(rq);
}

static __always_inline void completed(struct request *rq, __u32 status, __u32 bytes)
{
	struct io_target target = target_of_request(rq);
	struct io *io = io_at(rq);
	struct io_counts *counts = own_counts();

	if (!counts || is_private(&target) || !target_wanted(&target))
		return;
	if (!is_of(io, rq)) {
		completed_unknown(rq, &target, status, counts);
		return;
	}
	if (io->done) {
		io_forget(rq);
		return;
	}
	io->bytes += bytes;
	if (bytes < rq->__data_len)
		return; /* a part */
	io->done = true;
	io_finish(io, status);
	if (!is_completed_again(rq))
		io_forget(rq);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(request_completed, struct request *rq, __u32 status, __u32 bytes)
{
	completed(rq, status, bytes);
	return 0;
}

/* ---- bios ---- */

/* of a disk without a queue of requests? */
static __always_inline bool is_bio_based(struct bio *bio)
{
	return BPF_CORE_READ(bio, bi_bdev) && !BPF_CORE_READ(bio, bi_bdev, bd_disk, queue, mq_ops);
}

static __always_inline struct io_target target_of_bio(struct bio *bio)
{
	return (struct io_target){
		.dev = BPF_CORE_READ(bio, bi_bdev, bd_disk, part0, bd_dev),
		.partition = only_one_partition ? BPF_CORE_READ(bio, bi_bdev, bd_dev) : 0,
		.operation = BPF_CORE_READ(bio, bi_opf),
	};
}

static __always_inline void forget_unseen(struct bio *bio, const struct io *io)
{
	struct io_counts *counts = own_counts();

	if (counts && !io->done)
		COUNT(counts, ends_unseen);
	io_forget(bio);
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(bio_queued, struct bio *bio)
{
	struct io io = { .bytes = bio->bi_iter.bi_size }, *known;

	if (!is_bio_based(bio)) {
		/* the end of another one at this address was not seen */
		known = io_at(bio);
		if (known)
			forget_unseen(bio, known);
		return 0;
	}
	io.target = target_of_bio(bio);
	if (!io_begin(ctx, bio, &io))
		io_lost();
	return 0;
}

/*
 * By now the bio may be another disk's: NVMe's multipath sends it on to the path's disk as it is.
 * It reports the end before the status is set, so that the error is not known.
 */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(bio_completed, struct request_queue *q, struct bio *bio)
{
	struct io *io = io_at(bio);

	if (!io || io->done)
		return 0;
	io->done = true;
	io_finish(io, bio->bi_status);
	io_forget(bio);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
