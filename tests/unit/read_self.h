/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the mappings of the test itself, as a worker does for a tool. */
#ifndef TESTS_UNIT_READ_SELF_H
#define TESTS_UNIT_READ_SELF_H

#include <unistd.h>

#include "unwind/processes.h"

/*
 * The reading with this tag, which process_asked() returned, arrives; image: the process's by then.
 * NULL: it came too late
 */
static inline struct process *read_self(struct processes *processes, uint64_t tag,
					const struct process_image *image)
{
	struct proc_maps maps = {};
	int error = proc_maps_read(&maps, getpid());

	return processes_read(processes, tag, error, &maps, image);
}

#endif
