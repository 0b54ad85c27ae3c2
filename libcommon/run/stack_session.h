/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run that gathers stacks. It owns the unwinder, which follows processes; the modules that these
 * have mapped; and the store of stacks. Errors end the program with a message. The calls of a tool,
 * and its own steps in brackets:
 *
 *   stack_session_configure   (load) stack_session_open (attach) stack_session_measure (detach)
 *   stack_session_report      return stack_session_close
 */
#ifndef EHPERF_RUN_STACK_SESSION_H
#define EHPERF_RUN_STACK_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/stack_store.h"
#include "kernel/unwinder.h"
#include "live/history.h"
#include "live/view.h"
#include "live/web_view.h"
#include "process/cmdlines.h"
#include "process/debuginfod.h"
#include "process/kernel_symbols.h"
#include "process/perf_events.h"
#include "process/priority.h"
#include "report/idle.h"
#include "report/losses.h"
#include "report/measure.h"
#include "report/namer.h"
#include "report/other_stacks.h"
#include "report/placed_stacks.h"
#include "report/process_notes.h"
#include "report/stack_summary.h"
#include "run/run.h"
#include "run/stack_options.h"
#include "unwind/modules.h"

/*
 * a report gives up the tool's priority after so much CPU time: nothing is lost if it then waits
 * for a CPU
 */
#define REPORT_CPU_MS 500

/* what a report is made of */
struct made_report {
	struct stack_summary summary;
	struct loss losses[MAX_LOSSES];
	struct process_notes processes;
	struct placed_stacks placed;
	struct other_stacks others;
	struct stack_writer writer;
	struct stack_entry *entries; /* sorted, idle threads' last */
	size_t nr, nr_busy;
};

/* for a tool whose report is not a list of stacks: where the views get their stacks */
struct stack_source {
	/*
	 * Takes the entries that came since the last call: an array of *nr, in no order, valid
	 * until the next call. Their stacks belong to the store, which keeps them. *until_ns: up to
	 * when; a later time may be chosen. 0 or -errno
	 */
	int (*take)(void *arg, struct stack_entry **entries, size_t *nr, uint64_t *until_ns);
	void *arg;
	struct lanes *lanes; /* for a timeline that is shown while it is measured; NULL: none */
	const struct loss *losses; /* for --live: the tool's own, as take() knew them last */
	size_t nr_losses;
};

struct stack_session {
	struct run run;
	struct bpf_object *object;
	const struct stacks_wanted *wanted;
	struct modules *modules;
	struct foreign *foreign; /* reads processes and files for modules and unwinder */
	struct unwinder *unwinder;
	struct stack_store *store;
	struct runtime_names *runtime_names;
	struct cmdlines *cmdlines;
	uint64_t programs_seen; /* struct processes' .nr_programs at the last look */
	struct namer *namer;    /* names user frames, with: */
	struct frame_names names;
	struct debuginfod *debuginfod; /* NULL: not used */
	struct kernel_symbols *kernel; /* names kernel frames */
	pid_t *pids;                   /* the processes to follow; none: all, or the command's */
	size_t nr_pids;
	int urgent[UNWINDER_FDS]; /* unwinder_fds() */
	struct priority_watch priority;
	/* --every: what was in the reports so far */
	const struct stack_options *options;
	const struct measure *measure;
	double reported_until; /* CLOCK_MONOTONIC */
	struct stack_stats reported;
	uint64_t reported_count; /* samples */
	/* --live and --serve: */
	const struct stack_source *source; /* NULL: the store's values */
	struct history *history;           /* NULL: neither */
	double looked;                     /* CLOCK_MONOTONIC, at the last interval's end */
	uint64_t taken;                    /* samples in the whole run */
	/* --live: */
	struct live_view *view;          /* NULL: none */
	int keys;                        /* its descriptor */
	uint64_t refresh_ns;             /* as chosen by keys */
	struct history_part part;        /* what is shown, */
	struct made_report made;         /* and the report of it, */
	struct live_shown shown;         /* as the view knows it, */
	struct json_object *shown_start; /* with this first line of JSON */
	uint64_t looked_cpu_ns;          /* the tool's CPU time when it looked last, */
	uint64_t drawing_cpu_ns;         /* and what it took for that */
	/* --serve: */
	struct web_view *web_view; /* NULL: none */
	uint64_t served_until_ns;  /* CLOCK_MONOTONIC: what came before was sent, */
	struct stack_stats served; /* as were these losses, and the tool's own: */
	uint64_t served_losses[MAX_LOSSES];
	double next_report; /* with --every; 0: without */
};

