// SPDX-License-Identifier: GPL-2.0-or-later
/* mapupdlat: how long bpf(2) takes to change maps, and what it waits for. */
#include <argp.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "call_ways.h"
#include "map_calls.h"
#include "mapupdlat.skel.h"
#include "report/json.h"
#include "run/kernel.h"
#include "run/timed_calls.h"

enum { OPTION_CMD = 0x100, OPTION_BY, OPTION_MAP, OPTION_TYPE, OPTION_SLOW };

static const char doc[] =
	"Measure how long bpf(2) takes to update maps, how much of that is spent blocked or waiting for "
	"a CPU, and in which kernel functions. INTERVAL is in seconds; the default is one interval until "
	"Ctrl-C or SIGTERM, or COMMAND's end."
	"\vExamples:\n"
	"  mapupdlat -P 1                    # each process, each second\n"
	"  mapupdlat --cmd all -- ./program  # all commands on maps of a program\n";

static const struct argp_option option_list[] = {
	{ "cmd", OPTION_CMD, "CMD[,CMD...]", 0, "default update,update-batch; all: all",
	  OF_MEASURE },
	{ "map", OPTION_MAP, "ID|NAME", 0, "only the map with this ID, or maps of this name",
	  OF_MEASURE },
	{ "type", OPTION_TYPE, "TYPE", 0, "only maps of this type", OF_MEASURE },
	{ "by", OPTION_BY, "WHAT[,WHAT...]", 0, "name (default), type, map, process, command, all",
	  OF_OUTPUT },
	{ "user-stacks", 'U', NULL, 0, "show user stacks, too", OF_OUTPUT },
	{ "slow", OPTION_SLOW, "TIME", 0, "print calls slower than TIME: 5ms, 50 (us)", OF_OUTPUT },
	{},
};

struct options {
	struct histogram_options histograms;
	struct stacks_wanted stacks;
	uint64_t cmds;
	unsigned int by;
	const char *map, *type_name, *cmd_names; /* as they were given; NULL: they were not */
	uint32_t type;
};

enum { BY_NAME = 1, BY_TYPE = 2, BY_MAP = 4, BY_PROCESS = 8, BY_COMMAND = 16, BY_ALL = 32 };

static bool parse_by(const char *text, unsigned int *by)
{
	static const struct {
		const char *name;
		unsigned int by;
	} names[] = { { "name", BY_NAME | BY_TYPE },
		      { "type", BY_TYPE },
		      { "map", BY_MAP | BY_NAME | BY_TYPE },
		      { "process", BY_PROCESS },
		      { "command", BY_COMMAND },
		      { "all", BY_ALL } };
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

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPTION_CMD:
		if (!map_calls_parse_cmds(arg, &o->cmds))
			argp_failure(state, EXIT_USAGE, 0, "not a list of map commands: '%s'", arg);
		o->cmd_names = arg;
		break;
	case OPTION_MAP:
		if (!map_calls_names_map(arg))
			argp_failure(state, EXIT_USAGE, 0,
				     "not a map's ID or its name (15 characters at most): '%s'",
				     arg);
		o->map = arg;
		break;
	case OPTION_TYPE:
		if (!map_calls_parse_type(arg, &o->type))
			argp_failure(state, EXIT_USAGE, 0, "not a type of maps: '%s'", arg);
		o->type_name = arg;
		break;
	case OPTION_BY:
		if (!parse_by(arg, &o->by))
			argp_failure(
				state, EXIT_USAGE, 0,
				"not a list of name, type, map, process and command, or all: '%s'",
				arg);
		break;
	case 'U':
		o->stacks.only_kernel = false;
		o->histograms.stacks = "-U";
		break;
	case OPTION_SLOW:
		o->histograms.slow_ns = slow_calls_parse_time(arg, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

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
	bpf->rodata->only_map_type = o->type_name;
	bpf->rodata->wanted_map_type = o->type;
	bpf->rodata->by_type = o->by & BY_TYPE;
	bpf->rodata->by_name = o->by & BY_NAME;
	bpf->rodata->by_map = o->by & BY_MAP;
	bpf->rodata->by_process = o->histograms.per_process || o->by & BY_PROCESS;
	bpf->rodata->by_command = o->by & BY_COMMAND;
	bpf->rodata->slow_ns = o->histograms.slow_ns;
	call_ways_choose(bpf->obj);
	stack_session_configure(bpf->obj, &o->histograms.run, &o->stacks);
	histogram_session_configure(bpf->obj, &o->histograms);
}

/* Shows the programs one of our maps, by which they recognise other maps' files. */
static void learn_what_a_map_is(struct mapupdlat_bpf *bpf)
{
	LIBBPF_OPTS(bpf_test_run_opts, once);
	int error;

	bpf->bss->own_map_fd = bpf_map__fd(bpf->maps.series);
	error = bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.note_self), &once);
	kernel_check(error || bpf->bss->map_fops ? error : -ENOENT,
		     "find the kernel's operations of map files");
}

