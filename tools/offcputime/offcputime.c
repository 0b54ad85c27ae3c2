// SPDX-License-Identifier: GPL-2.0-or-later
/* offcputime: where threads wait, with whole user and kernel stacks. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/load.h"
#include "bpf/off_cpu.h"
#include "run/session.h"
#include "run/cli.h"
#include "offcputime.skel.h"
#include "off_cpu_abi.h"
#include "process/thread_state.h"

struct options {
	struct stack_options stacks;
	uint64_t min_ns, max_ns;
	uint32_t states;
	enum report_measure measure;
};

enum { OPTION_STATE = 0x200, OPTION_TIME };

static const struct argp_option option_list[] = {
	{ "min-time", 'm', "TIME", 0, "only stays of at least this long: microseconds, or with a unit: 10ms", 1 },
	{ "max-time", 'M', "TIME", 0, "only stays of at most this long", 1 },
	{ "state", OPTION_STATE, "STATES", 0, "only those that left the CPU in these states: letters of RSDTtPI, or a mask", 1 },
	{ "time", OPTION_TIME, "PART", 0, "which part of a stay counts: all (unless told), blocked, waiting (to run)", 1 },
	{},
};

static bool parse_part(const char *text, enum report_measure *measure)
{
	static const struct {
		const char *name;
		enum report_measure measure;
	} parts[] = { { "all", REPORT_OFF_CPU }, { "blocked", REPORT_BLOCKED }, { "waiting", REPORT_WAITING } };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!strcmp(text, parts[i].name)) {
			*measure = parts[i].measure;
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
			argp_failure(state, EXIT_USAGE, 0, "not states (letters of RSDTtPI, or a mask of the kernel's bits): '%s'", arg);
		break;
	case OPTION_TIME:
		if (!parse_part(arg, &o->measure))
			argp_failure(state, EXIT_USAGE, 0, "not all, blocked or waiting: '%s'", arg);
		break;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->stacks;
		break;
	case ARGP_KEY_END:
		if (o->min_ns > o->max_ns)
			argp_failure(state, EXIT_USAGE, 0, "the least time is more than the most");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { { &stack_argp, 0, NULL, 0 }, {} };
static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.args_doc = STACK_ARGS_DOC,
	.doc = "Where threads wait, off the CPU, and for how long, with whole user and kernel stacks, of stripped programs "
	       "without frame pointers too. DURATION is in seconds; without it, until Ctrl-C or SIGTERM, or COMMAND's end.",
	.children = children,
};

static void list_cpus(struct offcputime_bpf *bpf, const struct cpu_set *wanted)
{
	struct cpu_set cpus;
	int error = cpu_set_online(&cpus);
	size_t nr = 0;

	if (error)
		cli_die(EXIT_FAILURE, "cannot list the CPUs: %s", strerror(-error));
	cpu_set_keep(&cpus, wanted);
	for (size_t cpu = 0; cpu < cpus.nr && cpu < MAX_LISTED_CPUS; cpu++) {
		if (!cpus.has[cpu])
			continue;
		bpf->rodata->listed_cpus[cpu / 64] |= 1ULL << cpu % 64;
		nr++;
	}
	cpu_set_free(&cpus);
	if (!nr)
		cli_die(EXIT_FAILURE, "none of these CPUs is online");
	bpf->rodata->only_listed_cpus = true;
}

static struct offcputime_bpf *load(const struct options *o)
{
	struct offcputime_bpf *bpf = offcputime_bpf__open();
	int error;

	if (!bpf)
		bpf_load_die("open the BPF programs", -errno);
	bpf->rodata->min_ns = o->min_ns;
	bpf->rodata->max_ns = o->max_ns;
	bpf->rodata->wanted_states = o->states;
	bpf->rodata->count_blocked = o->measure != REPORT_WAITING;
	bpf->rodata->count_waiting = o->measure != REPORT_BLOCKED;
	if (o->stacks.cpus.nr)
		list_cpus(bpf, &o->stacks.cpus);
	error = stack_session_configure(bpf->obj, &o->stacks);
	if (!error && !o->stacks.only_user_stacks)
		error = off_cpu_configure(bpf->obj);
	if (!error)
		error = offcputime_bpf__load(bpf);
	if (error)
		bpf_load_die("load the BPF programs", error);
	return bpf;
}

/* who begins first: from then on nobody is missed */
static void attach(struct offcputime_bpf *bpf)
{
	struct bpf_program *programs[] = { bpf->progs.thread_begins, bpf->progs.thread_starts, bpf->progs.thread_wakes,
					   bpf->progs.thread_switches };
	struct bpf_link **links[] = { &bpf->links.thread_begins, &bpf->links.thread_starts, &bpf->links.thread_wakes,
				      &bpf->links.thread_switches };

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		*links[i] = bpf_program__attach(programs[i]);
		if (!*links[i])
			bpf_load_die("attach to the scheduler's tracepoints", -errno);
	}
}

int main(int argc, char **argv)
{
	struct options o = { .stacks = STACK_OPTIONS_DEFAULT, .max_ns = UINT64_MAX, .states = ~0U, .measure = REPORT_OFF_CPU };
	struct report_summary summary = { .tool = "offcputime" };
	struct stack_session session;
	struct offcputime_bpf *bpf;
	int error;

	cli_init();
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
	stack_session_check_tasks(&o.stacks);
	summary.measure = o.measure;

	bpf_load_init(o.stacks.verbose);
	bpf = load(&o);
	error = stack_session_open(&session, bpf->obj, &o.stacks);
	if (error)
		cli_die(EXIT_FAILURE, "cannot %s: %s", session.doing, strerror(-error));
	attach(bpf);
	session.doing = "look at who is off the CPU";
	error = off_cpu_begin(bpf->obj, session.store, o.stacks.command);
	if (!error)
		error = stack_session_run(&session);
	if (!error) {
		session.doing = "look at who is still off the CPU";
		error = off_cpu_end(bpf->obj, session.store);
	}
	offcputime_bpf__detach(bpf);
	if (error)
		cli_die(EXIT_FAILURE, "cannot %s: %s", session.doing, strerror(-error));

	summary.lost = off_cpu_missed(bpf->obj);
	if (o.stacks.verbose)
		cli_warn("kernel stacks: %s",
			 bpf->bss->kernel_walks >= KERNEL_WALK_TRUSTED && bpf->bss->kernel_walks != UINT32_MAX ? "by the kernel's tables" : "by bpf_get_stack()");
	error = stack_session_report(&session, NULL, 0, &summary);
	if (error)
		cli_die(EXIT_FAILURE, "cannot %s: %s", session.doing, strerror(-error));
	return stack_session_close(&session);
}
