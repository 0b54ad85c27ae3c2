// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Block I/Os from their insertion into the disk's queue to their completion. Disks with a request queue are watched by the
 * tracepoints of requests, the others (device mapper, md, zram, brd) by those of bios, as the kernel counts in /proc/diskstats.
 */
#include "io.bpf.h"

/*
 * Pointers in requests and bios are read by helpers: for one that is read directly, the verifier searches all of the
 * kernel's BTF, which takes it longer than all the rest (untrusted() in task.bpf.h).
 */

/* ---- requests ---- */

static __always_inline struct bio *bio_of(struct request *rq)
{
	return BPF_CORE_READ(rq, bio);
}

static __always_inline struct io_target target_of_request(struct request *rq)
{
	return (struct io_target){
		.dev = BPF_CORE_READ(rq, q, disk, part0, bd_dev),
		.partition = only_one_partition ? BPF_CORE_READ(rq, part, bd_dev) : 0,
		.operation = BPF_CORE_READ(rq, cmd_flags),
	};
}

/*
 * Is the request the one that this is known of? Later ones at its address are allocated later; and who takes in the
 * request behind it, takes over that one's time of allocation if it is earlier (attempt_merge() in block/blk-merge.c).
 */
static __always_inline bool is_of(const struct io *io, const struct request *rq)
{
	return io && io->allocated_ns >= rq->start_time_ns;
}

static __always_inline void queue(void *ctx, struct request *rq, __u64 issued_ns)
{
	struct io_target target = target_of_request(rq);
	struct io *known = io_at(rq), io = { .issued_ns = issued_ns, .allocated_ns = rq->start_time_ns };

	if (is_private(&target))
		return;
	if (!is_of(known, rq) || known->done)	/* else it is inserted again, or issued */
		io_begin(ctx, rq, &target, &io);
	else if (issued_ns)
		known->issued_ns = issued_ns;
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

	if (io && !io->done && counts) {
		io->done = true;
		COUNT(counts, merged);
	}
	return 0;
}

/*
 * A request that only flushes the disk's cache is never issued, but another in its place is. The kernel
 * counts both: one as a write of nothing.
 */
static __always_inline bool is_empty_flush(struct request *rq, const struct io_target *t)
{
	return t->operation & 1 && bio_of(rq) && !rq->__data_len && rq->start_time_ns;
}

/*
 * A request with a flush before or after its data is completed twice: with its data, and as a whole. The
 * first time is when the disk is done with it, the second one is known by the request that is done already.
 */
static __always_inline void completed(struct request *rq, __u32 status, __u32 bytes)
{
	struct io_target target = target_of_request(rq);
	struct io *io = io_at(rq), flush = { .queued_ns = rq->start_time_ns };
	bool known = is_of(io, rq);
	struct io_counts *counts = own_counts();

	if (!counts || is_private(&target) || !target_wanted(&target))
		return;
	if (!known && is_empty_flush(rq, &target) && !only_listed_pids) {
		COUNT(counts, begun);
		io_finish(&flush, &target, status);
		return;
	}
	if (!known && bio_of(rq) && !only_listed_pids)
		COUNT(counts, begun_before);
	if (!known || io->done)
		return;
	io->bytes += bytes;
	if (bytes < rq->__data_len)
		return;		/* a part */
	io->done = true;
	io_finish(io, &target, status);
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

SEC("tp_btf/block_bio_queue")
int BPF_PROG(bio_queued, struct bio *bio)
{
	struct io io = { .bytes = bio->bi_iter.bi_size };
	struct io_target target;

	if (!is_bio_based(bio))
		return 0;
	target = target_of_bio(bio);
	io_begin(ctx, bio, &target, &io);
	return 0;
}

SEC("tp_btf/block_bio_complete")
int BPF_PROG(bio_completed, struct request_queue *q, struct bio *bio)
{
	struct io *io = is_bio_based(bio) ? io_at(bio) : NULL;
	struct io_target target;

	if (!io)
		return 0;
	target = target_of_bio(bio);
	io_finish(io, &target, bio->bi_status);
	io_forget(bio);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
