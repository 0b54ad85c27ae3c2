/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The view in the terminal (--live): draws what is measured while it is measured, and takes keys.
 * It knows no tool: a source makes the reports that it shows. The terminal must have begun
 * (live/terminal.h).
 */
#ifndef EHPERF_LIVE_VIEW_H
#define EHPERF_LIVE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "live/picture.h"
#include "report/stack_filter.h"

struct live_view;

/* the time that is shown */
struct live_window {
	uint64_t ns; /* the last so many; 0: all since the start */
	bool decays; /* all, and the weight of what is older halves every .ns */
};

/* who measures */
struct live_source {
	const char *doing;   /* what is measured, in words; escaped by the view */
	const char *counted; /* what it counts, as "samples" */
	const char *note;    /* shown until the first key; NULL: none */
	/*
	 * Makes a report of this time before until_ns, of the stacks that match `only`, or of all
	 * (NULL); valid until the next call, whose report replaces it. until_ns 0: now; it must be
	 * 0 if window.ns is. 0 or -errno
	 */
	int (*show)(void *arg, struct live_window window, uint64_t until_ns,
		    const struct stack_pattern *only, const struct live_shown **shown);
	void (*note_processes)(void *arg); /* Notes the processes of that report. */
	/*
	 * For reports with lanes: can a timeline be saved in the format of this name's ending? And
	 * writes that of the report's time and threads. 0 or -errno
	 */
	bool (*has_timeline_format)(void *arg, const char *name);
	int (*save_timeline)(void *arg, FILE *out, const char *name);
	const char *timeline_endings; /* for messages */
	void (*reset)(void *arg);     /* the start is now */
	void (*set_interval)(void *arg, uint64_t ns);
	void (*end)(void *arg); /* the user wants to leave */
	void *arg;
};

#define LIVE_INTERVAL_NS 1000000000 /* at first */

/* 0 or -ENOMEM */
int live_view_new(struct live_view **view, const struct live_source *source);
void live_view_free(struct live_view *view);

/*
 * At the end of each interval: shows what is new, unless the view is paused. taken: so many samples
 * or so much time in it
 */
int live_view_refresh(struct live_view *view, double seconds, uint64_t taken, double own_cpu);
/* Takes the keys that were pressed. 0 or -errno */
int live_view_work(struct live_view *view);
/* Shows what has come up to now, unless the view is paused. 0 or -errno */
int live_view_catch_up(struct live_view *view);

#endif
