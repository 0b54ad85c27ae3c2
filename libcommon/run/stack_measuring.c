// SPDX-License-Identifier: GPL-2.0-or-later
/* How a session measures: reports at the end and at intervals, and the views while it lasts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "live/terminal.h"
#include "process/priority.h"
#include "report/json.h"
#include "run/cli.h"
#include "run/run_start.h"
#include "run/signals.h"
#include "run/stack_reports.h"
#include "run/stack_session.h"

/* the end of the measurement, or of the interval that is reported */
static double measured_until(const struct stack_session *s, bool last)
{
	return last ? s->run.counted_from + s->run.seconds : s->run.interval_ended_ns / 1e9;
}

/*
 * Adds what has come to the history. *until_ns: up to when; the source may choose a later time.
 * *value: its sum
 */
static int look(struct stack_session *s, uint64_t *until_ns, uint64_t *value)
{
	struct stack_entry *entries;
	size_t nr;
	int error = s->source ? s->source->take(s->source->arg, &entries, &nr, until_ns)
			      : stack_store_hand_out(s->store, 0, 0, &entries, &nr);

	*value = 0;
	for (size_t i = 0; i < nr && !error; i++) {
		*value += s->measure->value(&entries[i].value);
		s->taken += entries[i].value.count;
	}
	return error ? error : history_add(s->history, entries, nr, *until_ns);
}

/* Forgets what no later report needs. */
static void forget(struct stack_session *s)
{
	kernel_symbols_renew(s->kernel, clock_ns());
	if (s->source)
		return;
	stack_store_forget(s->store, !s->wanted->later);
	cmdlines_forget(s->cmdlines);
	s->programs_seen = 0; /* command lines of live processes are read again */
}

/* ---- the history, for views ---- */

/*
 * Looks take at most 1 / VIEW_SHARE of the time and, once a second in the terminal, 1 /
 * VIEW_CPU_SHARE of a CPU. VIEW_REST_NS is the longest pause.
 */
#define VIEW_SHARE     25
#define VIEW_CPU_SHARE 100
#define VIEW_REST_NS   10000000000

static void each_copy(void *arg, see_frames_fn *see, void *see_arg)
{
	const struct stack_session *s = arg;

	history_each_stack(s->history, &s->part, see, see_arg);
}

/* the unit of a stack's value, and what makes its root */
static void describe_measure(struct json_object *start, const struct measure *measure)
{
	json_object_object_add(start, "counted", json_object_new_string(measure->counted));
	json_add_name(start, "summed", measure->sum_unit);
	/* without a root, "filters" says which time it is */
	if (measure->is_time && measure->root)
		json_object_object_add(start, "is_time", json_object_new_boolean(true));
	if (!measure->is_time && measure->value_ns)
		json_object_object_add(start, "sample_ns", json_number(measure->value_ns));
	if (measure->root)
		json_object_object_add(start, "by_event", json_object_new_boolean(true));
}

static void begin_history(struct stack_session *s)
{
	s->history = history_new(s->measure, s->reported_until * 1e9, s->wanted->memory.user / 16);
	cli_check(s->history ? 0 : -ENOMEM, "begin the view");
	stack_store_add_copies(s->store, each_copy, s);
}

/*
 * How long it is to be until the next look: what takes long is done less often; and a stopped tool
 * does not catch up.
 */
static uint64_t rest_ns(const struct stack_session *s, uint64_t least_ns)
{
	uint64_t rest =
		clamped((clock_ns() - s->run.interval_ended_ns) * VIEW_SHARE, 0, VIEW_REST_NS);

	return rest > least_ns ? rest : least_ns;
}

/* ---- the view in a browser ---- */

#define SLICE_NS 1000000000
/* while nobody looks, slices are long: each costs names and text */
#define UNWATCHED_NS 10000000000
#define SLICE_FRAMES 200000
#define IDLE_NS      20000000000 /* one slice is too short to tell who is idle */

