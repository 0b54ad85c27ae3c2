/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines and cgroups of processes, by PID, which distinguish processes with the same name.
 */
#ifndef EHPERF_REPORT_PROCESS_NOTES_H
#define EHPERF_REPORT_PROCESS_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct process_note {
	uint32_t pid;
	/* NULL: none, or not known, for instance because the process is gone */
	char *cmdline, *cgroup;
	bool printed; /* for writers that print each once: cleared by process_notes_begin() */
	UT_hash_handle hh;
};

struct process_notes {
	struct process_note *all;
};

/* Adds a note, unless the process has one. The strings are copied, and may be NULL. 0 or -ENOMEM */
int process_notes_add(struct process_notes *notes, uint32_t pid, const char *cmdline,
		      const char *cgroup);
/* NULL: nothing is known. notes may be NULL */
struct process_note *process_notes_find(const struct process_notes *notes, uint32_t pid);
void process_notes_begin(const struct process_notes *notes);
void process_notes_free(struct process_notes *notes);

#endif
