// SPDX-License-Identifier: GPL-2.0-or-later
/* mapupdlat: how long bpf(2) takes to change maps, and what it waits for. */
#include <argp.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/load.h"
#include "map_calls.h"
#include "map_latency.h"
#include "bpf/preemption.h"
#include "bpf/tracepoint.h"
#include "run/cli.h"
#include "mapupdlat.skel.h"

enum { OPTION_CMD = 0x100, OPTION_BY, OPTION_MAP, OPTION_TYPE, OPTION_SLOW, OPTION_HEATMAP };

static const struct argp_option option_list[] = {
	{ "pid", 'p', "PID[,PID...]", 0, "only these processes", 1 },
	{ "cmd", OPTION_CMD, "CMD[,CMD...]", 0, "these commands, or all; default update,update-batch", 1 },
	{ "map", OPTION_MAP, "ID|NAME", 0, "only this map, or those of this name", 1 },
	{ "type", OPTION_TYPE, "TYPE", 0, "only maps of this type", 1 },
	{ "by", OPTION_BY, "WHAT[,WHAT...]", 0, "a histogram for each name (the default), type, map, process, command, or all", 2 },
	{ "per-process", 'P', NULL, 0, "a histogram for each process", 2 },
	{ "user-stacks", 'U', NULL, 0, "user stacks too", 2 },
	{ "slow", OPTION_SLOW, "TIME", 0, "print calls that take longer, as they return; microseconds unless told", 2 },
	{ "nanoseconds", 'n', NULL, 0, "histograms in nanoseconds", 3 },
	{ "microseconds", 'u', NULL, 0, "in microseconds, the default", 3 },
	{ "milliseconds", 'm', NULL, 0, "in milliseconds", 3 },
	{ "timestamp", 'T', NULL, 0, "the time before each interval", 3 },
	{ "json", 'j', NULL, 0, "JSON, one object a line", 3 },
	{ "heatmap", OPTION_HEATMAP, NULL, 0, "a heat map, one column an interval", 3 },
	{ "output", 'o', "FILE", 0, "write the heat map there: .svg", 3 },
	{ "verbose", 'v', NULL, 0, "more detail", 4 },
	{},
};

struct options {
	struct stack_options run;
	struct map_latency_options report;
	uint64_t cmds, slow_ns;
	unsigned int by;
	bool per_process;
	const char *map;
	bool only_type;
	uint32_t type;
	bool preemption;
};

enum { BY_NAME = 1, BY_TYPE = 2, BY_MAP = 4, BY_PROCESS = 8, BY_COMMAND = 16, BY_ALL = 32 };

static bool parse_by(const char *text, unsigned int *by)
{
	static const struct {
		const char *name;
		unsigned int by;
	} names[] = { { "name", BY_NAME | BY_TYPE }, { "type", BY_TYPE }, { "map", BY_MAP | BY_NAME | BY_TYPE },
		      { "process", BY_PROCESS }, { "command", BY_COMMAND }, { "all", BY_ALL } };
	size_t i, nr = sizeof(names) / sizeof(names[0]);

	*by = 0;
	for (;;) {
		size_t length = strcspn(text, ",");

		for (i = 0; i < nr; i++)
			if (strlen(names[i].name) == length && !memcmp(names[i].name, text, length))
				break;
		if (i == nr)
			return false;
		*by |= names[i].by;
		if (!text[length])
			return !(*by & BY_ALL) || *by == BY_ALL;
		text += length + 1;
	}
}

