/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tool's argument EVENT and its option -l: finds events and attaches programs to them. Errors end
 * the tool with one line: what is wrong with the name, or what the kernel lacks and what allows it.
 */
#ifndef EHPERF_RUN_EVENTS_H
#define EHPERF_RUN_EVENTS_H

#include "kernel/links.h"
#include "events_abi.h"
#include "process/events.h"
#include "process/perf_events.h"
#include "run/run.h"
#include "run/task_filter.h"

/*
 * The events that the name means; more than MAX_EVENTS are an error. filter: files are found as its
 * first process sees them
 */
struct events events_named(const char *name, const struct task_filter *filter);

/* as events_named(), for perf's events only, of an option -e */
struct events events_of_perf(const char *name, const struct task_filter *filter);

/*
 * as events_named(), for functions whose returns can be probed: an address must be a function's
 * first byte, and a pattern leaves out functions whose exits are not known
 */
struct events events_that_return(const char *name, const struct task_filter *filter);

/* -l: prints the events that match to standard output, sorted, and ends the tool. */
void events_list(const char *pattern, const struct task_filter *filter) __attribute__((noreturn));

/*
 * Attaches the program to each of these events, which must not be perf's; its cookie is the event's
 * index. User functions are probed in the wanted processes only, if these are listed. The processes
 * of a command are not known yet: then functions are probed in all processes, and the program
 * filters.
 */
void events_attach(struct links *links, struct bpf_program *program, struct events *events,
		   bool returns, const struct task_filter *filter);

/* How the returns of user functions are probed. */
struct return_programs {
	struct bpf_program *at_exits; /* runs before each instruction by which a function leaves */
	/* a return probe, which changes return addresses; NULL: not to be used */
	struct bpf_program *returned;
};
/*
 * As events_attach(), to the returns of these functions: by return probes, if there is a program
 * for them and the file's CFI allows it (function_exits.h), else at their exits. Returns the number
 * of these exits
 */
size_t events_attach_returns(struct links *links, const struct return_programs *programs,
			     const struct events *events, const struct task_filter *filter);

/* Looks whether the probed file is written to or replaced. One that outlives the run */
struct events_watch {
	struct run *run;
	struct links *links;
	const struct events *events;
	int fd; /* inotify's */
	bool replaced;
};
/*
 * To be called before the run is measured. The kernel puts probes of user functions at their
 * offsets in the file, whatever it contains by then: if the file is written to, they would break
 * programs. They are detached then, and the run ends. If another file takes its place, that is
 * said.
 */
void events_watch_file(struct events_watch *watch, struct run *run, struct links *links,
		       const struct events *events);

/*
 * Once the events are enabled, the program runs on each of the wanted CPUs, at every period-th
 * occurrence of perf's event, or, with a period of 0, at this frequency, until the tool exits.
 */
struct perf_events events_attach_perf(struct bpf_program *program, const struct event *event,
				      uint64_t period, uint64_t frequency,
				      const struct cpu_set *cpus);

#endif
