// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/stack_reports.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "report/idle.h"
#include "report/json.h"
#include "report/namer.h"
#include "report/stack_report.h"
#include "report/time_of_day.h"
#include "run/cli.h"
#include "run/output_file.h"

/* ---- making ---- */

uint64_t report_room(const struct stack_options *o)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < run_nr_outputs(&o->run); i++) {
		const struct stack_format *format = o->outputs[i].format;

		/* a format of the tool's own is no list of stacks */
		if (!format || (format == stack_format_text && o->top != TOP_ALL))
			continue;
		if (o->max_report / format->frame_bytes < least)
			least = o->max_report / format->frame_bytes;
	}
	return least;
}

/* the processes of the stacks and of their wakers */
void report_note_processes(const struct stack_session *s, struct made_report *made)
{
	uint32_t *pids;
	size_t nr_pids = 0;

	if (made->processes.all)
		return;
	pids = calloc(2 * made->nr + 1, sizeof(*pids));
	cli_check(pids ? 0 : -ENOMEM, "record the processes");
	for (size_t i = 0; i < made->nr; i++) {
		pids[nr_pids++] = made->entries[i].key.pid;
		if (made->entries[i].waker)
			pids[nr_pids++] = made->entries[i].waker->key.pid;
	}
	stack_session_note(s, &made->processes, pids, nr_pids);
	free(pids);
}

/* Marks the waits of idle threads. */
static void mark_idle(const struct stack_session *s, struct made_report *made)
{
	struct stack_summary *summary = &made->summary;
	struct idle_asked asked = stack_session_asked(s);

	if (!summary->measure->of_waits || s->options->idle)
		return;
	cli_check(idle_mark(made->entries, made->nr, summary->seconds * 1e9, &asked,
			    &made->writer.names, &summary->idle_threads),
		  "find the idle threads");
}

void report_count_names(struct made_report *made)
{
	cli_check(names_count(&made->summary.names, &made->writer.names, made->entries, made->nr),
		  "name the frames");
}

static size_t count_idle_threads(const struct stack_entry *entries, size_t nr)
{
	const struct stack_entry **idle = calloc(nr + 1, sizeof(*idle));
	size_t nr_idle = 0, threads = 0;

	cli_check(idle ? 0 : -ENOMEM, "find the idle threads");
	for (size_t i = 0; i < nr; i++)
		if (entries[i].idle)
			idle[nr_idle++] = &entries[i];
	qsort(idle, nr_idle, sizeof(*idle), stack_entries_by_thread);
	for (size_t i = 0; i < nr_idle; i++)
		threads += !i || stack_entry_by_thread(idle[i - 1], idle[i]);
	free(idle);
	return threads;
}

/*
 * Leaves the entries that fit the pattern. Call mark_idle() before: it must see all entries, to
 * know whether all threads of a process are idle and how often each was woken.
 */
static void leave_only(struct made_report *made, const struct stack_pattern *only)
{
	struct stack_summary *summary = &made->summary;

	cli_check(stack_filter(&made->writer, summary->measure->is_time, only, made->entries,
			       &made->nr),
		  "find the stacks");
	summary->only = only->text;
	/* what was counted is of all stacks */
	memset(summary->names.calls, 0, sizeof(summary->names.calls));
	summary->idle_threads = count_idle_threads(made->entries, made->nr);
}

/* Sums up all entries, puts the idle waits last, and sums these up. */
static void sum_up(struct made_report *made)
{
	struct stack_summary *summary = &made->summary;

	stack_summary_count(summary, made->entries, made->nr);
	made->nr_busy = idle_to_end(made->entries, made->nr);
	for (size_t i = made->nr_busy; i < made->nr; i++)
		summary->idle_ns += summary->measure->value(&made->entries[i].value);
}

/* ---- paths: what the trees of views are made of ---- */

static void sum_paths(struct made_report *made, size_t nr)
{
	struct stack_entry *paths = made->paths.all;

	for (size_t i = 0; i < made->paths.nr; i++)
		paths[i].value = (struct stack_value){};
	for (size_t i = 0; i < nr; i++) {
		const struct stack_entry *entry = &made->entries[i];
		struct stack_value *sum = &paths[entry->path].value;
		uint64_t before = sum->sum;

		stack_value_add(sum, &entry->value);
		if (sum->sum < before) /* sums of arguments may be larger than any time */
			sum->sum = UINT64_MAX;
	}
}

/*
 * Sorts the paths by their values, the highest first, and renumbers those of the entries. 0 or
 * -ENOMEM
 */
