// SPDX-License-Identifier: GPL-2.0-or-later
/* offcputime: where threads wait, with whole user and kernel stacks. */
#include <string.h>

#include "bpf/off_cpu.h"
#include "off_cpu_abi.h"
#include "offcputime.skel.h"
#include "process/thread_state.h"
#include "run/kernel.h"
#include "run/stack_session.h"

struct options {
	struct stack_options stacks;
	uint64_t min_ns, max_ns;
	uint32_t states;
	enum off_cpu_part part;
};

enum { OPTION_STATE = 0x200, OPTION_TIME };

static const char doc[] =
	"Show where threads wait off the CPU, and for how long, with whole user and kernel stacks, even "
	"of stripped programs without frame pointers. DURATION is in seconds; the default is until "
	"Ctrl-C or SIGTERM, or COMMAND's end.";

static const struct argp_option option_list[] = {
	{ "min-time", 'm', "TIME", 0,
	  "only off-CPU periods of at least this long: microseconds, or with a unit: 10ms", 1 },
	{ "max-time", 'M', "TIME", 0, "only off-CPU periods of at most this long", 1 },
	{ "state", OPTION_STATE, "STATES", 0,
	  "only if the thread left the CPU in these states: letters of RSDTtPI, or a mask", 1 },
	{ "time", OPTION_TIME, "PART", 0,
	  "which part of a period counts: all (the default), blocked, waiting (to run)", 1 },
	{},
};

static bool parse_part(const char *text, enum off_cpu_part *part)
{
	static const struct {
		const char *name;
		enum off_cpu_part part;
	} parts[] = { { "all", OFF_CPU_ALL },
		      { "blocked", OFF_CPU_BLOCKED },
		      { "waiting", OFF_CPU_WAITING } };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!strcmp(text, parts[i].name)) {
			*part = parts[i].part;
			return true;
		}
	}
	return false;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'm':
	case 'M':
		if (!cli_parse_time(arg, 1000, key == 'm' ? &o->min_ns : &o->max_ns))
			argp_failure(state, EXIT_USAGE, 0, "not a time: '%s'", arg);
		break;
	case OPTION_STATE:
		if (!thread_states_parse(arg, &o->states))
			argp_failure(state, EXIT_USAGE, 0,
				     "not states (letters of RSDTtPI, or a mask of the kernel's bits): '%s'",
				     arg);
		break;
	case OPTION_TIME:
		if (!parse_part(arg, &o->part))
			argp_failure(state, EXIT_USAGE, 0, "not all, blocked or waiting: '%s'", arg);
		break;
	case ARGP_KEY_END:
		if (o->min_ns > o->max_ns)
			argp_failure(state, EXIT_USAGE, 0, "-m is more than -M");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void configure(struct offcputime_bpf *bpf, const struct options *o)
{
	bpf->rodata->min_ns = o->min_ns;
	bpf->rodata->max_ns = o->max_ns;
	bpf->rodata->wanted_states = o->states;
	bpf->rodata->count_blocked = o->part != OFF_CPU_WAITING;
	bpf->rodata->count_waiting = o->part != OFF_CPU_BLOCKED;
	stack_session_configure(bpf->obj, &o->stacks.run, &o->stacks.wanted);
	if (!o->stacks.wanted.only_user)
		kernel_check(off_cpu_configure(bpf->obj), "load the BPF programs");
}

static void show_kernel_walks(uint32_t walks)
{
	bool trusted = walks >= KERNEL_WALK_TRUSTED && walks != UINT32_MAX;

	cli_warn("kernel stacks: %s", trusted ? "by the kernel's tables" : "by bpf_get_stack()");
}

int main(int argc, char **argv)
{
	const struct argp argp = { option_list, parse, STACK_ARGS_DOC, doc };
	struct options o = {
		.stacks = STACK_OPTIONS_DEFAULT, .max_ns = UINT64_MAX, .states = ~0U, .part = OFF_CPU_ALL
	};
	struct loss missed;
	struct stack_session session;
	struct offcputime_bpf *bpf;
	struct links links = {};

	stack_options_parse(&o.stacks, &argp, &o, argc, argv);

	bpf = kernel_opened(offcputime_bpf__open());
	configure(bpf, &o);
	kernel_loaded(offcputime_bpf__load(bpf));
	stack_session_open(&session, bpf->obj, &o.stacks.run, &o.stacks.wanted);
	/* New threads first: those that exist already get their storages later, in off_cpu_begin(). */
	kernel_attach(&links, "the scheduler's tracepoints", bpf->progs.thread_begins,
		      bpf->progs.thread_starts, bpf->progs.thread_wakes, bpf->progs.thread_switches);

	cli_check(off_cpu_begin(bpf->obj, session.store, o.stacks.run.command),
		  "list the threads that are off the CPU");
	run_measure(&session.run);
	cli_check(off_cpu_end(bpf->obj, session.store), "list the threads that are still off the CPU");
	missed = kernel_missed(&links);
	links_detach(&links);

	if (o.stacks.run.verbose)
		show_kernel_walks(bpf->bss->kernel_walks);
	stack_session_report(&session, &o.stacks, &off_cpu_measures[o.part], &missed, 1);
	return stack_session_close(&session);
}
