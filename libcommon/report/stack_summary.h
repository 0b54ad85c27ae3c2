/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The summary of a run's stacks: how many there are, why they ended, and what was lost. */
#ifndef EHPERF_REPORT_STACK_SUMMARY_H
#define EHPERF_REPORT_STACK_SUMMARY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/losses.h"
#include "report/measure.h"
#include "report/namer.h"
#include "report/names_count.h"
#include "report/stack_entry.h"
#include "stacks_abi.h"
#include "unwind/modules.h"

struct processes;

struct stack_summary {
	const char *tool;
	const char *command_line; /* the tool's */
	const struct measure *measure;
	uint64_t started_ns; /* CLOCK_REALTIME */
	double seconds;
	/*
	 * of a recording: where it was made, and the text of stack_summary_print(); NULL: this
	 * machine, and its text
	 */
	const char *host, *kernel, *said;
	const struct loss *losses;
	bool of_some; /* the samples belong to some processes only, but losses .of_machine to all */
	size_t nr_losses;
	struct names_count names;
	size_t idle_threads; /* with waits that are idle, by report/idle.h, */
	uint64_t idle_ns;    /* so long in sum */
	uint64_t summed_up;  /* stacks for which the report has no room */
	/* the regular expression that all stacks match; NULL: these are all stacks */
	const char *only;
	/* filled in by stack_summary_count(): */
	struct stack_value sum;
	uint64_t ended[NR_END_REASONS];       /* the number of stacks by end reason */
	uint64_t ended_value[NR_END_REASONS]; /* the sum of the measure's values by end reason */
};

void stack_summary_count(struct stack_summary *summary, const struct stack_entry *entries,
			 size_t nr);

/* Prints one line, and one more for each end reason but END_COMPLETE, and for each loss. */
void stack_summary_print(FILE *out, const struct stack_summary *summary);
/* the text of stack_summary_print(), which the caller frees; NULL: no memory */
char *stack_summary_text(const struct stack_summary *summary);
/*
 * How many are lost, without those that were lost on the whole machine while only some is measured:
 * *of_others
 */
uint64_t stack_summary_lost(const struct stack_summary *summary, uint64_t *of_others);
/*
 * the share of the user stacks, by their values, that are complete, in percent; -1: there is none
 */
double stack_summary_complete(const struct stack_summary *summary);
/* parts of it: ", user stacks complete for ...", and the lines of end reasons */
void stack_summary_say_complete(FILE *out, const struct stack_summary *summary);
void stack_summary_print_ends(FILE *out, const struct stack_summary *summary);
/* {"type":"summary",…} without its text, .said; and with it, printed */
struct json_object *stack_summary_object(const struct stack_summary *summary);
void stack_summary_json(FILE *out, const struct stack_summary *summary);
/* an array by end reason as an object */
struct json_object *stack_summary_json_ends(const uint64_t values[NR_END_REASONS]);

/* Prints a line if there were more files than are told apart. */
void stack_summary_crowded(FILE *out, const char *tool, const struct modules *modules);
/*
 * Prints a line for each of the eight files without a usable table in which the most stacks have
 * ended, and one for the others.
 */
void stack_summary_tableless(FILE *out, const char *tool, const struct modules *modules,
			     const struct stack_entry *entries, size_t nr);

/*
 * Prints a line for each file with frames that holds a runtime whose version or build is not known.
 */
void stack_summary_unknown_runtimes(FILE *out, const char *tool, const struct modules *modules,
				    const struct stack_entry *entries, size_t nr);

/* Prints a line for each of the first refused processes, and one for the others. */
void stack_summary_refused(FILE *out, const char *tool, const struct processes *processes,
			   const struct stack_entry *entries, size_t nr);

/* Prints a line if there are files whose names took too long to find. */
void stack_summary_nameless(FILE *out, const char *tool, const struct namer *namer);

/*
 * Prints a line for each file whose DWARF would have taken more than dwarf/source_places.h allows.
 */
void stack_summary_unread(FILE *out, const char *tool, const struct modules *modules);

#endif
