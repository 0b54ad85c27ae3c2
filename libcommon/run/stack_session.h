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
#include "report/stack_paths.h"
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
	/* for a view: the paths of the busy ones; the entries may not be named and sorted yet */
	struct stack_paths paths;
	bool is_complete;
};

/* for a tool whose report is not a list of stacks: where the views get their stacks */
struct stack_source {
	/*
	 * Takes the entries that came since the last call: an array of *nr, in no order, valid
	 * until the next call. Their stacks belong to the store, which keeps them. *until_ns: up to
	 * when; a later time may be chosen. 0 or -errno
	 */
	int (*take)(void *arg, struct stack_entry **entries, size_t *nr, uint64_t *until_ns);
	/*
	 * Writes the timeline of this part's time, of what is shown, in one of the tool's formats.
	 * 0 or -errno
	 */
	int (*save)(void *arg, FILE *out, const struct stack_output *output,
		    const struct history_part *part, const struct live_shown *shown);
	void *arg;
	struct lanes *lanes; /* for a timeline that is shown while it is measured; NULL: none */
};

/* what a tool itself counts as lost */
struct own_losses {
	const struct loss *rows;
	size_t nr;
	/*
	 * Brings .count of each row up to date: in the whole run, by now. The session calls it at
	 * the end of each interval; the tool calls it before it detaches.
	 */
	void (*count)(void *arg);
	void *arg;
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
	uint64_t renewed_ns;    /* when the command lines were, CLOCK_MONOTONIC */
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
	const struct own_losses *own_losses;
	uint64_t counted_losses[MAX_LOSSES]; /* by stack_session_lost_since() */
	int64_t over_reported[MAX_LOSSES];   /* what was reported too early, below 0 */
	/* --live and --serve: */
	const struct stack_source *source; /* NULL: the store's values */
	struct history *history;           /* NULL: neither */
	uint64_t looked_ns;                /* CLOCK_MONOTONIC: what came before is in it */
	/* CLOCK_MONOTONIC: when to do what; 0: never */
	struct {
		uint64_t slice_ns, report_ns, drawing_ns;
	} next;
	/* --live: */
	struct live_view *view;          /* NULL: none */
	int keys;                        /* its descriptor */
	uint64_t refresh_ns;             /* as chosen by keys */
	struct history_part part;        /* what is shown, */
	struct made_report made;         /* and the report of it, */
	struct live_shown shown;         /* as the view knows it, */
	struct json_object *shown_start; /* with this first line of JSON */
	uint64_t undrawn;                /* what came since the last drawing, */
	uint64_t drawn_ns, drawn_cpu_ns; /* when that began, also in CPU time of the tool, */
	uint64_t drawing_cpu_ns;         /* and what it took of that */
	/* --serve: */
	struct web_view *web_view;       /* NULL: none */
	uint64_t served_until_ns;        /* CLOCK_MONOTONIC: what came before was sent */
	int64_t over_served[MAX_LOSSES]; /* as over_reported */
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
			   const struct measure *measure, const struct own_losses *own_losses);

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

/* how many overflows of these events the sampling program has not seen */
uint64_t stack_session_lost(const struct stack_session *session, struct perf_events *events);

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
 * Writes a table of losses: the tool's own rows and the session's. Returns their number. lost: the
 * count of each, as of stack_session_lost_since() or of a history's part; below 0 becomes 0. NULL:
 * in the whole run
 */
size_t stack_session_losses(const struct stack_session *session, const int64_t lost[MAX_LOSSES],
			    struct loss all[MAX_LOSSES]);
/*
 * Counts what was lost since the last call. A count is below 0 if too many were counted then: it is
 * not known at once what an idle CPU has slept through.
 */
void stack_session_lost_since(struct stack_session *session, int64_t lost[MAX_LOSSES]);

/*
 * After detaching: drains, prints stacks and summary as the options say, and closes the output.
 */
void stack_session_report(struct stack_session *session);

/*
 * For a tool that writes its own report, after draining: the part of the history that this report
 * is of, from .first_ns to .until_ns. That is what was shown last; if the user has neither left nor
 * paused, it includes what came since. NULL: all, since there is no view in the terminal
 */
const struct history_part *stack_session_shown(struct stack_session *session);

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
