// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/stack_options.h"

#include <stdlib.h>
#include <string.h>

#include "live/terminal.h"
#include "process/cgroup.h"
#include "stacks_abi.h"

#define MIN_MEMORY_MB   64
#define MIN_INTERVAL_NS 100000000 /* of reports */

enum {
	OPTION_MAX_DEPTH = 0x100,
	OPTION_MAX_STACKS,
	OPTION_MAX_MEMORY,
	OPTION_MAX_REPORT,
	OPTION_CGROUP,
	OPTION_COMM,
	OPTION_TOP,
	OPTION_SORT,
	OPTION_EVERY,
	OPTION_LIVE,
	OPTION_SERVE,
	OPTION_DEBUG_DIR,
	OPTION_DEBUGINFOD,
	OPTION_NO_DEBUGINFOD,
	OPTION_NO_DEMANGLE,
	OPTION_NO_RUNTIMES,
	OPTION_NATIVE_FRAMES,
};

static const struct argp_option options[] = {
	{ .doc = "Names:", .group = OF_NAMES },
	{ .doc = "Limits:", .group = OF_LIMITS },
	{ "pid", 'p', "PID|NAME[,...]", 0, "only these processes", OF_TASKS },
	{ "tid", 't', "TID[,TID...]", 0, "only these threads", OF_TASKS },
	{ NULL, 'L', NULL, OPTION_ALIAS, NULL, OF_TASKS },
	{ "user-threads-only", 'u', NULL, 0, "only user threads", OF_TASKS },
	{ "kernel-threads-only", 'k', NULL, 0, "only kernel threads", OF_TASKS },
	{ "cgroup", OPTION_CGROUP, "PATH", 0, "only this cgroup (v2) and its descendants",
	  OF_TASKS },
	{ "user-stacks-only", 'U', NULL, 0, "only user stacks in the output", OF_MEASURE },
	{ "kernel-stacks-only", 'K', NULL, 0, "only kernel stacks in the output", OF_MEASURE },
	{ "max-depth", OPTION_MAX_DEPTH, "N", 0, "user frames kept: default 1024, at most 16384",
	  OF_LIMITS },
	/* bcc's name */
	{ "perf-max-stack-depth", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, OF_LIMITS },
	{ "max-stacks", OPTION_MAX_STACKS, "N", 0, "room for distinct stacks, default 65536",
	  OF_LIMITS },
	/* bcc's name */
	{ "stack-storage-size", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, OF_LIMITS },
	{ "max-memory", OPTION_MAX_MEMORY, "MB[,MB]", 0,
	  "limit in the kernel and in user space, 512 each", OF_LIMITS },
	{ "max-report", OPTION_MAX_REPORT, "MB", 0, "approximate size of a report, default 100",
	  OF_LIMITS },
	{ "no-runtimes", OPTION_NO_RUNTIMES, NULL, 0,
	  "only native frames, no Python or Java functions", OF_NAMES },
	{ "folded", 'f', NULL, 0, "folded output: comm;root;...;leaf VALUE", OF_OUTPUT },
	{ "delimited", 'd', NULL, 0, "put - between user and kernel frames", OF_OUTPUT },
	{ "annotations", 'a', NULL, 0, "add _[k] to kernel frames, _[j] to JIT frames", OF_OUTPUT },
	{ "json", 'j', NULL, 0, "JSON, one object per line", OF_OUTPUT },
	{ "top", OPTION_TOP, "N|all", 0, "only the N hottest; text prints few by default",
	  OF_OUTPUT },
	{ "live", OPTION_LIVE, NULL, 0, "show it in the terminal while it is measured", OF_OUTPUT },
	{ "serve", OPTION_SERVE, "[ADDRESS:]PORT", OPTION_ARG_OPTIONAL,
	  "show it in a browser while it is measured", OF_OUTPUT },
	{ "inline", 'i', NULL, 0, "show inlined functions as frames marked _[i]", OF_NAMES },
	{ "lines", 'l', NULL, 0, "show source file and line of each user frame", OF_NAMES },
	{ "debug-dir", OPTION_DEBUG_DIR, "DIR", 0, "look for debug files in this directory first",
	  OF_NAMES },
	{ "debuginfod", OPTION_DEBUGINFOD, NULL, 0,
	  "fetch missing debug files from $DEBUGINFOD_URLS", OF_NAMES },
	{ "no-debuginfod", OPTION_NO_DEBUGINFOD, NULL, 0,
	  "fetch none, even if $DEBUGINFOD_URLS is set", OF_NAMES },
	{ "no-demangle", OPTION_NO_DEMANGLE, NULL, 0, "do not demangle C++, Rust and D names",
	  OF_NAMES },
	{ "native-frames", OPTION_NATIVE_FRAMES, NULL, 0,
	  "show the Python interpreter's own calls, too", OF_NAMES },
	{},
};

