/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stack tool's run, from its options to its output: configure, (load), open, (attach), run, (detach),
 * report. What differs between tools lies in the parentheses.
 */
#ifndef EHPERF_RUN_SESSION_H
#define EHPERF_RUN_SESSION_H

#include <bpf/libbpf.h>

#include "bpf/stack_store.h"
#include "bpf/unwinder.h"
#include "run/command.h"
#include "process/perf_events.h"
#include "run/stack_options.h"

/* What a tool does besides, while it runs. Both return 0, -errno, or 1: that is enough */
struct session_hook {
	int (*look)(void *arg);		/* several times a second */
	int (*interval)(void *arg);
	uint64_t interval_ns;		/* 0: none */
	void *arg;
};

struct stack_session {
	const struct stack_options *options;
	const struct session_hook *hook;	/* NULL: none. Set after open */
	struct bpf_object *object;
	struct modules *modules;
	struct unwinder *unwinder;
	struct stack_store *store;
	struct command command;
	int signal_fd;
	double started, seconds;	/* CLOCK_MONOTONIC */
	double next_interval;
	bool signalled;
	FILE *out;
	const char *doing;		/* what failed, for "cannot %s": valid after an error */
	char doing_what[4200];
	pid_t *pids;			/* whose processes are followed */
	size_t nr_pids;
};

/* Writes the options into the constants of an opened object. 0 or -errno */
int stack_session_configure(struct bpf_object *object, const struct stack_options *options);

/* Ends the program with a message where the options name a process or thread that does not exist. */
void stack_session_check_tasks(const struct stack_options *options);

/*
 * After loading: lists what is to be measured, publishes the mappings and tables of the processes there
 * are, forks the command. 0 or -errno; *session is to be closed either way.
 */
int stack_session_open(struct stack_session *session, struct bpf_object *object, const struct stack_options *options);

/* Lets the command go and works until the duration is over, a signal comes or the command ends. 0 or -errno */
int stack_session_run(struct stack_session *session);

/*
 * After detaching: prints stacks and summary where the options say, and fills the summary in but for
 * .tool and .measure. Samples lost are counted by the clock's events, NULL for a tool without one. 0 or -errno
 */
int stack_session_report(struct stack_session *session, const struct perf_events *clock, uint64_t ns_per_sample,
			 struct report_summary *summary);

/* the exit status: the command's, or 0 */
int stack_session_close(struct stack_session *session);

#endif
