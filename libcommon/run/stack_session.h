/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run in which stacks are gathered: with the modules they lie in, the unwinder that follows processes, and the
 * store that takes the stacks. What goes wrong ends the program with a message.
 *
 *   stack_session_configure   (load)   stack_session_open   (attach)   run_measure(&session.run)   (detach)
 *   stack_session_report      return stack_session_close
 */
#ifndef EHPERF_RUN_STACK_SESSION_H
#define EHPERF_RUN_STACK_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/stack_store.h"
#include "bpf/unwinder.h"
#include "dwarf/debuginfod.h"
#include "process/jit_processes.h"
#include "process/kallsyms.h"
#include "process/perf_events.h"
#include "report/losses.h"
#include "report/measure.h"
#include "run/run.h"
#include "run/stack_options.h"
#include "unwind/modules.h"

struct stack_session {
	struct run run;
	struct bpf_object *object;
	const struct stacks_wanted *wanted;
	struct modules *modules;
	struct unwinder *unwinder;
	struct stack_store *store;
	struct jit_processes *jit;
	struct debuginfod debuginfod;
	struct kallsyms *kallsyms;	/* once stack_session_writer() was called; NULL: kernel frames have no names */
	pid_t *pids;			/* whose processes are followed */
	size_t nr_pids;
	int urgent[UNWINDER_FDS];
};

/* Writes the options into an opened object that includes bpf/stacks.bpf.h and bpf/processes.bpf.h. */
void stack_session_configure(struct bpf_object *object, const struct run_options *run, const struct stacks_wanted *wanted);

/*
 * After loading: opens the run, lists what is to be measured, publishes the mappings and tables of the processes
 * there are, and starts the command, which waits. The session is a part of its run from now on.
 */
void stack_session_open(struct stack_session *session, struct bpf_object *object, const struct run_options *run,
			const struct stacks_wanted *wanted);

/* With no program attached any more: takes all that is left in the ring buffer. */
void stack_session_drain(struct stack_session *session);

/* For printing stacks to the run's output; valid until close. Names of kernel frames take some ms to read. */
struct stack_writer stack_session_writer(struct stack_session *session, bool kernel_names);

/* what of the stacks was lost; after a drain, there is no more */
struct stack_stats stack_session_stats(const struct stack_session *session);

/* how many overflows of these events, disabled by now, the sampling program did not see */
uint64_t stack_session_lost(const struct stack_session *session, const struct perf_events *events);

/*
 * After detaching: drains, prints stacks and summary as the options say, closes the output. losses: the tool's own,
 * to which those of the stacks are added
 */
void stack_session_report(struct stack_session *session, const struct stack_options *options, const struct measure *measure,
			  const struct loss *losses, size_t nr_losses);

/* the exit status: the command's, or 0 */
int stack_session_close(struct stack_session *session);

#endif
