/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of stacks, with their values: `self` is the value of the stacks in which the
 * function is the leaf, `total` that of all stacks that contain it, at least once. A function is
 * identified by its name and module. A stack becomes an array of numbers, one for each line of its
 * text, so that stacks with equal text have equal numbers.
 */
#ifndef EHPERF_REPORT_STACK_FUNCTIONS_H
#define EHPERF_REPORT_STACK_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/labels.h"
#include "report/measure.h"
#include "report/merged_texts.h"
#include "report/stack_entry.h"
#include "report/stack_writer.h"

/* a stack's last line is this, and its thread: "NAME (PID)" */
#define THREAD_LINE "-                "

struct function_sum;
struct line_kind;
struct known_line;

struct stack_functions {
	const struct stack_writer *writer;
	struct labels *lines; /* the caller's. Of a frame: "MODULE\nTEXT"; of others "\001\nTEXT" */
	/* the leaf is the first function outside of the scheduler, as in /proc/PID/wchan */
	bool off_cpu;
	/*
	 * the lines of the stack that was added last: the waker, root first, and "--"; the frames,
	 * leaf first; the thread
	 */
	uint32_t *numbers;
	size_t nr;
	uint32_t waker_end; /* the line "--" */
	/* private */
	size_t room, nr_stacks;
	struct labels *functions;  /* "MODULE\nNAME" */
	struct function_sum *sums; /* of each function */
	struct line_kind *kinds;   /* of each line */
	size_t nr_sums, nr_kinds, sums_room, kinds_room;
	struct known_line *known; /* a frame is named once */
	size_t nr_known, known_size;
	uint32_t *of_known;
	size_t nr_of_known, of_known_room;
	/* the thread of the last stack, and its line */
	uint32_t thread_pid, thread_line;
	char thread_comm[16];
};

/*
 * `functions` has its writer, lines and off_cpu. 0 or -ENOMEM; stack_functions_free() is needed
 * after both
 */
int stack_functions_init(struct stack_functions *functions);
void stack_functions_free(struct stack_functions *functions);

/*
 * Sets numbers[], and adds the value to the functions of the stack, but not to its waker's. 0 or
 * -ENOMEM
 */
int stack_functions_add(struct stack_functions *functions, const struct stack_entry *entry,
			uint64_t value);

/*
 * Initialises `functions`, and adds all entries, a thread's one after the other: to the functions,
 * and their lines to texts, which has functions->lines. 0 or -ENOMEM
 */
int stack_functions_add_all(struct stack_functions *functions, struct merged_texts *texts,
			    const struct measure *measure, const struct stack_entry *entries,
			    size_t nr);

/* which of a stack's lines is the first one behind its waker's */
size_t stack_functions_first(const struct stack_functions *functions, const uint32_t *lines,
			     size_t nr);
/*
 * which of a stack's lines, without its waker's, has the stack's value for itself. nr: none of
 * these
 */
size_t stack_functions_leaf(const struct stack_functions *functions, const uint32_t *lines,
			    size_t nr);

/*
 * the numbers of the functions with a value, sorted by self, then by total, or as writer->by_total
 * says: a malloc()ed array of *nr, or NULL without memory
 */
uint32_t *stack_functions_sorted(const struct stack_functions *functions, size_t *nr);
void stack_functions_values(const struct stack_functions *functions, uint32_t number,
			    uint64_t *self, uint64_t *total);
/* what of a function's module is shown; the caller frees it. NULL: no memory */
char *stack_functions_module(const struct stack_functions *functions, uint32_t number);

/*
 * a function that calls another one, or that is called by it, and the value of the stacks in which
 * that is so
 */
struct function_call {
	uint32_t function;
	bool called;
	uint64_t value;
};
/*
 * Who calls the function, and then whom it calls, the largest values first: a malloc()ed array of
 * *nr, or NULL without memory. texts: those of stack_functions_add_all(), sorted, and how many they
 * are
 */
struct function_call *stack_functions_calls(const struct stack_functions *functions,
					    const struct merged_texts *texts, size_t nr_texts,
					    uint32_t number, size_t *nr);

/* a line's text, or a function's name */
const char *stack_functions_text(const struct labels *labels, uint32_t number);

/*
 * Prints a table of writer->top functions, as sorted by stack_functions_sorted(). `sum`: of the
 * values of all stacks. Without --top, names are cut so that lines have 80 columns. 0 or -ENOMEM
 */
int stack_functions_print(FILE *out, const struct stack_functions *functions,
			  const struct measure *measure, uint64_t sum);

#endif