static void warn_web_view(int error)
{
	if (error == -E2BIG || error == -ENOMEM)
		cli_warn("a part of the view in the browser is missing: %s", strerror(-error));
	else if (error)
		cli_warn("the view in the browser has ended: %s", strerror(-error));
}

/* What was measured in the last time, in which the idle waits are marked; to be freed */
static struct history_part idle_lately(struct stack_session *s, const struct frame_names *names)
{
	struct idle_asked asked = stack_session_asked(s);
	struct history_part last = {};
	size_t threads;

	if (!s->measure->of_waits || s->options->idle)
		return last;
	cli_check(history_take(s->history, IDLE_NS, 0, &last), "read the results");
	cli_check(idle_mark(last.entries, last.nr, last.until_ns - last.from_ns, &asked, names,
			    &threads),
		  "find the idle threads");
	return last;
}

/* the tool's own losses since the last slice: how many rows */
static size_t own_losses_since(struct stack_session *s, struct loss own[MAX_LOSSES])
{
	size_t nr = s->source ? s->source->nr_losses : 0;

	for (size_t i = 0; i < nr; i++) {
		own[i] = s->source->losses[i];
		own[i].count -= s->served_losses[i];
		s->served_losses[i] += own[i].count;
	}
	return nr;
}

/*
 * Sends what was added since the last slice, if that slice is sent. now: the history will be reset,
 * so sends it also if one slice is still unsent.
 */
static void serve(struct stack_session *s, uint64_t until_ns, bool now)
{
	struct live_shown shown = {
		.start = s->run.start,
		.from_ns = s->served_until_ns,
		.until_ns = until_ns,
		.lanes = s->source ? s->source->lanes : NULL,
	};
	struct history_part part, last;
	struct loss own[MAX_LOSSES];
	struct made_report made;
	size_t nr_own;

	if (!s->web_view || until_ns <= s->served_until_ns || !web_view_is_ready(s->web_view, now))
		return;
	cli_check(history_take(s->history, until_ns - s->served_until_ns, 0, &part),
		  "read the results");
	nr_own = own_losses_since(s, own);
	report_make(s, &made,
		    &(struct report_of){
			    .entries = part.entries,
			    .nr = part.nr,
			    .from = s->served_until_ns / 1e9,
			    .until = until_ns / 1e9,
			    .losses = own,
			    .nr_losses = nr_own,
			    .since = &s->served,
			    .room = SLICE_FRAMES,
		    });
	shown.writer = made.writer;
	shown.summary = made.summary;
	shown.entries = made.entries;
	shown.nr = made.nr_busy;
	shown.nr_all = made.nr;
	last = idle_lately(s, &made.writer.names);
	warn_web_view(web_view_refresh(s->web_view, &shown, &last, until_ns));
	s->served_until_ns = until_ns;
	history_part_free(&last);
	report_free(&made);
	history_part_free(&part);
	namer_forget(s->namer);
}

/* Adds what came until the end, and sends it if anybody looks. */
static void look_last(struct stack_session *s)
{
	uint64_t until_ns = measured_until(s, true) * 1e9, value;

	if (until_ns <= s->served_until_ns) /* rounded */
		until_ns = s->served_until_ns + 1;
	cli_check(look(s, &until_ns, &value), "read the results");
	if (s->web_view && web_view_is_watched(s->web_view))
		serve(s, until_ns, true);
}

static void end_web_view(struct stack_session *s, const char *said)
{
	if (s->web_view)
		web_view_end(s->web_view, said);
	s->web_view = NULL;
}

static void end_web_view_of(struct stack_session *s, const struct stack_summary *summary)
{
	char *said = stack_summary_text(summary);

	end_web_view(s, said ? said : "");
	free(said);
}

void stack_session_end_view(struct stack_session *s, const char *said)
{
	if (s->web_view)
		look_last(s);
	end_web_view(s, said);
}

static uint64_t slice_ns(const struct stack_session *s)
{
	return web_view_is_watched(s->web_view) ? SLICE_NS : UNWATCHED_NS;
}

