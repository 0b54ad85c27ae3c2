// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/histogram_options.h"

#include <string.h>

#include "report/stack_report.h"

enum { OPTION_HEATMAP = 0x180 };

static const struct argp_option options[] = {
	{ "pid", 'p', "PID|NAME[,...]", 0, "only these processes", OF_TASKS },
	{ "per-process", 'P', NULL, 0, "a histogram for each process", OF_OUTPUT },
	{ "nanoseconds", 'n', NULL, 0, "histograms in nanoseconds", OF_OUTPUT },
	{ "microseconds", 'u', NULL, 0, "histograms in microseconds (the default)", OF_OUTPUT },
	{ "milliseconds", 'm', NULL, 0, "histograms in milliseconds", OF_OUTPUT },
	{ "timestamp", 'T', NULL, 0, "print the time of day before each interval", OF_OUTPUT },
	{ "json", 'j', NULL, 0, "JSON, one object per line", OF_OUTPUT },
	{ "heatmap", OPTION_HEATMAP, NULL, 0, "a heat map with a column for each interval",
	  OF_OUTPUT },
	{ "output", 'o', "FILE", 0, "write to FILE: .txt, .jsonl, .svg (heat map)", OF_OUTPUT },
	{},
};

static void parse_argument(struct argp_state *state, struct run_options *run, const char *arg)
{
	if (run_take_command(state, run))
		return;
	if (!run->interval_ns) {
		if (!cli_parse_time(arg, 1000000000, &run->interval_ns) || !run->interval_ns)
			argp_failure(state, EXIT_USAGE, 0,
				     "not an interval: '%s'; a command comes after --", arg);
	} else if (run->nr_intervals) {
		argp_failure(state, EXIT_USAGE, 0,
			     "one interval and one count only, and a command comes after --: '%s'",
			     arg);
	} else if (!cli_parse_number(arg, 1, UINT32_MAX, &run->nr_intervals)) {
		argp_failure(state, EXIT_USAGE, 0, "not a count of intervals: '%s'", arg);
	}
}

/* -j prints JSON lines into any file; else the ending of its name says what is written there. */
static void settle_format(struct argp_state *state, struct histogram_options *o)
{
	const char *name = o->run.outputs[0].name;

	if (o->run.nr_outputs > 1)
		argp_failure(state, EXIT_USAGE, 0, "-o may be given only once");
	o->run.outputs[0].json = o->json;
	if (!name || (o->json && !file_name_ends_in(name, ".svg")))
		return;
	if (file_name_ends_in(name, ".svg"))
		o->heatmap = o->svg = true;
	else if (file_name_ends_in(name, ".jsonl"))
		o->run.outputs[0].json = true;
	else if (!file_name_ends_in(name, ".txt") && strncmp(name, "/dev/", 5))
		argp_failure(state, EXIT_USAGE, 0,
			     "the output file's name must end in .svg, .txt or .jsonl: '%s'", name);
}

static void check_all(struct argp_state *state, struct histogram_options *o)
{
	settle_format(state, o);
	if (state->quoted && !o->run.command)
		argp_failure(state, EXIT_USAGE, 0, "a command is missing after --");
	if (o->run.command && o->run.tasks.pids.nr)
		argp_failure(state, EXIT_USAGE, 0, "a command excludes -p");
	if (o->heatmap && o->run.outputs[0].json)
		argp_failure(state, EXIT_USAGE, 0,
			     "a heat map has no JSON: -j and --heatmap exclude each other");
	if (o->svg && o->slow_ns)
		argp_failure(
			state, EXIT_USAGE, 0,
			"--slow prints lines, which a picture has no room for: use .txt or .jsonl");
	if (o->heatmap && o->stacks && !o->slow_ns)
		argp_failure(state, EXIT_USAGE, 0, "a heat map has no stacks: leave out %s",
			     o->stacks);
	if (o->heatmap && !o->run.interval_ns)
		o->run.interval_ns = 1000000000;
}

static void set_unit(struct histogram_options *o, const struct histogram_unit *unit)
{
	o->unit = unit;
	o->unit_given = true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct histogram_options *o = state->input;

	switch (key) {
	case 'p':
		task_filter_take_pids(&o->run.tasks, arg);
		break;
	case 'P':
		o->per_process = true;
		break;
	case 'n':
		set_unit(o, &histogram_nsecs);
		break;
	case 'u':
		set_unit(o, &histogram_usecs);
		break;
	case 'm':
		set_unit(o, &histogram_msecs);
		break;
	case 'T':
		o->timestamps = true;
		break;
	case 'j':
		o->json = true;
		break;
	case OPTION_HEATMAP:
		o->heatmap = true;
		break;
	case 'o':
		run_take_output(state, &o->run, arg);
		break;
	case ARGP_KEY_ARG:
		parse_argument(state, &o->run, arg);
		break;
	case ARGP_KEY_END:
		check_all(state, o);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void histogram_options_parse(struct histogram_options *o, const struct argp *tool,
			     void *tool_options, int argc, char **argv)
{
	static const struct argp shared = { .options = options, .parser = parse };

	run_parse(tool, tool_options, &shared, o, argc, argv, &o->run);
}
