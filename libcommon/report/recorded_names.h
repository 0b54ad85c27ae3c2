/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of a recording's frames. No other names are used, because the recording may be from
 * another machine.
 */
#ifndef EHPERF_REPORT_RECORDED_NAMES_H
#define EHPERF_REPORT_RECORDED_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/frame_name.h"

struct recorded_names;

/* NULL: no memory */
struct recorded_names *recorded_names_new(void);
void recorded_names_free(struct recorded_names *names);
/* what they take, about */
size_t recorded_names_bytes(const struct recorded_names *names);

/*
 * Adds the names of a user frame, as from frame_names_user(), unless it has names already. Their
 * strings are copied, their .file is not owned. frame 0: makes a frame, for functions of a runtime,
 * which have no address. *frame: the frame. 0 or -ENOMEM
 */
int recorded_names_add(struct recorded_names *names, pid_t pid, uint64_t *frame,
		       const struct frame_name *all, size_t nr);
int recorded_names_add_kernel(struct recorded_names *names, uint64_t address,
			      const struct frame_name *name);

/* frame_name_user(), frame_names_user() and frame_name_kernel() */
struct frame_name recorded_name(const struct recorded_names *names, pid_t pid, uint64_t frame);
size_t recorded_names_user(const struct recorded_names *names, pid_t pid, uint64_t frame,
			   struct frame_name all[MAX_FRAME_NAMES]);
struct frame_name recorded_name_kernel(const struct recorded_names *names, uint64_t address);

#endif