static void parse_argument(struct argp_state *state, struct options *o, const char *arg)
{
	if (state->quoted && state->next > state->quoted) {
		o->run.command = &state->argv[state->next - 1];
		state->next = state->argc;
	} else if (!o->report.interval_ns) {
		if (!cli_parse_time(arg, 1000000000, &o->report.interval_ns) || !o->report.interval_ns)
			argp_failure(state, EXIT_USAGE, 0, "not an interval: '%s'", arg);
	} else if (o->report.nr_intervals) {
		argp_failure(state, EXIT_USAGE, 0, "one interval and one count only, and a command comes after --: '%s'", arg);
	} else if (!cli_parse_number(arg, 1, UINT32_MAX, &o->report.nr_intervals)) {
		argp_failure(state, EXIT_USAGE, 0, "not a count of intervals: '%s'", arg);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	uint64_t number;
	size_t length;

	switch (key) {
	case 'p':
		if (!cli_parse_ids(arg, &o->run.pids))
			argp_failure(state, EXIT_USAGE, 0, "not a list of process IDs: '%s'", arg);
		break;
	case OPTION_CMD:
		if (!map_calls_parse_cmds(arg, &o->cmds))
			argp_failure(state, EXIT_USAGE, 0, "not a list of map commands: '%s'", arg);
		break;
	case OPTION_MAP:
		if (!*arg || strlen(arg) > 15 || (strspn(arg, "0123456789") == strlen(arg) && !cli_parse_number(arg, 1, UINT32_MAX, &number)))
			argp_failure(state, EXIT_USAGE, 0, "not a map's ID or its name, which has 15 characters at most: '%s'", arg);
		o->map = arg;
		break;
	case OPTION_TYPE:
		if (!map_calls_parse_type(arg, &o->type))
			argp_failure(state, EXIT_USAGE, 0, "not a type of maps: '%s'", arg);
		o->only_type = true;
		break;
	case OPTION_BY:
		if (!parse_by(arg, &o->by))
			argp_failure(state, EXIT_USAGE, 0, "not name, type, map, process, command, or all alone: '%s'", arg);
		break;
	case 'P':
		o->per_process = true;
		break;
	case 'U':
		o->run.only_kernel_stacks = false;
		break;
	case OPTION_SLOW:
		if (!cli_parse_time(arg, 1000, &o->slow_ns) || !o->slow_ns)
			argp_failure(state, EXIT_USAGE, 0, "not a time: '%s'", arg);
		break;
	case 'n':
		o->report.unit = &histogram_nsecs;
		break;
	case 'u':
		o->report.unit = &histogram_usecs;
		break;
	case 'm':
		o->report.unit = &histogram_msecs;
		break;
	case 'T':
		o->report.timestamps = true;
		break;
	case 'j':
		o->report.json = true;
		break;
	case OPTION_HEATMAP:
		o->report.heatmap = true;
		break;
	case 'o':
		length = strlen(arg);
		if (length < 5 || strcmp(arg + length - 4, ".svg"))
			argp_failure(state, EXIT_USAGE, 0, "the output file's name must end in .svg: '%s'", arg);
		o->run.output = arg;
		o->report.heatmap = true;
		break;
	case 'v':
		o->run.verbose = true;
		break;
	case ARGP_KEY_ARG:
		parse_argument(state, o, arg);
		break;
	case ARGP_KEY_END:
		if (state->quoted && !o->run.command)
			argp_failure(state, EXIT_USAGE, 0, "a command is missing after --");
		if (o->run.command && o->run.pids.nr)
			argp_failure(state, EXIT_USAGE, 0, "either -p or a command");
		if (o->report.heatmap && o->report.json)
			argp_failure(state, EXIT_USAGE, 0, "a heat map has no JSON: -j and --heatmap exclude each other");
		if (o->report.heatmap && !o->report.interval_ns)
			o->report.interval_ns = 1000000000;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.args_doc = "[INTERVAL [COUNT]] [-- COMMAND [ARG...]]",
	.doc = "Measure how long bpf(2) takes to update maps, how much of that is spent blocked or waiting for a CPU, and in "
	       "which kernel functions. INTERVAL is in seconds; without it, until Ctrl-C or SIGTERM, or COMMAND's end.",
};

static void configure(struct mapupdlat_bpf *bpf, const struct options *o)
{
	uint64_t id;

	bpf->rodata->wanted_cmds = o->cmds;
	bpf->rodata->fd_in_batch = map_calls_batches();
	bpf->rodata->fd_is_result = map_calls_creations();
	if (o->map && cli_parse_number(o->map, 1, UINT32_MAX, &id)) {
		bpf->rodata->only_map_id = true;
		bpf->rodata->wanted_map_id = id;
	} else if (o->map) {
		bpf->rodata->only_map_name = true;
		strcpy((char *)bpf->rodata->wanted_map_name, o->map);
	}
	bpf->rodata->only_map_type = o->only_type;
	bpf->rodata->wanted_map_type = o->type;
	bpf->rodata->by_type = o->by & BY_TYPE;
	bpf->rodata->by_name = o->by & BY_NAME;
	bpf->rodata->by_map = o->by & BY_MAP;
	bpf->rodata->by_process = o->per_process || o->by & BY_PROCESS;
	bpf->rodata->by_command = o->by & BY_COMMAND;
	bpf->rodata->slow_ns = o->slow_ns;
	bpf_program__set_autoload(bpf->progs.call_begins_raw, o->preemption);
	bpf_program__set_autoload(bpf->progs.call_returns_raw, o->preemption);
}

static struct mapupdlat_bpf *load(const struct options *o)
{
	struct mapupdlat_bpf *bpf = mapupdlat_bpf__open();
	LIBBPF_OPTS(bpf_test_run_opts, once);
	int error;

	if (!bpf)
		bpf_load_die("open the BPF programs", -errno);
	configure(bpf, o);
	error = stack_session_configure(bpf->obj, &o->run);
	if (!error)
		error = bpf_histograms_configure(bpf->obj, o->report.unit);
	if (!error)
		error = mapupdlat_bpf__load(bpf);
	if (error)
		bpf_load_die("load the BPF programs", error);
	bpf->bss->own_map_fd = bpf_map__fd(bpf->maps.series);
	error = bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.note_self), &once);
	if (error || !bpf->bss->map_fops)
		bpf_load_die("learn what a map is", error ? error : -ENOENT);
	return bpf;
}