/* of tools whose report is a list of stacks */
static const struct argp_option list_options[] = {
	{ "cpu", 'C', "CPU[,A-B]", 0, "only on these CPUs", OF_TASKS },
	{ "comm", OPTION_COMM, "NAME", 0, "only threads with exactly this name", OF_TASKS },
	{ "output", 'o', "FILE", 0, "write to FILE; format by ending: .svg, .pb.gz", OF_OUTPUT },
	{ "sort", OPTION_SORT, "self|total", 0, "order of the table of functions in text",
	  OF_OUTPUT },
	{ "every", OPTION_EVERY, "TIME", 0, "a report each interval; %T in FILE: a file each",
	  OF_OUTPUT },
	{},
};

static void set_format(struct argp_state *state, struct stack_options *o,
		       const struct stack_format *format)
{
	if (o->asked && o->asked != format)
		argp_failure(state, EXIT_USAGE, 0, "-f and -j ask for different formats");
	o->asked = format;
}

/* the tool's own ending that the name has, or NULL */
static const char *own_ending(const struct stack_options *o, const char *name)
{
	for (const char *const *ending = o->endings; ending && *ending; ending++)
		if (file_name_ends_in(name, *ending))
			return *ending;
	return NULL;
}

bool stack_options_output(const struct stack_options *o, const char *name,
			  struct stack_output *output)
{
	const struct stack_format *format = stack_format_of(name);

	output->ending = own_ending(o, name);
	/* others are formats of lists of stacks */
	output->format = output->ending || (o->endings && format && !format->joins) ? NULL : format;
	return output->ending || output->format;
}

/*
 * -j says the format whatever the file is called; without it the ending does, and -f must agree
 * with that.
 */
static void settle_format(struct argp_state *state, struct stack_options *o,
			  struct stack_output *output, const char *name)
{
	const struct stack_format *of_name;

	if (o->asked == stack_format_json) {
		output->format = o->asked;
		return;
	}
	if (name)
		stack_options_output(o, name, output);
	if (output->ending && !o->asked)
		return;
	of_name = output->format;
	output->format = o->asked;
	if (name && !of_name && !strncmp(name, "/dev/", 5))
		name = NULL; /* a pipe's, or the terminal: text, or what an option says */
	if (name && !of_name)
		argp_failure(state, EXIT_USAGE, 0, "the output file's name must end in %s: '%s'",
			     o->endings ? o->endings_named : STACK_FORMAT_ENDINGS, name);
	if (name && o->asked && o->asked != of_name)
		argp_failure(
			state, EXIT_USAGE, 0,
			"-f and the ending of the output file's name ask for different formats");
	if (!o->asked)
		output->format = of_name ? of_name : stack_format_text;
	if (o->run.interval_ns && !output->format->joins && !run_names_apart(&o->run, name))
		argp_failure(
			state, EXIT_USAGE, 0,
			"with --every, the name of a file like this needs a conversion of strftime(3): '%s'",
			name);
}

static void settle_formats(struct argp_state *state, struct stack_options *o)
{
	bool any_text = o->run.live;

	for (size_t i = 0; i < run_nr_outputs(&o->run); i++) {
		settle_format(state, o, &o->outputs[i], o->run.outputs[i].name);
		o->run.outputs[i].json = o->outputs[i].format == stack_format_json;
		any_text |= o->outputs[i].format == stack_format_text;
		if (o->top && o->outputs[i].format != stack_format_text &&
		    o->outputs[i].format != stack_format_folded &&
		    o->outputs[i].format != stack_format_json)
			argp_failure(
				state, EXIT_USAGE, 0,
				"--top is for text, folded and JSON: the other formats keep all stacks");
	}
	if (o->sorted && !any_text)
		argp_failure(state, EXIT_USAGE, 0,
			     "--sort is for text, which has a table of functions");
}

/* With a view, standard input is for keys. */
static void check_live(struct argp_state *state, const struct stack_options *o)
{
	const char *lacks = terminal_lacks();

	if (o->run.interval_ns)
		argp_failure(
			state, EXIT_USAGE, 0,
			"--live and --every exclude each other: < and > change how often the view is drawn");
	if (lacks)
		argp_failure(state, EXIT_USAGE, 0, "--live: %s", lacks);
}