static int sort_paths(struct made_report *made, size_t nr)
{
	struct stack_entry *paths = made->paths.all;
	uint32_t *now = calloc(made->paths.nr + 1, sizeof(*now)); /* by the number before */

	if (!now)
		return -ENOMEM;
	for (uint32_t i = 0; i < made->paths.nr; i++)
		paths[i].path = i;
	stack_entries_sort(paths, made->paths.nr, made->summary.measure);
	for (uint32_t i = 0; i < made->paths.nr; i++)
		now[paths[i].path] = i;
	for (size_t i = 0; i < nr; i++)
		made->entries[i].path = now[made->entries[i].path];
	free(now);
	return 0;
}

/* Finds the paths of the first nr entries. */
static void find_paths(struct made_report *made, size_t nr)
{
	int error = 0;

	made->paths.writer = &made->writer;
	for (size_t i = 0; i < nr && !error; i++)
		error = stack_paths_find(&made->paths, &made->entries[i], &made->entries[i].path);
	if (!error) {
		sum_paths(made, nr);
		error = sort_paths(made, nr);
	}
	cli_check(error, "sum up the stacks");
}

static void name_paths(const struct stack_session *s, struct made_report *made)
{
	cli_check(namer_learn(s->namer, made->paths.all, made->paths.nr), "name the frames");
	stack_session_place(s, &made->placed, made->paths.all, made->paths.nr);
}

/*
 * Sums up the paths without the idle waits, and drops those that have no value then. They are
 * sorted anew only if a filter has left out entries.
 */
static void end_paths(struct made_report *made)
{
	size_t kept = 0;

	if (made->is_complete) /* by a filter, which needs names */
		find_paths(made, made->nr_busy);
	else
		sum_paths(made, made->nr_busy);
	for (size_t i = 0; i < made->paths.nr; i++) {
		const struct stack_value *value = &made->paths.all[i].value;

		if (value->count | value->blocked_ns | value->waiting_ns)
			made->paths.all[kept++] = made->paths.all[i];
	}
	made->paths.nr = kept;
}

/* ---- making ---- */

/* Names and places the stacks of all entries. */
static void name_entries(const struct stack_session *s, struct made_report *made)
{
	stack_entries_sort(made->entries, made->nr, s->measure);
	cli_check(namer_learn(s->namer, made->entries, made->nr), "name the frames");
	report_note_processes(s, made);
	memset(made->placed.calls, 0, sizeof(made->placed.calls));
	stack_session_place(s, &made->placed, made->entries, made->nr);
	if (s->wanted->runtimes)
		memcpy(made->summary.names.calls, made->placed.calls,
		       sizeof(made->summary.names.calls));
	made->is_complete = true;
}

void report_complete(const struct stack_session *s, struct made_report *made)
{
	if (made->is_complete)
		return;
	name_entries(s, made);
	idle_to_end(made->entries, made->nr);
}

void report_make(struct stack_session *s, struct made_report *made, const struct report_of *of)
{
	const struct stack_options *o = s->options;
	const struct measure *measure = s->measure;
	struct stack_summary *summary = &made->summary;

	*made = (struct made_report){ .entries = of->entries, .nr = of->nr };
	*summary = (struct stack_summary){
		.tool = program_invocation_short_name,
		.command_line = s->run.options->command_line,
		.measure = measure,
		.started_ns = clock_realtime_ns(of->from * 1e9),
		.seconds = of->until - of->from,
		.losses = made->losses,
		.of_some = task_filter_is_set(&s->run.options->tasks) || s->run.options->command,
	};
	summary->nr_losses = stack_session_losses(s, of->lost, made->losses);
	cli_check(other_stacks_sum_up(&made->others, measure, of->room, made->entries, &made->nr),
		  "read the results");
	summary->summed_up = made->others.nr;

	made->writer = stack_session_named_writer(s, o);
	made->writer.root = measure->root;
	made->writer.max_bytes = o->max_report;
	made->writer.processes = &made->processes;
	if (of->for_view && !of->only) {
		find_paths(made, made->nr);
		name_paths(s, made);
	} else {
		name_entries(s, made);
	}
	if (!of->for_view)
		report_count_names(made);
	mark_idle(s, made);
	if (of->only)
		leave_only(made, of->only);
	sum_up(made);
	if (of->for_view)
		end_paths(made);
}

void report_free(struct made_report *made)
{
	process_notes_free(&made->processes);
	stack_paths_free(&made->paths);
	placed_stacks_free(&made->placed);
	other_stacks_free(&made->others);
	*made = (struct made_report){};
}

/* ---- where reports go ---- */

/* where a number can stand: before the ending by which the format is known */
static size_t before_ending(const char *name)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name,
		   *dot = strrchr(base, '.');

	if (dot && !strcmp(dot, ".gz")) /* .pb.gz */
		dot = memrchr(base, '.', dot - base);
	return dot ? (size_t)(dot - name) : strlen(name);
}