#define NR_SYSCALL_LINKS	2	/* on the system call's own tracepoints */
#define NR_LINKS		7

static void attach(struct mapupdlat_bpf *bpf, struct bpf_link *links[NR_LINKS])
{
	struct bpf_program *const programs[NR_LINKS] = {
		bpf->progs.call_begins, bpf->progs.call_returns, bpf->progs.call_begins_raw, bpf->progs.call_returns_raw,
		bpf->progs.thread_switches, bpf->progs.thread_wakes, bpf->progs.thread_dies,
	};

	for (int i = 0; i < NR_LINKS; i++) {
		links[i] = NULL;
		if (!bpf_program__autoload(programs[i]))
			continue;
		links[i] = i < NR_SYSCALL_LINKS ? bpf_tracepoint_attach(programs[i]) : bpf_program__attach(programs[i]);
		if (!links[i])
			bpf_load_die("attach to the tracepoints", -errno);
	}
}

int main(int argc, char **argv)
{
	struct options o = {
		.run = STACK_OPTIONS_DEFAULT, .report = { .unit = &histogram_usecs }, .by = BY_NAME | BY_TYPE,
	};
	struct bpf_link *links[NR_LINKS];
	struct stack_session session;
	struct map_latency *latency;
	struct mapupdlat_bpf *bpf;
	int error;

	cli_init();
	o.run.only_kernel_stacks = o.run.quiet = true;
	map_calls_parse_cmds("update,update-batch", &o.cmds);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
	stack_session_check_tasks(&o.run);
	o.preemption = bpf_preemption_possible();

	bpf_load_init(o.run.verbose);
	bpf = load(&o);
	error = stack_session_open(&session, bpf->obj, &o.run);
	if (!error)
		error = map_latency_new(&latency, &session, &o.report);
	if (error)
		cli_die(EXIT_FAILURE, "cannot %s: %s", session.doing, strerror(-error));
	attach(bpf, links);

	o.report.measuring = &bpf->bss->measuring;
	bpf->bss->measuring = true;
	error = stack_session_run(&session);
	bpf->bss->measuring = false;
	for (int i = 0; i < NR_LINKS; i++)
		bpf_link__destroy(links[i]);
	if (!error)
		error = map_latency_finish(latency);
	if (error)
		cli_die(EXIT_FAILURE, "cannot %s: %s", session.doing, strerror(-error));
	map_latency_free(latency);
	return stack_session_close(&session);
}
