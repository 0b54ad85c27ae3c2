/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What biohist's histograms are of. */
#ifndef EHPERF_BIOHIST_ABI_H
#define EHPERF_BIOHIST_ABI_H

#include <linux/types.h>

/* the part of an I/O's time that is measured */
enum io_part { IO_WHOLE, IO_QUEUED, IO_ON_DEVICE, NR_IO_PARTS };

/* flags of an I/O, as bits; names in io_names.c */
enum io_flag {
	IO_SYNC,
	IO_META,
	IO_PRIORITY,
	IO_IDLE,
	IO_FUA,
	IO_PREFLUSH,
	IO_READ_AHEAD,
	IO_BACKGROUND,
	IO_NO_WAIT,
	NR_IO_FLAGS
};

/* Fields that do not distinguish histograms are 0. */
struct io_key {
	__u32 dev;       /* of the disk: its major number << 20 | its minor number */
	__u32 operation; /* enum req_op of the kernel + 1 */
	__u32 flags;     /* 1 << enum io_flag */
	__u32 part;      /* enum io_part */
	__u32 pid;
	char comm[16];
};
_Static_assert(sizeof(struct io_key) == 36, "struct io_key");

/* all are __u64; summed over the CPUs */
struct io_counts {
	__u64 begun, done, merged; /* I/Os; those merged into others are no more */
	__u64 begun_before;        /* completed, and not seen to begin */
	/*
	 * another I/O has the address already: some kernels run no program where a VM's agent runs
	 */
	__u64 ends_unseen;
	__u64 no_room;
	__u64 slow_lost; /* slow I/Os that the ring buffer refused */
	__u64 bytes;     /* of those that are done */
};

/* an I/O that took longer than --slow. All of its key's fields are set, but for the part */
struct slow_io {
	__u64 ended_ns;             /* CLOCK_MONOTONIC */
	__u64 queued_ns, device_ns; /* how long it was there */
	__u64 bytes;
	__u64 issuer; /* ID of the key_record of who began it; 0: none */
	__u32 error;  /* errno, or 0 */
	struct io_key key;
};
_Static_assert(sizeof(struct slow_io) == 80, "struct slow_io");

#endif
