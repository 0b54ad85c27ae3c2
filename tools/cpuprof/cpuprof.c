// SPDX-License-Identifier: GPL-2.0-or-later
/* cpuprof: samples what runs on the CPUs, with whole user and kernel stacks. */
#include <math.h>

#include "cpuprof.skel.h"
#include "report/counted.h"
#include "report/json.h"
#include "run/events.h"
#include "run/kernel.h"
#include "run/sampling.h"
#include "run/stack_session.h"

struct options {
	struct stack_options stacks;
	uint64_t frequency_hz; /* 0: not asked for */
	const char *count;     /* -c's N or TIME; NULL: not asked for */
	uint64_t period; /* of the clock, ns; of another event, a number, or 0: by the frequency */
	const char *event; /* NULL: the clock */
	bool with_idle;
};

static const char doc[] =
	"Sample what runs on the CPUs, with whole user and kernel stacks, even of stripped programs "
	"without frame pointers. DURATION is in seconds; the default is until Ctrl-C or SIGTERM, or "
	"COMMAND's end."
	"\vExamples:\n"
	"  cpuprof -p nginx -o cpu.svg 10    # nginx, for 10 s, as a picture\n"
	"  cpuprof -F 999 -- make            # a command and what it starts\n";

static const struct argp_option option_list[] = {
	{ "frequency", 'F', "HZ", 0, "samples a second on each CPU, default 99", OF_MEASURE },
	{ "count", 'c', "TIME", 0, "sample every TIME (10ms), or every N events of -e",
	  OF_MEASURE },
	{ "event", 'e', "EVENT", 0, "sample on a perf event (cycles) instead of time", OF_MEASURE },
	{ "include-idle", 'I', NULL, 0, "count the idle task too", OF_TASKS },
	{},
};

#define DEFAULT_HZ 99

static void set_period(struct options *o, struct argp_state *state)
{
	uint64_t frequency_hz = o->frequency_hz ? o->frequency_hz : DEFAULT_HZ;

	if (!o->event) {
		o->period = 1000000000 / frequency_hz;
		if (o->count && (!cli_parse_time(o->count, 1, &o->period) ||
				 o->period < 1000000000 / SAMPLING_MAX_HZ))
			argp_failure(state, EXIT_USAGE, 0,
				     "not a time of 50 microseconds or more: '%s'", o->count);
	} else if (o->count && !cli_parse_number(o->count, 1, INT64_MAX, &o->period)) {
		argp_failure(state, EXIT_USAGE, 0, "not a number of events: '%s'", o->count);
	}
	o->frequency_hz = frequency_hz;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'F':
		o->frequency_hz = sampling_parse_hz(arg, state);
		break;
	case 'c':
		o->count = arg;
		break;
	case 'e':
		o->event = arg;
		break;
	case 'I':
		o->with_idle = true;
		break;
	case ARGP_KEY_END:
		if (o->count && o->frequency_hz)
			argp_failure(state, EXIT_USAGE, 0, "either -F or -c");
		set_period(o, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- what is sampled ---- */

static struct perf_events attach_event(const struct options *o, struct stack_session *session,
				       struct bpf_program *program)
{
	struct events events = events_of_perf(o->event, &o->stacks.run.tasks);
	struct perf_events opened;

	opened = events_attach_perf(program, &events.events[0], o->period, o->frequency_hz,
				    &o->stacks.run.tasks.cpus);
	events_free(&events);
	run_doing(&session->run, "Sampling %s on %s", o->event, counted(opened.nr, "CPUs").text);
	json_object_object_add(session->run.start, "event", json_name(o->event));
	if (o->period)
		json_object_object_add(session->run.start, "period", json_number(o->period));
	else
		json_object_object_add(session->run.start, "frequency_hz",
				       json_object_new_double(o->frequency_hz));
	return opened;
}

static struct perf_events attach_clock(const struct options *o, struct stack_session *session,
				       struct bpf_program *program)
{
	struct perf_events clock = sampling_attach(program, &o->stacks.run.tasks.cpus, o->period);
	double frequency_hz = round(1e12 / o->period) / 1e3;

	clock.idle_counts = o->with_idle;
	run_doing(&session->run, "Sampling %s at %g Hz", counted(clock.nr, "CPUs").text,
		  frequency_hz);
	json_object_object_add(session->run.start, "frequency_hz",
			       json_object_new_double(frequency_hz));
	return clock;
}

struct unseen {
	const struct stack_session *session;
	struct perf_events *clock;
	struct loss loss;
};

static void count_unseen(void *arg)
{
	struct unseen *unseen = arg;

	unseen->loss.count = stack_session_lost(unseen->session, unseen->clock);
}

int main(int argc, char **argv)
{
	const struct argp argp = { option_list, parse, STACK_ARGS_DOC, doc };
	struct options o = { .stacks = STACK_OPTIONS_DEFAULT };
	struct measure samples = {
		.value = measure_count,
		.counted = "samples",
		.unfollowed = "processes of the command not sampled: too many at a time",
	};
	struct stack_session session;
	struct perf_events clock;
	struct unseen unseen = {
		&session,
		&clock,
		{ "lost_unseen",
		  .what = "samples lost by the kernel, on all CPUs together: interrupts were late, or a CPU was inside bpf(2)",
		  .lost = true, .of_machine = true },
	};
	const struct own_losses lost = { &unseen.loss, 1, count_unseen, &unseen };
	struct cpuprof_bpf *bpf;

	stack_options_parse(&o.stacks, &argp, &o, argc, argv);
	if (o.with_idle && (o.stacks.run.command || !task_filter_has_idle(&o.stacks.run.tasks)))
		cli_die(EXIT_USAGE,
			"-I counts the idle task, which -p, -t, -u and a command leave out");
	if (!o.event)
		samples.value_ns = o.period;
	o.stacks.wanted.may_be_nmi = o.event;

	bpf = kernel_opened(cpuprof_bpf__open());
	bpf->rodata->with_idle = o.with_idle;
	stack_session_configure(bpf->obj, &o.stacks.run, &o.stacks.wanted);
	kernel_loaded(bpf->skeleton, cpuprof_bpf__load(bpf));
	stack_session_open(&session, bpf->obj, &o.stacks.run, &o.stacks.wanted);
	clock = (o.event ? attach_event : attach_clock)(&o, &session, bpf->progs.sample_cpu);
	sampling_follow(&session.run, &clock, bpf->progs.sample_cpu, &o.stacks.run.tasks.cpus);

	sampling_begin(&clock);
	stack_session_measure(&session, &o.stacks, &samples, &lost);
	sampling_end(&clock);

	count_unseen(&unseen);
	stack_session_report(&session);
	return stack_session_close(&session);
}
