// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/histogram_session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/histograms.h"
#include "kernel/object.h"
#include "kernel/tasks.h"
#include "report/counted.h"
#include "report/heatmap.h"
#include "report/json.h"
#include "report/namer.h"
#include "report/series_report.h"
#include "report/stack_summary.h"
#include "report/time_of_day.h"
#include "run/kernel.h"
#include "run/stack_session.h"

#define NR_STACKS   5  /* shown for a series */
#define PLAIN_WIDTH 80 /* of output that is not a terminal */

/* does it include bpf/processes.bpf.h, and have a stack session that follows processes? */
static bool has_stacks(const struct bpf_object *object)
{
	return object_has_program(object, "process_exited");
}

void histogram_session_configure(struct bpf_object *object, const struct histogram_options *options)
{
	kernel_check(bpf_histograms_configure(object, options->unit), "load the BPF programs");
	if (!has_stacks(object)) {
		task_filter_configure(object, &options->run.tasks, options->run.command);
		kernel_check(object_autoload(object, "process_ended"), "load the BPF programs");
	}
}

/* ---- the sum of those for which there was no room ---- */

static struct series_title title_of(const struct histogram_session *h, const struct series *series)
{
	struct series_title rest;

	if (series->key)
		return h->tool->title(series->key);
	snprintf(rest.text, sizeof(rest.text), "all others, beyond %d histograms", MAX_SERIES);
	return rest;
}

static struct json_object *json_rest(void)
{
	struct json_object *key = json_object_new_object();

	json_object_object_add(key, "rest", json_object_new_boolean(true));
	return key;
}

/* ---- heat maps ---- */

/* more than a page is wide; and 32 MB in all, of whatever users have histograms of their own */
#define MAX_COLUMNS     4096
#define MAX_ALL_COLUMNS ((32 << 20) / sizeof(struct heatmap_column))

/* the column of what is added now */
static size_t column_of(const struct histogram_session *h)
{
	return h->passed >> h->halved;
}

/* of all heat maps, once these series are added */
static size_t count_columns(const struct histogram_session *h, const struct series *series,
			    size_t nr)
{
	size_t all = 0;

	for (size_t i = 0; i <= REST_SERIES; i++)
		all += h->heatmaps[i] ? h->heatmaps[i]->nr_columns : 0;
	for (size_t i = 0; i < nr; i++) {
		const struct heatmap *map = h->heatmaps[series[i].number];

		all += map ? column_of(h) + 1 - map->first - map->nr_columns : 1;
	}
	return all;
}

static void limit_heatmaps(struct histogram_session *h, const struct series *series, size_t nr)
{
	while (column_of(h) &&
	       (column_of(h) >= MAX_COLUMNS || count_columns(h, series, nr) > MAX_ALL_COLUMNS)) {
		h->halved++;
		for (size_t i = 0; i <= REST_SERIES; i++)
			if (h->heatmaps[i])
				heatmap_halve(h->heatmaps[i]);
	}
}

static int add_to_heatmap(struct histogram_session *h, const struct series *series)
{
	struct heatmap **map = &h->heatmaps[series->number];

	if (!*map) {
		int error;

		*map = calloc(1, sizeof(**map));
		if (!*map)
			return -ENOMEM;
		error = heatmap_init(*map, title_of(h, series).text, h->options->unit,
				     h->options->run.interval_ns / 1e9 * (1ULL << h->halved));
		if (error)
			return error;
	}
	return heatmap_add(*map, column_of(h), &series->histogram);
}

