/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's tracepoints, and the functions that can be probed, by tracefs, whether it is mounted
 * or not.
 */
#ifndef EHPERF_PROCESS_TRACEFS_H
#define EHPERF_PROCESS_TRACEFS_H

#include <stdbool.h>

/* A tracepoint's ID for perf_event_attr.config: "sched/sched_switch". Or -errno */
int tracefs_tracepoint_id(const char *name);

struct tracefs_field {
	unsigned offset, bytes;  /* in the record; 1, 2, 4 or 8 */
	bool is_signed, is_size; /* size: a number of bytes, by its type or its name */
};

/*
 * The field of the tracepoint "sched/sched_switch". 0, -ENOENT, -EDOM if it is no number, or
 * another -errno
 */
int tracefs_find_field(const char *tracepoint, const char *name, struct tracefs_field *field);

/*
 * Calls found() for each tracepoint that matches, in alphabetical order, until it returns an error.
 * 0 or -errno, or what found() returned
 */
int tracefs_tracepoints(const char *group, const char *name,
			int (*found)(void *arg, const char *group, const char *name), void *arg);

/*
 * tracefs_tracepoints() for the kernel's functions that can be probed. module: "" matches any
 * module, and the kernel itself; found() gets "" for the kernel's own functions
 */
int tracefs_functions(const char *module, const char *name,
		      int (*found)(void *arg, const char *module, const char *name), void *arg);

#endif