/*
 * Writes the options into an opened object that includes bpf/stacks.bpf.h and bpf/processes.bpf.h.
 */
void stack_session_configure(struct bpf_object *object, const struct run_options *run,
			     const struct stacks_wanted *wanted);

/*
 * After loading: opens the run, lists the wanted tasks in the kernel, publishes the existing
 * processes, and starts the command, which does not run yet. From now on, the run calls the session
 * several times a second.
 */
void stack_session_open(struct stack_session *session, struct bpf_object *object,
			const struct run_options *run, const struct stacks_wanted *wanted);

/* The progress line shows the number of values so far, with this noun: "samples" */
void stack_session_show_progress(struct stack_session *session, const char *counted);

/*
 * Measures until the run is over (run_measure()), and reports at the end of each interval, if there
 * are intervals. A tool that writes its own report sets session->source before.
 */
void stack_session_measure(struct stack_session *session, const struct stack_options *options,
			   const struct measure *measure);

/* To be called when no program measures any more: handles the rest of the buffers. */
void stack_session_drain(struct stack_session *session);

/* A writer to the run's output, valid until close. */
struct stack_writer stack_session_writer(struct stack_session *session);

/* placed_stacks_add(), with the session's names and options. The caller frees *placed. */
void stack_session_place(const struct stack_session *session, struct placed_stacks *placed,
			 struct stack_entry *entries, size_t nr);

/*
 * Adds what is known of these processes to *notes, which must be {} at first. The caller frees it.
 */
void stack_session_note(const struct stack_session *session, struct process_notes *notes,
			const uint32_t *pids, size_t nr);

/*
 * Adds the members that report/recording.h needs to the first line of JSON. report: "stacks" or
 * "timeline"
 */
void stack_session_describe(struct stack_session *session, const struct stack_options *options,
			    const char *report);

/* the counters of what was seen and lost; final after stack_session_drain() */
struct stack_stats stack_session_stats(const struct stack_session *session);

/*
 * how many overflows of these events, which are disabled by now, the sampling program did not see
 */
uint64_t stack_session_lost(const struct stack_session *session, const struct perf_events *events);

/* stack_session_writer() with the kernel's names, and with these options */
struct stack_writer stack_session_named_writer(struct stack_session *session,
					       const struct stack_options *options);

/*
 * Says on standard error why stacks in the last report are not whole, or have no names: lines that
 * belong to its summary.
 */
void stack_session_explain(const struct stack_session *session, const struct stack_entry *entries,
			   size_t nr);

/* the threads that the user has selected by options */
struct idle_asked stack_session_asked(const struct stack_session *session);

/*
 * Writes the tool's own losses and the session's into all[]. Returns their number. unfollowed: text
 * for threads that could not be measured; NULL: a default. since: what stack_session_stats()
 * returned when the losses begin to count; it becomes the current stats
 */
size_t stack_session_losses(const struct stack_session *session, const char *unfollowed,
			    const struct loss *own, size_t nr_own, struct stack_stats *since,
			    struct loss all[MAX_LOSSES]);

/*
 * After detaching: drains, prints stacks and summary as the options say, and closes the output.
 * losses: the tool's own, to which the session adds its losses of stacks
 */
void stack_session_report(struct stack_session *session, const struct stack_options *options,
			  const struct measure *measure, const struct loss *losses,
			  size_t nr_losses);

/*
 * For a tool that writes its own report, after draining: the time that this report is of. That is
 * what was shown last; unless the user has left, or paused, with all that came since.
 * CLOCK_MONOTONIC. False: all, since there is no view in the terminal
 */
bool stack_session_shown(struct stack_session *session, uint64_t *from_ns, uint64_t *until_ns);

/*
 * For a tool that writes its own report, after draining: sends the rest to the view in a browser,
 * if there is one, and ends it. said: the report's summary, as text
 */
void stack_session_end_view(struct stack_session *session, const char *said);

/* Frees what stack_session_measure() has begun, for stack_session_close(). */
void stack_session_free_views(struct stack_session *session);

/* Waits for the command, and frees the session. Returns the exit status: the command's, or 0 */
int stack_session_close(struct stack_session *session);

#endif
