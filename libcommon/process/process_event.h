/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that change processes' mappings: from perf's records, and from our own programs
 * (bpf/processes.bpf.h).
 */
#ifndef EHPERF_PROCESS_PROCESS_EVENT_H
#define EHPERF_PROCESS_PROCESS_EVENT_H

#include <stdint.h>
#include <sys/types.h>

#include "process/proc_maps.h"

enum process_event_kind {
	PROCESS_MAPPED,   /* .mapping */
	PROCESS_UNMAPPED, /* .mapping.start, .end */
	PROCESS_EXECED,
	PROCESS_FORKED, /* from .parent */
	PROCESS_EXITED,
	PROCESS_EVENTS_LOST, /* of any process */
};

struct process_event {
	enum process_event_kind kind;
	pid_t pid, parent;
	uint64_t time_ns;            /* CLOCK_MONOTONIC */
	struct proc_mapping mapping; /* its path belongs to the event */
	/* PROCESS_UNMAPPED: the process's count of these so far, this one included */
	uint32_t changes;
};

#endif
