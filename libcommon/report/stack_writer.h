/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes single stacks, for all kinds of reports. */
#ifndef EHPERF_REPORT_STACK_WRITER_H
#define EHPERF_REPORT_STACK_WRITER_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/frame_name.h"
#include "report/process_notes.h"
#include "report/stack_entry.h"

struct measure;

struct stack_writer {
	FILE *out;
	struct frame_names names;
	const struct process_notes *processes; /* NULL: nothing is known of processes */
	bool delimiter;                        /* "-" between user and kernel frames */
	bool annotate; /* append "_[k]" to kernel frames, "_[j]" to frames in no file */
	/*
	 * kernel stacks were taken in raw tracepoints: leave out frames above the function with the
	 * tracepoint, such as __schedule() for sched_switch
	 */
	bool traced;
	/*
	 * print only this many stacks, those with the largest values. 0: the default, which is all,
	 * but TEXT_TOP in text
	 */
	size_t top;
	bool by_total; /* text's functions are sorted by their total share; else by their own */
	uint64_t max_bytes; /* of a format that writes each sample, about; 0: no limit */
	uint64_t *left_out; /* here it counts samples beyond that; NULL: they are not counted */
	/* true: the report must end now, after what is complete. NULL: never */
	bool (*ended)(void);
	/* a frame of the tool's own, outside of all others; NULL: none */
	const char *(*root)(const struct stack_entry *entry);
};

static inline bool stack_writer_ended(const struct stack_writer *writer)
{
	return writer->ended && writer->ended();
}

#define TOP_ALL  SIZE_MAX
#define TEXT_TOP 20

/* a frame's name, with the marks that are asked for */
void stack_print_name(const struct stack_writer *writer, const struct frame_name *name,
		      uint64_t frame, bool kernel);

/* the index of the first kernel frame to show */
uint32_t stack_first_kernel_frame(const struct stack_writer *writer,
				  const struct stack_frames *kernel);

/* "comm;root;...;leaf", user frames before kernel frames, without a newline */
void stack_print_folded(const struct stack_writer *writer, const struct stack_entry *entry);
/* one line per frame: kernel frames before user frames, each leaf first */
void stack_print_frames(const struct stack_writer *writer, const struct stack_entry *entry,
			int indent);

/*
 * {"type":"stack",…} and a waker's object, without their frames; and one frame of bpf/stacks_abi.h
 */
struct json_object *stack_json_begin(const struct measure *measure,
				     const struct stack_entry *entry);
struct json_object *stack_json_waker(const struct stack_entry *waker);
struct json_object *stack_json_frame(const struct frame_name *name, uint64_t bits);
/*
 * What stack_json_frames() keeps within one report: the text of each frame, because most stacks share
 * most of their frames. It takes a part of --max-memory. NULL: no memory, or not wanted
 */
struct stack_json_known *stack_json_known_new(void);
void stack_json_known_free(struct stack_json_known *known);
/* Adds "user" and "kernel" to an object that is to be printed. known: NULL is allowed */
void stack_json_frames(const struct stack_writer *writer, struct stack_json_known *known,
		       const struct stack_entry *entry, struct json_object *stack);

/* {"type":"process",…}; NULL: nothing is known of it */
struct json_object *stack_json_note(const struct process_note *note);
/* Prints that, once for each process of which something is known */
void stack_json_process(const struct stack_writer *writer, uint32_t pid);

#endif