static int print_heatmaps(struct histogram_session *h)
{
	FILE *out = h->run->out;
	bool terminal = isatty(fileno(out));
	struct winsize size = {};

	for (size_t i = 0; i <= REST_SERIES; i++)
		if (h->heatmaps[i])
			heatmap_extend(h->heatmaps[i], ((h->passed - 1) >> h->halved) + 1);
	if (h->options->svg) {
		heatmap_svg(out, (const struct heatmap *const *)h->heatmaps, MAX_SERIES + 1);
		return 0;
	}
	if (!terminal || ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		size.ws_col = PLAIN_WIDTH;
	for (size_t i = 0; i <= REST_SERIES; i++)
		if (h->heatmaps[i])
			heatmap_print(out, h->heatmaps[i], size.ws_col, terminal);
	return 0;
}

/* ---- intervals ---- */

static void print_series_json(struct histogram_session *h, const struct series_report *report,
			      const struct series *series)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "type", json_object_new_string("histogram"));
	json_object_object_add(object, "interval", json_number(h->intervals));
	if (h->options->timestamps)
		json_object_object_add(object, "time",
				       json_object_new_string(time_of_day(clock_ns()).text));
	json_object_object_add(object, "key",
			       series->key ? h->tool->json(series->key) : json_rest());
	series_report_json(report, series, object);
	json_print(h->run->out, object);
}

static int show_series(struct histogram_session *h, const struct series_report *report,
		       const struct series *series)
{
	if (h->options->heatmap)
		return add_to_heatmap(h, series);
	if (h->options->run.outputs[0].json)
		print_series_json(h, report, series);
	else
		series_report_text(report, series, title_of(h, series).text);
	return 0;
}

/* Gets the stacks of the interval that was taken last; the caller frees what is placed. */
static int take_stacks(struct histogram_session *h, struct series_report *report,
		       struct placed_stacks *placed)
{
	struct stack_entry *entries;
	int error = stack_store_hand_out(h->stacks->store, BPF_HISTOGRAMS_TURN_MASK,
					 bpf_histograms_stack_flags(h->histograms), &entries,
					 &report->nr_entries);

	report->entries = error ? NULL : entries;
	if (!error && !h->over && !h->options->heatmap) /* else nothing is named */
		error = namer_learn(h->stacks->namer, entries, report->nr_entries);
	if (!error)
		stack_session_place(h->stacks, placed, entries, report->nr_entries);
	return error;
}

static int show_interval(struct histogram_session *h, const struct series_report *report,
			 const struct series *series, size_t nr)
{
	if (h->options->timestamps && !h->options->run.outputs[0].json && !h->options->heatmap)
		fprintf(h->run->out, "%.*s\n", TIME_OF_DAY_SECONDS, time_of_day(clock_ns()).text);
	if (h->run->intervals_passed > h->passed)
		h->passed = h->run->intervals_passed - 1;
	if (h->options->heatmap)
		limit_heatmaps(h, series, nr);
	for (size_t i = 0; i < nr; i++) {
		int error = show_series(h, report, &series[i]);

		if (error)
			return error;
		h->count += series[i].histogram.count;
		h->errors += series[i].errors;
	}
	h->intervals++;
	h->passed++;
	return 0;
}

static int print_interval(struct histogram_session *h)
{
	struct series_report report = {
		.counted = h->tool->counted,
		.off_cpu = h->tool->off_cpu,
		.writer = h->writer,
		.nr_stacks = NR_STACKS,
	};
	struct placed_stacks placed = {};
	struct series *series;
	size_t nr;
	int error = bpf_histograms_take(h->histograms, &series, &nr);

	if (!error && h->stacks)
		error = take_stacks(h, &report, &placed);
	if (!error && !h->over)
		error = show_interval(h, &report, series, nr);
	placed_stacks_free(&placed);
	if (h->stacks) {
		/* calls that have not returned yet name stacks */
		stack_store_forget(h->stacks->store, false);
		namer_forget(h->stacks->namer);
	}
	return error;
}

static int interval(void *arg, bool last)
{
	struct histogram_session *h = arg;
	int error;

	if (last && h->tool->stop)
		h->tool->stop(h->tool->arg);
	error = print_interval(h);
	if (!h->options->heatmap) /* which is printed at the end */
		run_flush_output(h->run);
	h->over = last;
	return error;
}

/* ---- the whole ---- */

