/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the names of frames: in a recording, by a namer's worker, from a runtime, or from the
 * kernel's symbols.
 */
#ifndef EHPERF_REPORT_FRAME_NAMES_H
#define EHPERF_REPORT_FRAME_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/frame_name.h"

/*
 * names a user frame (bpf/stacks_abi.h) of this process; the strings are valid until the next call
 */
struct frame_name frame_name_user(const struct frame_names *names, pid_t pid, uint64_t frame);

/*
 * frame_name_user(); with names->inlined, the functions that are inlined in it come first, the
 * innermost one first. Returns the number of names, at least 1
 */
size_t frame_names_user(const struct frame_names *names, pid_t pid, uint64_t frame,
			struct frame_name all[MAX_FRAME_NAMES]);
/* names a kernel frame, an address; names->kernel or names->recorded owns the strings */
struct frame_name frame_name_kernel(const struct frame_names *names, uint64_t address);

/*
 * Frames with equal bytes have equal names: in files everywhere, in no file within a process, and in
 * the kernel.
 */
struct frame_key {
	uint64_t frame;
	uint32_t pid;    /* 0: of any */
	uint32_t kernel; /* 0: a user frame; 1: a kernel frame; more: what stack_labels.c adds */
};

static inline struct frame_key frame_key_of(pid_t pid, uint64_t frame, bool kernel)
{
	return (struct frame_key){ .frame = frame,
				   .pid = !kernel && frame_in_no_file(frame) ? pid : 0,
				   .kernel = kernel };
}

/* frame_names_user(), or frame_name_kernel() */
static inline size_t frame_names_of(const struct frame_names *names, pid_t pid, uint64_t frame,
				    bool kernel, struct frame_name all[MAX_FRAME_NAMES])
{
	if (!kernel)
		return frame_names_user(names, pid, frame, all);
	all[0] = frame_name_kernel(names, frame);
	return 1;
}

#endif