/* how frames are named: false if it is none of these options */
static bool parse_naming(int key, char *arg, struct argp_state *state,
			 struct naming_options *naming)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	switch (key) {
	case OPTION_DEBUG_DIR:
		if (naming->nr_directories == MAX_DEBUG_DIRECTORIES)
			argp_failure(state, EXIT_USAGE, 0, "at most %d --debug-dir are allowed",
				     MAX_DEBUG_DIRECTORIES);
		naming->directories[naming->nr_directories++] = arg;
		return true;
	case OPTION_DEBUGINFOD:
		if (!urls || !*urls)
			argp_failure(state, EXIT_USAGE, 0,
				     "--debuginfod: DEBUGINFOD_URLS is not set in the environment");
		naming->no_debuginfod = false;
		return true;
	case OPTION_NO_DEBUGINFOD:
		naming->no_debuginfod = true;
		return true;
	case 'i':
		naming->inlined = true;
		return true;
	case 'l':
		naming->lines = true;
		return true;
	case OPTION_NO_DEMANGLE:
		naming->no_demangle = true;
		return true;
	case OPTION_NATIVE_FRAMES:
		naming->native_frames = true;
		return true;
	default:
		return false;
	}
}

/* what is measured: false if it is none of these options */
static bool parse_filter(int key, char *arg, struct argp_state *state, struct stack_options *o)
{
	int error;

	switch (key) {
	case 'p':
		task_filter_take_pids(&o->run.tasks, arg);
		break;
	case 't':
	case 'L':
		task_filter_take_tids(&o->run.tasks, arg);
		break;
	case 'u':
		o->run.tasks.only_user_threads = true;
		break;
	case 'k':
		o->run.tasks.only_kernel_threads = true;
		break;
	case 'C':
		if (cpu_set_parse(&o->run.tasks.cpus, arg))
			argp_failure(state, EXIT_USAGE, 0, "not a list of CPUs: '%s'", arg);
		break;
	case OPTION_CGROUP:
		error = *arg ? cgroup_id(arg, &o->run.tasks.cgroup) : -ENOENT;
		o->run.tasks.cgroup_path = arg;
		if (error)
			argp_failure(state, EXIT_FAILURE, 0,
				     "not a cgroup of the v2 hierarchy: '%s': %s", arg,
				     strerror(-error));
		break;
	case OPTION_COMM:
		if (!*arg || strlen(arg) > TASK_NAME_BYTES)
			argp_failure(state, EXIT_USAGE, 0,
				     "a thread's name has 1 to %d bytes: '%s'", TASK_NAME_BYTES,
				     arg);
		o->run.tasks.comm = arg;
		break;
	default:
		return false;
	}
	return true;
}

/* "KERNEL,USER", or one number for both */
static bool parse_memory(const char *arg, struct memory_limits *memory)
{
	const char *comma = strchrnul(arg, ',');
	char *first = strndup(arg, comma - arg);
	uint64_t kernel = 0, user;
	bool ok = first && cli_parse_number(first, MIN_MEMORY_MB, 1 << 20, &kernel);

	user = kernel;
	if (ok && *comma)
		ok = cli_parse_number(comma + 1, MIN_MEMORY_MB, 1 << 20, &user);
	free(first);
	if (ok)
		*memory = (struct memory_limits){ .kernel = kernel << 20, .user = user << 20 };
	return ok;
}

/* which stacks are taken: false if it is none of these options */
static bool parse_wanted(int key, char *arg, struct argp_state *state, struct stack_options *o)
{
	uint64_t number;

	switch (key) {
	case 'U':
		o->wanted.only_user = true;
		break;
	case 'K':
		o->wanted.only_kernel = true;
		break;
	case OPTION_MAX_DEPTH:
		if (!cli_parse_number(arg, 1, MAX_DEPTH, &number))
			argp_failure(state, EXIT_USAGE, 0,
				     "not a number of frames from 1 to %d: '%s'", MAX_DEPTH, arg);
		o->wanted.max_depth = number;
		break;
	case OPTION_MAX_STACKS:
		if (!cli_parse_number(arg, 16, 1 << 24, &number))
			argp_failure(state, EXIT_USAGE, 0,
				     "not a number of stacks from 16 to %d: '%s'", 1 << 24, arg);
		o->wanted.max_stacks = number;
		break;
	case OPTION_MAX_MEMORY:
		if (!parse_memory(arg, &o->wanted.memory))
			argp_failure(state, EXIT_USAGE, 0,
				     "not one or two numbers of MB from %d on: '%s'", MIN_MEMORY_MB,
				     arg);
		break;
	case OPTION_NO_RUNTIMES:
		o->wanted.runtimes = false;
		break;
	default:
		return false;
	}
	return true;
}

