// SPDX-License-Identifier: GPL-2.0-or-later
/* How a session measures: reports at the end and at intervals, and the views while it lasts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "live/terminal.h"
#include "process/priority.h"
#include "report/json.h"
#include "report/stack_report.h"
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

/* Adds new stacks to the history, up to until_ns; the source may choose a later time. */
static int look(struct stack_session *s, uint64_t until_ns)
{
	struct stack_entry *entries;
	int64_t lost[MAX_LOSSES];
	size_t nr;
	int error = s->source ? s->source->take(s->source->arg, &entries, &nr, &until_ns)
			      : stack_store_hand_out(s->store, 0, 0, &entries, &nr);

	if (error)
		return error;
	for (size_t i = 0; i < nr; i++)
		s->undrawn += s->measure->value(&entries[i].value);
	stack_session_lost_since(s, lost);
	s->looked_ns = until_ns;
	return history_add(s->history, entries, nr, lost, until_ns);
}

/* Earlier reports may have counted too many losses: deducts the excess, `over`, from this one. */
static void settle(int64_t lost[MAX_LOSSES], int64_t over[MAX_LOSSES])
{
	for (size_t i = 0; i < MAX_LOSSES; i++) {
		lost[i] += over[i];
		over[i] = lost[i] < 0 ? lost[i] : 0;
	}
}

#define RENEW_NS 10000000000 /* after this time, a view's command lines are read again */

/* Forgets what no later report needs, or what may have changed. */
static void forget(struct stack_session *s)
{
	uint64_t now = clock_ns();

	kernel_symbols_renew(s->kernel, now);
	if (s->source)
		return;
	stack_store_forget(s->store, !s->wanted->later);
	if (s->history && now < s->renewed_ns + RENEW_NS)
		return;
	cmdlines_forget(s->cmdlines);
	s->programs_seen = 0;
	s->renewed_ns = now;
}

/* ---- the history, for views ---- */

/*
 * Slices and drawings each take at most 1 / VIEW_SHARE of the time. Drawings are also limited to
 * about 1 / VIEW_CPU_SHARE of a CPU, at one a second, so that a view takes 1 % with its history.
 * VIEW_REST_NS is the longest pause.
 */
#define VIEW_SHARE     25
#define VIEW_CPU_SHARE 150
#define VIEW_REST_NS   10000000000

static void each_copy(void *arg, see_frames_fn *see, void *see_arg)
{
	const struct stack_session *s = arg;

	history_each_stack(s->history, see, see_arg);
}

