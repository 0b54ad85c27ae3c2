// SPDX-License-Identifier: GPL-2.0-or-later
/* cpuprof: samples what runs on the CPUs, with whole user and kernel stacks. */
#include <math.h>

#include "cpuprof.skel.h"
#include "run/kernel.h"
#include "run/sampling.h"
#include "run/stack_session.h"

struct options {
	struct stack_options stacks;
	uint64_t period_ns;
	bool with_idle;
};

static const char doc[] =
	"Sample what runs on the CPUs, with whole user and kernel stacks, even of stripped programs "
	"without frame pointers. DURATION is in seconds; the default is until Ctrl-C or SIGTERM, or "
	"COMMAND's end.";

static const struct argp_option option_list[] = {
	{ "frequency", 'F', "HZ", 0, "samples a second on each CPU, default 99", 0 },
	{ "count", 'c', "TIME", 0, "instead, a sample each TIME: nanoseconds, or with a unit: 10ms", 0 },
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
		if (!cli_parse_time(arg, 1, &number) || number < 10000)
			argp_failure(state, EXIT_USAGE, 0, "not a time of 10 microseconds or more: '%s'", arg);
		o->period_ns = number;
		break;
	case 'I':
		o->with_idle = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct argp argp = { option_list, parse, STACK_ARGS_DOC, doc };
	struct options o = { .stacks = STACK_OPTIONS_DEFAULT, .period_ns = 1000000000 / 99 };
	struct measure samples = {
		.value = measure_count, .counted = "samples",
		.unfollowed = "processes of the command not sampled: too many at a time",
	};
	struct loss unseen = {
		"lost_unseen",
		.what = "samples lost on all CPUs in sum, by the kernel: interrupts were late, or a CPU was inside bpf(2)",
		.lost = true,
	};
	struct stack_session session;
	struct perf_events clock;
	struct cpuprof_bpf *bpf;
	double frequency_hz;

	stack_options_parse(&o.stacks, &argp, &o, argc, argv);
	samples.value_ns = o.period_ns;
	frequency_hz = round(1e12 / o.period_ns) / 1e3;

	bpf = kernel_opened(cpuprof_bpf__open());
	bpf->rodata->with_idle = o.with_idle;
	stack_session_configure(bpf->obj, &o.stacks.run, &o.stacks.wanted);
	kernel_loaded(cpuprof_bpf__load(bpf));
	stack_session_open(&session, bpf->obj, &o.stacks.run, &o.stacks.wanted);
	clock = sampling_attach(bpf->progs.sample_cpu, &o.stacks.run.tasks.cpus, o.period_ns);
	sampling_follow(&session.run, &clock, bpf->progs.sample_cpu, &o.stacks.run.tasks.cpus);

	run_doing(&session.run, "Sampling %zu CPU%s at %g Hz", clock.nr, clock.nr == 1 ? "" : "s", frequency_hz);
	json_object_object_add(session.run.start, "frequency_hz", json_object_new_double(frequency_hz));
	sampling_begin(&clock);
	stack_session_measure(&session, &o.stacks, &samples);
	sampling_end(&clock);

	unseen.count = stack_session_lost(&session, &clock);
	stack_session_report(&session, &o.stacks, &samples, &unseen, 1);
	return stack_session_close(&session);
}