/* how they are printed: false if it is none of these options */
static bool parse_output(int key, char *arg, struct argp_state *state, struct stack_options *o)
{
	uint64_t number;

	switch (key) {
	case 'f':
		set_format(state, o, stack_format_folded);
		break;
	case 'd':
		o->delimiter = true;
		break;
	case 'a':
		o->annotate = true;
		break;
	case 'j':
		set_format(state, o, stack_format_json);
		break;
	case 'o':
		run_take_output(state, &o->run, arg);
		break;
	case OPTION_EVERY:
		if (!cli_parse_time(arg, 1000000000, &o->run.interval_ns) ||
		    o->run.interval_ns < MIN_INTERVAL_NS)
			argp_failure(state, EXIT_USAGE, 0, "not a time of 0.1 s or more: '%s'",
				     arg);
		o->run.every = true;
		break;
	case OPTION_LIVE:
		o->run.live = true;
		break;
	case OPTION_SERVE:
		o->run.serve = true;
		if (arg && !server_parse_address(arg, &o->run.serve_at))
			argp_failure(state, EXIT_USAGE, 0,
				     "not a port, or an address and a port: '%s'", arg);
		break;
	case OPTION_MAX_REPORT:
		if (!cli_parse_number(arg, 1, 1 << 20, &number))
			argp_failure(state, EXIT_USAGE, 0, "not a number of MB, 1 or more: '%s'",
				     arg);
		o->max_report = number << 20;
		break;
	case OPTION_TOP:
		number = TOP_ALL;
		if (strcmp(arg, "all") && !cli_parse_number(arg, 1, TOP_ALL - 1, &number))
			argp_failure(state, EXIT_USAGE, 0,
				     "not a number of stacks, 1 or more, or all: '%s'", arg);
		o->top = number;
		break;
	case OPTION_SORT:
		o->by_total = !strcmp(arg, "total");
		o->sorted = true;
		if (!o->by_total && strcmp(arg, "self"))
			argp_failure(state, EXIT_USAGE, 0, "not self or total: '%s'", arg);
		break;
	default:
		return false;
	}
	return true;
}

static error_t parse_list(int key, char *arg, struct argp_state *state)
{
	struct stack_options *o = state->input;

	return parse_filter(key, arg, state, o) || parse_output(key, arg, state, o)
		       ? 0
		       : ARGP_ERR_UNKNOWN;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stack_options *o = state->input;

	if (parse_filter(key, arg, state, o) || parse_wanted(key, arg, state, o) ||
	    parse_output(key, arg, state, o) || parse_naming(key, arg, state, &o->wanted.naming))
		return 0;
	switch (key) {
	case ARGP_KEY_INIT:
		if (!o->endings)
			state->child_inputs[0] = o;
		break;
	case ARGP_KEY_ARG:
		if (run_take_command(state, &o->run))
			break;
		if (o->run.duration_ns)
			argp_failure(state, EXIT_USAGE, 0,
				     "one duration only, and a command comes after --: '%s'", arg);
		else if (!cli_parse_time(arg, 1000000000, &o->run.duration_ns) ||
			 !o->run.duration_ns)
			argp_failure(state, EXIT_USAGE, 0,
				     "not a duration: '%s'; a command comes after --", arg);
		break;
	case ARGP_KEY_END:
		if (o->run.tasks.only_user_threads && o->run.tasks.only_kernel_threads)
			argp_failure(state, EXIT_USAGE, 0, "-u and -k exclude each other");
		if (o->wanted.only_user && o->wanted.only_kernel)
			argp_failure(state, EXIT_USAGE, 0, "-U and -K exclude each other");
		settle_formats(state, o);
		if (o->run.live)
			check_live(state, o);
		run_check_command(state, &o->run);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void stack_options_parse(struct stack_options *o, const struct argp *tool, void *tool_options,
			 int argc, char **argv)
{
	static const struct argp list = { .options = list_options, .parser = parse_list };
	static const struct argp_child children[] = { { &list }, {} };
	const struct argp shared = { .options = options,
				     .parser = parse,
				     .children = o->endings ? NULL : children };

	run_parse(tool, tool_options, &shared, o, argc, argv, &o->run);
}