/* the unit of a stack's value, and what makes its root */
static void describe_measure(struct json_object *start, const struct measure *measure)
{
	json_object_object_add(start, "counted", json_object_new_string(measure->counted));
	json_add_name(start, "summed", measure->sum_unit);
	/* if stacks have no root, "filters" says which kind of time is measured */
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
 * When to do again what has just been done: what takes long is done less often; and a stopped tool
 * does not catch up.
 */
static uint64_t next_ns(const struct stack_session *s, uint64_t least_ns)
{
	uint64_t now = clock_ns(),
		 rest = clamped((now - s->run.interval_ended_ns) * VIEW_SHARE, 0, VIEW_REST_NS);

	return now + (rest > least_ns ? rest : least_ns);
}

/* The next look is when the first of these is due. */
static void plan(struct stack_session *s)
{
	const uint64_t due[] = { s->next.slice_ns, s->next.report_ns, s->next.drawing_ns };
	uint64_t now = clock_ns(), first = UINT64_MAX;

	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		if (due[i] && due[i] < first)
			first = due[i];
	run_set_interval(&s->run, first > now ? first - now : 1);
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

/* The entries of the last IDLE_NS, those of idle waits marked; the caller frees them */
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

/*
 * Sends what came since the last slice, once the server has taken that one. now: there is no later
 * chance, so one slice may still wait.
 */
static void serve(struct stack_session *s, bool now)
{
	uint64_t until_ns = s->looked_ns;
	struct live_shown shown = {
		.start = s->run.start,
		.from_ns = s->served_until_ns,
		.until_ns = until_ns,
		.lanes = s->source ? s->source->lanes : NULL,
	};
	struct history_part part, last;
	struct made_report made;

	if (!s->web_view || until_ns <= s->served_until_ns)
		return;
	if (!web_view_is_ready(s->web_view, now)) {
		if (now) /* viewers see a gap here */
			s->served_until_ns = until_ns;
		return;
	}
	cli_check(history_take(s->history, until_ns - s->served_until_ns, 0, &part),
		  "read the results");
	settle(part.lost, s->over_served);
	report_make(s, &made,
		    &(struct report_of){
			    .entries = part.entries,
			    .nr = part.nr,
			    .from = s->served_until_ns / 1e9,
			    .until = until_ns / 1e9,
			    .lost = part.lost,
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
	uint64_t until_ns = measured_until(s, true) * 1e9;

	if (until_ns <= s->served_until_ns) /* rounded */
		until_ns = s->served_until_ns + 1;
	cli_check(look(s, until_ns), "read the results");
	if (s->web_view && web_view_is_watched(s->web_view))
		serve(s, true);
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
	uint64_t before_ns = slice_ns(s);

	warn_web_view(web_view_work(s->web_view));
	if (slice_ns(s) < before_ns) {
		s->next.slice_ns = s->served_until_ns + SLICE_NS;
		plan(s);
	}
	return 0;
}

static void begin_web_view(struct stack_session *s)
{
	const struct run_part part = { .doing = "serve the view", .work = work_web_view, .arg = s };

	warn_web_view(web_view_begin(s->web_view, s->run.start, s->measure));
	s->served_until_ns = s->looked_ns;
	s->next.slice_ns = s->looked_ns + slice_ns(s);
	plan(s);
	run_add(&s->run, &part);
}

/* ---- reports ---- */

/* Reports what has come since the last report. last: the run is over */
static void report(struct stack_session *s, bool last)
{
	double until = measured_until(s, last);
	struct history_part part = {};
	struct made_report made;

	if (s->history) {
		if (last)
			look_last(s);
		cli_check(history_take(s->history, 0, 0, &part), "read the results");
	} else {
		cli_check(stack_store_hand_out(s->store, 0, 0, &part.entries, &part.nr),
			  "read the results");
		stack_session_lost_since(s, part.lost);
	}
	settle(part.lost, s->over_reported);
	report_make(s, &made,
		    &(struct report_of){
			    .entries = part.entries,
			    .nr = part.nr,
			    .from = s->reported_until,
			    .until = until,
			    .lost = part.lost,
			    .room = report_room(s->options),
		    });
	report_write(s, &made, last);
	s->reported_until = until;
	if (last)
		end_web_view_of(s, &made.summary);
	report_free(&made);
	if (!s->history)
		return;
	history_part_free(&part);
	history_reset(s->history);
}

static void begin_interval(struct stack_session *s)
{
	/* a long report gives up the priority, until priority_watch() raises it again */
	priority_leave_after(REPORT_CPU_MS);
	s->own_losses->count(s->own_losses->arg);
}

static int interval(void *arg, bool last)
{
	struct stack_session *s = arg;

	(void)last;
	begin_interval(s);
	report(s, false);
	namer_forget(s->namer);
	forget(s);
	return 0;
}

/* ---- the view in the terminal ---- */

static void complete_shown(void *arg)
{
	struct stack_session *s = arg;

	report_complete(s, &s->made);
	s->shown.summary = s->made.summary;
}

/* Makes the report that the view shows, with the losses that are known by now. */
static int show(void *arg, struct live_window window, uint64_t until_ns,
		const struct stack_pattern *only, const struct live_shown **shown)
{
	struct stack_session *s = arg;
	struct made_report *made = &s->made;
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
			    .lost = s->part.lost,
			    .room = report_room(s->options),
			    .only = only,
			    .for_view = true,
		    });
	s->shown = (struct live_shown){
		.writer = made->writer,
		.summary = made->summary,
		.paths = made->paths.all,
		.nr_paths = made->paths.nr,
		.complete = complete_shown,
		.arg = s,
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

static void note_shown(void *arg)
{
	struct stack_session *s = arg;

	report_note_processes(s, &s->made);
}

static bool has_timeline_format(void *arg, const char *name)
{
	const struct stack_session *s = arg;
	struct stack_output output;

	return stack_options_output(s->options, name, &output);
}

static int save_timeline(void *arg, FILE *out, const char *name)
{
	struct stack_session *s = arg;
	struct stack_output output;

	stack_options_output(s->options, name, &output);
	if (output.format == stack_format_json)
		json_print(out, json_object_get(s->run.start));
	return s->source->save(s->source->arg, out, &output, &s->part, &s->shown);
}

/*
 * The next drawing is after a pause that follows the faster of the last two drawings, so that a
 * single slow one has no effect.
 */
static void plan_drawing(struct stack_session *s, uint64_t cpu_ns)
{
	uint64_t least = cpu_ns < s->drawing_cpu_ns ? cpu_ns : s->drawing_cpu_ns;
	/* a user who wants more drawings gives them more CPU time */
	double shares = (double)s->refresh_ns / LIVE_INTERVAL_NS;
	uint64_t rest = clamped(least * VIEW_CPU_SHARE * shares, 0, VIEW_REST_NS);

	s->drawing_cpu_ns = cpu_ns;
	s->next.drawing_ns = next_ns(s, rest > s->refresh_ns ? rest : s->refresh_ns);
}

static int draw_view(struct stack_session *s)
{
	uint64_t cpu_ns = clock_cpu_ns();
	double seconds = (s->looked_ns - s->drawn_ns) / 1e9;
	int error = live_view_refresh(s->view, seconds, s->undrawn,
				      (cpu_ns - s->drawn_cpu_ns) / 1e9 / seconds);

	s->drawn_ns = s->looked_ns;
	s->drawn_cpu_ns = cpu_ns;
	s->undrawn = 0;
	plan_drawing(s, clock_cpu_ns() - cpu_ns);
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

	serve(s, true);
	history_reset(s->history);
}

static void set_refresh(void *arg, uint64_t ns)
{
	struct stack_session *s = arg;

	s->refresh_ns = ns;
	s->next.drawing_ns = clock_ns() + ns;
	plan(s);
}

static void end_run(void *arg)
{
	struct stack_session *s = arg;

	run_end(&s->run);
}

/* What a view saves is a list of stacks, even if the tool's report is a timeline. */
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
		.note_processes = note_shown,
		.has_timeline_format = has_timeline_format,
		.save_timeline = save_timeline,
		.timeline_endings = s->options->endings_named,
		.reset = reset_history,
		.set_interval = set_refresh,
		.end = end_run,
		.arg = s,
	};
	const struct run_part part = {
		.doing = "draw the view",
		.work = work_in_view,
		.arg = s,
		.fds = &s->keys,
		.nr_fds = 1,
	};

	describe_view(s);
	cli_check(terminal_begin(), "begin the view");
	signals_before_exit(terminal_reset);
	cli_check(live_view_new(&s->view, &source), "begin the view");
	s->keys = terminal_fd();
	s->drawn_ns = s->looked_ns;
	s->drawn_cpu_ns = clock_cpu_ns();
	set_refresh(s, LIVE_INTERVAL_NS);
	run_add(&s->run, &part);
}

/* Shows what came after the last drawing, unless the user has pressed q. */
static void show_last(struct stack_session *s)
{
	if (s->run.over && s->part.history)
		return;
	look_last(s);
	cli_check(live_view_catch_up(s->view), "draw the view");
}

const struct history_part *stack_session_shown(struct stack_session *s)
{
	if (!s->view)
		return NULL;
	show_last(s);
	return &s->part;
}

static void report_shown(struct stack_session *s)
{
	struct made_report *made = &s->made;

	show_last(s);
	report_complete(s, made);
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

#define SOON_NS (SLICE_NS / 4) /* what is due in less than this is done at once */

static bool is_due(const struct stack_session *s, uint64_t due_ns)
{
	return due_ns && due_ns <= s->looked_ns + SOON_NS;
}

static int interval_viewed(void *arg, bool last)
{
	struct stack_session *s = arg;
	bool draws;
	int error;

	(void)last;
	begin_interval(s);
	error = look(s, s->run.interval_ended_ns);
	if (error)
		return error;
	forget(s);
	draws = is_due(s, s->next.drawing_ns);
	/* both views show the same, unless the terminal is drawn more often */
	if (s->web_view &&
	    (is_due(s, s->next.slice_ns) || (draws && s->refresh_ns >= slice_ns(s)))) {
		serve(s, false);
		s->next.slice_ns = next_ns(s, slice_ns(s));
	}
	if (s->next.report_ns && s->next.report_ns <= s->looked_ns) {
		serve(s, true);
		report(s, false);
		namer_forget(s->namer);
		while (s->next.report_ns <= s->looked_ns)
			s->next.report_ns += s->options->run.interval_ns;
	}
	if (draws)
		error = draw_view(s);
	plan(s);
	return error;
}

static void begin_views(struct stack_session *s)
{
	const struct run_part part = { .doing = "show the view",
				       .interval = interval_viewed,
				       .arg = s };
	uint64_t every_ns = s->options->run.interval_ns;

	begin_history(s);
	s->own_losses->count(s->own_losses->arg); /* this fills in their names, too */
	s->looked_ns = s->reported_until * 1e9;
	if (s->options->run.serve && every_ns)
		s->next.report_ns = s->looked_ns + every_ns;
	if (s->options->run.live)
		begin_view(s);
	if (s->options->run.serve)
		begin_web_view(s);
	run_add(&s->run, &part);
}

void stack_session_measure(struct stack_session *s, const struct stack_options *o,
			   const struct measure *measure, const struct own_losses *own_losses)
{
	const struct run_part reports = { .doing = "report", .interval = interval, .arg = s };

	s->options = o;
	s->measure = measure;
	s->own_losses = own_losses;
	s->reported_until = s->run.counted_from ? s->run.counted_from : clock_seconds();
	stack_session_describe(s, o, s->source ? "timeline" : "stacks");
	if (!s->source)
		describe_measure(s->run.start, measure);
	stack_session_show_progress(s, what_counts(s));
	if (o->run.live || o->run.serve)
		begin_views(s);
	else if (o->run.interval_ns)
		run_add(&s->run, &reports);
	run_measure(&s->run);
	terminal_end();
	if (o->run.live)
		run_start_put(&s->run);
	if (o->run.live && o->run.command)
		cli_check(terminal_pass_on(), "pass on the command's output");
}

void stack_session_report(struct stack_session *s)
{
	stack_session_drain(s);
	if (s->view)
		report_shown(s);
	else
		report(s, true);
}