/* When somebody begins to look, the long slice ends. */
static int work_web_view(void *arg)
{
	struct stack_session *s = arg;
	uint64_t before_ns = slice_ns(s), since_ns = clock_ns() - s->served_until_ns;

	warn_web_view(web_view_work(s->web_view));
	if (!s->view && slice_ns(s) < before_ns)
		run_set_interval(&s->run, since_ns < SLICE_NS ? SLICE_NS - since_ns : 1);
	return 0;
}

/* ---- reports ---- */

/* Reports what has come since the last report. last: the run is over */
static void report(struct stack_session *s, const struct loss *losses, size_t nr_losses, bool last)
{
	double until = measured_until(s, last);
	struct history_part part = {};
	struct made_report made;
	struct stack_entry *entries;
	size_t nr;

	if (s->history) {
		if (last)
			look_last(s);
		cli_check(history_take(s->history, 0, 0, &part), "read the results");
		entries = part.entries;
		nr = part.nr;
	} else {
		cli_check(stack_store_hand_out(s->store, 0, 0, &entries, &nr), "read the results");
	}
	report_make(s, &made,
		    &(struct report_of){
			    .entries = entries,
			    .nr = nr,
			    .from = s->reported_until,
			    .until = until,
			    .since = &s->reported,
			    .losses = losses,
			    .nr_losses = nr_losses,
			    .room = report_room(s->options),
		    });
	/* the tool's own are known in the last report only */
	made.summary.earlier = nr_losses ? s->reported_count : 0;
	report_write(s, &made, last);
	s->reported_until = until;
	s->reported_count += made.summary.sum.count;
	if (last)
		end_web_view_of(s, &made.summary);
	report_free(&made);
	history_part_free(&part);
	if (s->history)
		history_reset(s->history);
}

static int interval(void *arg, bool last)
{
	struct stack_session *s = arg;

	(void)last;
	priority_leave_after(REPORT_CPU_MS); /* until the next look at what is taken */
	report(s, NULL, 0, false);
	namer_forget(s->namer);
	forget(s);
	return 0;
}

/* ---- the same with a view in a browser alone ---- */

/* the next slice, or the next report if that is earlier */
static void plan(struct stack_session *s)
{
	uint64_t wait_ns = rest_ns(s, slice_ns(s));
	double left = s->next_report ? s->next_report - clock_seconds() : wait_ns / 1e9;

	run_set_interval(&s->run, clamped(left * 1e9, 1, wait_ns));
}

static int interval_served(void *arg, bool last)
{
	struct stack_session *s = arg;
	uint64_t until_ns = s->run.interval_ended_ns, value;
	bool reports;
	int error;

	(void)last;
	priority_leave_after(REPORT_CPU_MS); /* until the next look at what is taken */
	error = look(s, &until_ns, &value);
	if (error)
		return error;
	forget(s);
	reports = s->next_report && until_ns / 1e9 >= s->next_report;
	serve(s, until_ns, reports);
	if (reports) {
		report(s, NULL, 0, false);
		namer_forget(s->namer);
		s->next_report += s->options->run.interval_ns / 1e9;
	}
	plan(s);
	return 0;
}

static void begin_web_view(struct stack_session *s)
{
	uint64_t every_ns = s->options->run.interval_ns;
	struct run_part part = { .doing = "serve the view", .work = work_web_view, .arg = s };

	warn_web_view(web_view_begin(s->web_view, s->run.start, s->measure));
	s->served_until_ns = s->reported_until * 1e9;
	if (!s->view) {
		part.interval = interval_served;
		s->next_report = every_ns ? s->reported_until + every_ns / 1e9 : 0;
		plan(s);
	}
	run_add(&s->run, &part);
}

/* ---- the view in the terminal ---- */

