// SPDX-License-Identifier: GPL-2.0-or-later
/* cpuprof: samples who is on the CPU, with whole user and kernel stacks. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/load.h"
#include "run/bpf_load_die.h"
#include "run/session.h"
#include "run/cli.h"
#include "cpuprof.skel.h"

struct options {
	struct stack_options stacks;
	uint64_t period_ns;
	bool with_idle;
};

static const struct argp_option option_list[] = {
	{ "frequency", 'F', "HZ", 0, "samples a second on each CPU, default 99", 0 },
	{ "count", 'c', "N", 0, "a sample every N nanoseconds of CPU time instead", 0 },
	{ "include-idle", 'I', NULL, 0, "count the idle task too", 1 },
	{},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	uint64_t number;

	switch (key) {
	case 'F':
		if (!cli_parse_number(arg, 1, 100000, &number))
			argp_failure(state, EXIT_USAGE, 0, "not a frequency from 1 to 100000 Hz: '%s'", arg);
		o->period_ns = 1000000000 / number;
		break;
	case 'c':
		if (!cli_parse_number(arg, 10000, INT64_MAX, &number))
			argp_failure(state, EXIT_USAGE, 0, "not a number of nanoseconds from 10000 on: '%s'", arg);
		o->period_ns = number;
		break;
	case 'I':
		o->with_idle = true;
		break;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->stacks;
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
	.doc = "Sample who is on the CPU, with whole user and kernel stacks, of stripped programs without frame "
	       "pointers too. DURATION is in seconds; without it, until Ctrl-C or SIGTERM, or COMMAND's end.",
	.children = children,
};

static struct cpuprof_bpf *load(const struct options *o)
{
	struct cpuprof_bpf *bpf = cpuprof_bpf__open();
	int error;

	if (!bpf)
		bpf_load_die("open the BPF programs", -errno);
	bpf->rodata->with_idle = o->with_idle;
	error = stack_session_configure(bpf->obj, &o->stacks);
	if (!error)
		error = cpuprof_bpf__load(bpf);
	if (error)
		bpf_load_die("load the BPF programs", error);
	return bpf;
}

/* Events stay disabled; the programs hang on links that last until exit. */
static void attach(struct cpuprof_bpf *bpf, const struct options *o, struct perf_events *clock)
{
	struct cpu_set cpus;
	int error = cpu_set_online(&cpus);

	if (!error && o->stacks.cpus.nr)
		cpu_set_keep(&cpus, &o->stacks.cpus);
	if (!error)
		error = perf_events_open_clock(clock, &cpus, o->period_ns);
	cpu_set_free(&cpus);
	if (error == -ENODEV)
		cli_die(EXIT_FAILURE, "none of these CPUs is online");
	if (error)
		bpf_load_die("open the clock events", error);
	for (size_t i = 0; i < clock->nr; i++)
		if (!bpf_program__attach_perf_event(bpf->progs.sample_cpu, clock->events[i].fd))
			bpf_load_die("attach to the clock events", -errno);
}

int main(int argc, char **argv)
{
	struct options o = { .stacks = STACK_OPTIONS_DEFAULT, .period_ns = 1000000000 / 99 };
	struct report_summary summary = { .tool = "cpuprof" };
	struct stack_session session;
	struct perf_events clock;
	struct cpuprof_bpf *bpf;
	int error;

	cli_init();
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
	stack_session_check_tasks(&o.stacks);

	bpf_load_init(o.stacks.verbose);
	bpf = load(&o);
	error = stack_session_open(&session, bpf->obj, &o.stacks);
	if (error)
		cli_die(EXIT_FAILURE, "cannot %s: %s", session.doing, strerror(-error));
	attach(bpf, &o, &clock);

	error = perf_events_enable(&clock);
	if (!error)
		error = stack_session_run(&session);
	perf_events_disable(&clock);
	if (error)
		cli_die(EXIT_FAILURE, "cannot %s: %s", session.doing, strerror(-error));

	error = stack_session_report(&session, &clock, o.period_ns, &summary);
	if (error)
		cli_die(EXIT_FAILURE, "cannot %s: %s", session.doing, strerror(-error));
	return stack_session_close(&session);
}
