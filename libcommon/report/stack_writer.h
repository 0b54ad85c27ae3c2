/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where and how single stacks are written, by whatever report. */
#ifndef EHPERF_REPORT_STACK_WRITER_H
#define EHPERF_REPORT_STACK_WRITER_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/frame_name.h"
#include "report/stack_entry.h"

struct stack_writer {
	FILE *out;
	struct frame_names names;
	bool delimiter;		/* "-" between user and kernel frames */
	bool annotate;		/* "_[k]" behind kernel frames, "_[j]" behind those of no file */
	bool switched;		/* kernel stacks were taken in sched_switch: they are shown from __schedule() on */
};

/* the first kernel frame that is shown */
uint32_t stack_first_kernel_frame(const struct stack_writer *writer, const struct stack_frames *kernel);

/* comm;root;...;leaf, user frames before kernel frames, without a line end */
void stack_print_folded(const struct stack_writer *writer, const struct stack_entry *entry);
/* a line for each frame, kernel frames first, leaf first */
void stack_print_frames(const struct stack_writer *writer, const struct stack_entry *entry, int indent);

/* "user" and "kernel" into an object */
void stack_json_frames(const struct stack_writer *writer, const struct stack_entry *entry, struct json_object *stack);

#endif