/* Makes the report that the view shows, with the losses that are known by now. */
static int show(void *arg, struct live_window window, uint64_t until_ns,
		const struct stack_pattern *only, const struct live_shown **shown)
{
	struct stack_session *s = arg;
	struct made_report *made = &s->made;
	struct stack_stats since = {};
	int error;

	report_free(made);
	history_part_free(&s->part);
	namer_forget(s->namer);
	json_object_object_del(s->shown_start, "half_life");
	if (window.decays) {
		json_object_object_add(s->shown_start, "half_life",
				       json_object_new_double(window.ns / 1e9));
		error = history_take_decaying(s->history, window.ns, until_ns, &s->part);
	} else {
		error = history_take(s->history, window.ns, until_ns, &s->part);
	}
	if (error)
		return error;
	report_make(s, made,
		    &(struct report_of){
			    .entries = s->part.entries,
			    .nr = s->part.nr,
			    .from = s->part.from_ns / 1e9,
			    .until = s->part.until_ns / 1e9,
			    .since = &since,
			    .room = report_room(s->options),
			    .only = only,
			    .for_view = true,
			    .losses = s->source ? s->source->losses : NULL,
			    .nr_losses = s->source ? s->source->nr_losses : 0,
		    });
	made->summary.earlier = s->taken - made->summary.sum.count;
	s->shown = (struct live_shown){
		.writer = made->writer,
		.summary = made->summary,
		.entries = made->entries,
		.nr = made->nr_busy,
		.nr_all = made->nr,
		.start = s->shown_start,
		.from_ns = s->part.from_ns,
		.until_ns = s->part.until_ns,
		.lanes = s->source ? s->source->lanes : NULL,
	};
	*shown = &s->shown;
	return 0;
}

/*
 * The pause until the next drawing. It follows the faster of the last two drawings, so that a
 * single slow one has no effect.
 */
static uint64_t rest_from_drawing_ns(struct stack_session *s, uint64_t cpu_ns)
{
	uint64_t least = cpu_ns < s->drawing_cpu_ns ? cpu_ns : s->drawing_cpu_ns;
	/* who wants it more often pays for it */
	double shares = (double)s->refresh_ns / LIVE_INTERVAL_NS;
	uint64_t rest = clamped(least * VIEW_CPU_SHARE * shares, 0, VIEW_REST_NS);

	s->drawing_cpu_ns = cpu_ns;
	return rest_ns(s, rest > s->refresh_ns ? rest : s->refresh_ns);
}

static int refresh_view(void *arg, bool last)
{
	struct stack_session *s = arg;
	uint64_t until_ns = s->run.interval_ended_ns, cpu_ns = clock_cpu_ns(), value;
	double seconds;
	int error;

	(void)last;
	priority_leave_after(REPORT_CPU_MS); /* until the next look at what is taken */
	error = look(s, &until_ns, &value);
	if (error)
		return error;
	seconds = until_ns / 1e9 - s->looked;
	forget(s);
	/* about: a view that is drawn each second has a slice each second */
	if (s->web_view && until_ns - s->served_until_ns + SLICE_NS / 4 > slice_ns(s))
		serve(s, until_ns, false);
	error = live_view_refresh(s->view, seconds, value,
				  (cpu_ns - s->looked_cpu_ns) / 1e9 / seconds);
	s->looked = until_ns / 1e9;
	s->looked_cpu_ns = cpu_ns;
	run_set_interval(&s->run, rest_from_drawing_ns(s, clock_cpu_ns() - cpu_ns));
	return error;
}

static int work_in_view(void *arg)
{
	struct stack_session *s = arg;

	return live_view_work(s->view);
}

static void reset_history(void *arg)
{
	struct stack_session *s = arg;

	serve(s, s->looked * 1e9, true);
	history_reset(s->history);
}

static void set_interval(void *arg, uint64_t ns)
{
	struct stack_session *s = arg;

	s->refresh_ns = ns;
	run_set_interval(&s->run, ns);
}

static void end_run(void *arg)
{
	struct stack_session *s = arg;

	run_end(&s->run);
}

/* The view shows lists of stacks, and says so in what it saves, also of a timeline. */
static void describe_view(struct stack_session *s)
{
	if (!s->source) {
		s->shown_start = json_object_get(s->run.start);
		return;
	}
	cli_check(json_object_deep_copy(s->run.start, &s->shown_start, NULL) ? -ENOMEM : 0,
		  "begin the view");
	json_object_object_add(s->shown_start, "report", json_object_new_string("stacks"));
	describe_measure(s->shown_start, s->measure);
}

