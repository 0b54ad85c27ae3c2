/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a recording: the JSON lines (ehperf-json(5)) of a tool's run. Gives the data from which the
 * tool's reports were made, so that it can be converted to each other format, on any machine. A
 * recording may be damaged or hostile.
 *
 *   recording_open   recording_read_stacks, where it has stacks   recording_free
 */
#ifndef EHPERF_REPORT_RECORDING_H
#define EHPERF_REPORT_RECORDING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/json_lines.h"
#include "report/process_notes.h"
#include "report/recorded_names.h"
#include "report/stack_entry.h"
#include "report/stack_summary.h"
#include "report/stack_writer.h"

/* most memory that a recording may take, approximately */
#define RECORDING_BYTES (1ULL << 30)

struct recording {
	struct json_lines lines; /* .wrong: what is wrong with it, in which line */
	/* of its first line; strings are the recording's */
	const char *report;  /* "stacks", "timeline"; NULL: others, which cannot be read back */
	uint64_t period_ns;  /* a sample each; 0: they stand for no time */
	bool idle_as_others; /* set by the caller: no thread is idle */
	struct stack_summary summary;
	struct measure measure;
	/* what follows */
	struct frame_names names;
	struct process_notes processes;
	struct stack_entry *entries;
	size_t nr;
	/* private */
	struct json_object *start;
	struct recorded_names *recorded;
	struct recorded_module *modules;
	struct recorded_event *events;
	const char **event_names;
	size_t event_room;
	uint64_t total, bytes; /* of all values; of the memory taken, about */
	char *said;
	size_t room;
};

/*
 * Reads the first line. 0, -ENOMEM, or -EBADMSG: lines.wrong says why. One recording at a time may
 * have events. To be freed in any case
 */
int recording_open(struct recording *recording, FILE *in);
void recording_free(struct recording *recording);

/*
 * Reads the rest of a report of stacks, or of several that follow each other, which become one. 0
 * or -errno as above
 */
int recording_read_stacks(struct recording *recording);

/* the writer of what was read, to this file */
struct stack_writer recording_writer(const struct recording *recording, FILE *out);

/* ---- for those that read other lines ---- */

/* Takes a line {"type":"process",…}. */
void recording_take_process(struct recording *recording, struct json_object *line);
/*
 * Takes "user", "kernel", "ended_by" and, if they are there, "pid", "tid", "comm", "state",
 * "interrupt", "idle", "user_stack" and "kernel_stack" of an object; recording_free_stacks() frees
 * the frames.
 */
void recording_take_stacks(struct recording *recording, struct json_object *object,
			   struct stack_entry *entry);
void recording_free_stacks(struct stack_entry *entry);
/* Counts memory that was taken; more than RECORDING_BYTES is an error. */
void recording_take_bytes(struct recording *recording, size_t bytes);
/* Takes "began", "seconds", "idle_threads", "idle_ns" and "said" of the summary. */
void recording_take_summary(struct recording *recording, struct json_object *line);

#endif