/* lists who is measured, and has the lists kept up */
static void open_own_run(struct histogram_session *h, struct bpf_object *object)
{
	const struct run_options *o = &h->options->run;

	run_open(&h->own_run, o);
	cli_check(bpf_tasks_begin(object), "list the processes");
	h->own_run.object = object;
	task_filter_list(object, &o->tasks);
	if (o->command || o->tasks.children) {
		kernel_check(links_attach_named(&h->followers, object, "command_executes"),
			     "follow the processes");
		kernel_check(links_attach_named(&h->followers, object, "process_forked"),
			     "follow the processes");
	}
	if (o->command || o->tasks.pids.nr || o->tasks.tids.nr) {
		kernel_check(links_attach_named(&h->followers, object, "thread_exiting"),
			     "follow the processes");
		kernel_check(links_attach_named(&h->followers, object, "process_ended"),
			     "follow the processes");
	}
	run_get_ready(&h->own_run);
	if (o->command)
		task_filter_await(object, h->own_run.command.pid);
}

void histogram_session_open(struct histogram_session *h, struct stack_session *stacks,
			    struct bpf_object *object, const struct histogram_options *options,
			    const struct histogram_tool *tool)
{
	*h = (struct histogram_session){
		.object = object, .options = options, .tool = tool, .stacks = stacks
	};
	if (stacks) {
		h->run = &stacks->run;
		h->writer = stack_session_writer(stacks);
		h->writer.delimiter = h->writer.traced = true;
	} else {
		open_own_run(h, object);
		h->run = &h->own_run;
		h->writer.out = h->run->out;
	}
	cli_check(bpf_histograms_new(&h->histograms, object, options->unit),
		  "set up the histograms");
	run_add(h->run, &(struct run_part){
				.doing = "gather the histograms", .interval = interval, .arg = h });
}

void histogram_session_finish(struct histogram_session *h)
{
	cli_check(print_interval(h), "read the results");
}

static void print_summary_json(const struct histogram_session *h, const struct loss *losses,
			       size_t nr_losses)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "type", json_object_new_string("summary"));
	json_object_object_add(object, "tool",
			       json_object_new_string(program_invocation_short_name));
	json_object_object_add(object, "seconds", json_object_new_double(h->run->seconds));
	json_object_object_add(object, "intervals", json_number(h->intervals));
	json_object_object_add(object, h->tool->counted, json_number(h->count));
	if (h->tool->errors)
		json_object_object_add(object, "errors", json_number(h->errors));
	losses_json(object, losses, nr_losses);
	json_print(h->run->out, object);
}

void histogram_session_report(struct histogram_session *h, const struct loss *losses,
			      size_t nr_losses)
{
	const char *what = h->tool->named ? h->tool->named : h->tool->counted;

	if (h->options->heatmap)
		cli_check(print_heatmaps(h), "print the heat maps");
	if (h->options->run.outputs[0].json)
		print_summary_json(h, losses, nr_losses);
	cli_flush(h->run->out);
	if (h->tool->errors)
		cli_warn("%s in %.1f s, %" PRIu64 " of them failed", counted(h->count, what).text,
			 h->run->seconds, h->errors);
	else
		cli_warn("%s in %.1f s", counted(h->count, what).text, h->run->seconds);
	run_say_losses(losses, nr_losses, h->count);
	if (h->stacks)
		stack_summary_nameless(stderr, program_invocation_short_name, h->stacks->namer);
	run_finish_output(h->run);
}

int histogram_session_close(struct histogram_session *h)
{
	int status = 0;

	if (!h->stacks && h->options->run.verbose) /* a stack session says it itself */
		kernel_say_verified(h->object);
	for (size_t i = 0; i <= REST_SERIES; i++) {
		if (h->heatmaps[i])
			heatmap_free(h->heatmaps[i]);
		free(h->heatmaps[i]);
	}
	bpf_histograms_free(h->histograms);
	if (!h->stacks)
		status = run_close(&h->own_run);
	links_detach(&h->followers);
	return status;
}