static const char *what_counts(const struct stack_session *s)
{
	return s->measure->is_time && !s->source ? "periods" : s->measure->counted;
}

static void begin_view(struct stack_session *s)
{
	const struct live_source source = {
		.doing = s->run.doing,
		.counted = what_counts(s),
		.note = s->web_view ? web_view_url(s->web_view) : NULL,
		.show = show,
		.reset = reset_history,
		.set_interval = set_interval,
		.end = end_run,
		.arg = s,
	};
	const struct run_part part = {
		.doing = "draw the view",
		.work = work_in_view,
		.interval = refresh_view,
		.arg = s,
		.fds = &s->keys,
		.nr_fds = 1,
	};

	describe_view(s);
	cli_check(terminal_begin(), "begin the view");
	signals_before_exit(terminal_reset);
	cli_check(live_view_new(&s->view, &source), "begin the view");
	s->keys = terminal_fd();
	s->looked = s->reported_until;
	s->looked_cpu_ns = clock_cpu_ns();
	set_interval(s, LIVE_INTERVAL_NS);
	run_add(&s->run, &part);
}

/* Shows what has come since, unless the user has left. */
static void show_last(struct stack_session *s)
{
	if (s->run.over && s->part.history)
		return;
	look_last(s);
	cli_check(live_view_catch_up(s->view), "draw the view");
}

bool stack_session_shown(struct stack_session *s, uint64_t *from_ns, uint64_t *until_ns)
{
	if (!s->view)
		return false;
	show_last(s);
	*from_ns = s->part.first_ns;
	*until_ns = s->part.until_ns;
	return true;
}

static void report_shown(struct stack_session *s, const struct loss *losses, size_t nr_losses)
{
	struct made_report *made = &s->made;
	struct stack_stats since = {};

	show_last(s);
	made->summary.nr_losses = stack_session_losses(s, s->measure->unfollowed, losses, nr_losses,
						       &since, made->losses);
	made->summary.earlier = s->taken - made->summary.sum.count;
	report_count_names(made);
	report_write(s, made, true);
	if (made->summary.only)
		end_web_view(s, ""); /* the page has all */
	else
		end_web_view_of(s, &made->summary);
}

void stack_session_free_views(struct stack_session *s)
{
	live_view_free(s->view);
	report_free(&s->made);
	history_part_free(&s->part);
	history_free(s->history);
	json_object_put(s->shown_start);
}

/* ---- measuring ---- */

void stack_session_measure(struct stack_session *s, const struct stack_options *o,
			   const struct measure *measure)
{
	const struct run_part reports = { .doing = "report", .interval = interval, .arg = s };

	s->options = o;
	s->measure = measure;
	s->reported_until = s->run.counted_from ? s->run.counted_from : clock_seconds();
	stack_session_describe(s, o, s->source ? "timeline" : "stacks");
	if (!s->source)
		describe_measure(s->run.start, measure);
	stack_session_show_progress(s, what_counts(s));
	if (o->run.live || o->run.serve)
		begin_history(s);
	if (o->run.live)
		begin_view(s);
	if (o->run.serve)
		begin_web_view(s);
	else if (o->run.interval_ns)
		run_add(&s->run, &reports);
	run_measure(&s->run);
	terminal_end();
	if (o->run.live)
		run_start_put(&s->run);
	if (o->run.live && o->run.command)
		cli_check(terminal_pass_on(), "pass on the command's output");
}

void stack_session_report(struct stack_session *s, const struct stack_options *o,
			  const struct measure *measure, const struct loss *losses,
			  size_t nr_losses)
{
	s->options = o;
	s->measure = measure;
	stack_session_drain(s);
	if (s->view)
		report_shown(s, losses, nr_losses);
	else
		report(s, losses, nr_losses, true);
}