/* Adds a number, from 2 on, to a name that the last report had, too: its time was the same. */
static void tell_apart(struct run *run, char name[PATH_MAX])
{
	static struct {
		char name[PATH_MAX];
		unsigned nr;
	} before[MAX_RUN_OUTPUTS], *last;
	size_t at = before_ending(name);
	char numbered[PATH_MAX];

	last = &before[run->output];
	last->nr = strcmp(name, last->name) ? 1 : last->nr + 1;
	memcpy(last->name, name, strlen(name) + 1);
	if (last->nr == 1)
		return;
	if (snprintf(numbered, sizeof(numbered), "%.*s-%u%s", (int)at, name, last->nr, name + at) >=
	    (int)sizeof(numbered))
		cli_die(EXIT_FAILURE, "the name of the output file is too long: '%s'",
			run->options->outputs[run->output].name);
	memcpy(name, numbered, sizeof(numbered));
}

/*
 * Reports go to run->out, the file of the output in use. With --every and strftime(3) conversions
 * in the output's name, each report has a file of its own: this makes run->out that file, named by
 * the time at which the report began, and writes the first line of JSON. The file gets its final
 * name when it is complete.
 */
static void begin_report(struct run *run, time_t began)
{
	const struct run_output *output = &run->options->outputs[run->output];
	char name[PATH_MAX];
	struct tm local;

	if (!run_reports_apart(run))
		return;
	if (!strftime(name, sizeof(name), output->name, localtime_r(&began, &local)))
		cli_die(EXIT_FAILURE, "the name of the output file is too long: '%s'",
			output->name);
	tell_apart(run, name);
	fclose(run->out);
	run->out = output_file_new(name, RUN_FILE_MODE);
	if (output->json)
		json_print(run->out, json_object_get(run->start));
}

/* Ends the report's file, if it has its own, or if this is the last report. */
static void end_report(struct run *run, bool last)
{
	bool apart = run_reports_apart(run);

	if (apart || last)
		run_finish_output(run);
	else
		run_flush_output(run);
	if (apart)
		run_report_to_none(run);
}

/* ---- writing ---- */

static bool others_follow(const struct stack_session *s)
{
	return s->run.options->interval_ns && !run_reports_apart(&s->run);
}

/* In text, the time of day stands above each report, if the file has several. */
static void put_time(const struct stack_session *s, const struct stack_format *format)
{
	if (others_follow(s) && format == stack_format_text)
		fprintf(s->run.out, "%.*s\n", TIME_OF_DAY_SECONDS,
			time_of_day(s->reported_until * 1e9).text);
}

/* Writes the report to the output in use. */
static void write_as(struct stack_session *s, struct stack_writer *writer,
		     const struct stack_format *format, const struct stack_summary *summary,
		     const struct stack_entry *entries, size_t nr, bool last)
{
	int error;

	begin_report(&s->run, summary->started_ns / 1000000000);
	put_time(s, format);
	writer->out = s->run.out;
	error = format->write(writer, summary, entries, nr);
	if (others_follow(s) && format == stack_format_folded && !last)
		putc('\n', s->run.out); /* readers of folded stacks skip empty lines */
	cli_flush(s->run.out);
	/* end_report() says why writing failed */
	cli_check(ferror(s->run.out) ? 0 : error, "print the stacks");
}

void report_write(struct stack_session *s, struct made_report *made, bool last)
{
	const struct stack_options *o = s->options;
	const struct stack_summary *summary = &made->summary;
	uint64_t left_out, most = 0;

	made->writer.left_out = &left_out;
	for (size_t i = 0; i < run_nr_outputs(&o->run); i++) {
		const struct stack_format *format = o->outputs[i].format;
		bool all = format == stack_format_json && (!o->top || o->top == TOP_ALL);

		left_out = 0;
		run_use_output(&s->run, i);
		if (all && made->nr_busy < made->nr) /* the idle ones in their places */
			stack_entries_sort(made->entries, made->nr, summary->measure);
		write_as(s, &made->writer, format, summary, made->entries,
			 all ? made->nr : made->nr_busy, last);
		if (left_out > most)
			most = left_out;
		if (all && made->nr_busy < made->nr)
			idle_to_end(made->entries, made->nr);
	}
	if (last || !o->run.quiet)
		stack_summary_print(stderr, summary);
	made->writer.left_out = NULL;
	if (most)
		cli_warn("%s left out of a report: no room, see --max-report",
			 counted(most, summary->measure->counted).text);
	if (last)
		stack_session_explain(s, made->entries, made->nr);
	for (size_t i = run_nr_outputs(&o->run); i-- > 0;) {
		run_use_output(&s->run, i);
		end_report(&s->run, last);
	}
}