/* ---- measuring ---- */

static void add_filters(struct json_object *filters, const struct options *o)
{
	json_add_name(filters, "map", o->map);
	json_add_name(filters, "type", o->type_name);
	json_add_name(filters, "cmd", o->cmd_names);
}

static void report(struct timed_calls *calls, const struct bpf_object *object, uint64_t not_seen)
{
	const struct call_counts *n = &calls->counts;
	const struct loss own[] = {
		{ "lost_returns", n->returns_unseen, "calls lost: the return was not seen",
		  .lost = true },
		{ "not_seen", not_seen,
		  "calls that may not have been seen: their CPU was inside a map operation of a preempted thread" },
		{ NULL, call_ways_uncounted(object) ? n->preempted : 0,
		  "calls preempted inside the map operation: other calls on their CPU may have "
		  "been missed, which this kernel does not count" },
		{ "preempted", n->preempted },
	};

	timed_calls_report(calls, n->returns_unseen, own, sizeof(own) / sizeof(own[0]));
}

int main(int argc, char **argv)
{
	const struct argp argp = { option_list, parse, HISTOGRAM_ARGS_DOC, doc };
	struct options o = {
		.histograms = HISTOGRAM_OPTIONS_DEFAULT,
		.stacks = STACKS_WANTED_DEFAULT,
		.by = BY_NAME | BY_TYPE,
	};
	const struct histogram_tool tool = { .errors = true,
					     .title = map_calls_title,
					     .json = map_calls_json };
	struct bpf_program *watching[NR_CALL_PROGRAMS + 1];
	struct mapupdlat_bpf *bpf;
	struct timed_calls calls;
	struct links links = {};
	uint64_t not_seen;

	o.stacks.only_kernel = true;
	map_calls_parse_cmds("update,update-batch", &o.cmds);
	histogram_options_parse(&o.histograms, &argp, &o, argc, argv);

	bpf = kernel_opened(mapupdlat_bpf__open());
	configure(bpf, &o);
	kernel_loaded(bpf->skeleton, mapupdlat_bpf__load(bpf));
	learn_what_a_map_is(bpf);

	timed_calls_open(&calls, bpf->obj, &o.histograms, &o.stacks, &tool,
			 sizeof(struct map_call_key), &bpf->bss->measuring);
	call_ways_programs(bpf->obj, watching);
	kernel_attach_list(&links, "bpf(2)", watching);

	run_doing(&calls.stacks.run, "Measuring bpf(2) on maps");
	add_filters(calls.stacks.run.filters, &o);
	timed_calls_measure(&calls, &links);
	not_seen = call_ways_not_seen(bpf->obj); /* the programs go on being called */
	timed_calls_finish(&calls);
	report(&calls, bpf->obj, not_seen);
	return timed_calls_close(&calls, &links);
}
