// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/sampling.h"

#include "kernel/links.h"
#include "run/cli.h"
#include "run/kernel.h"
#include "run/task_filter.h"

/* never detached: sampling_end() stops the clocks, and exiting closes both */
static struct links links;

uint64_t sampling_parse_hz(const char *text, struct argp_state *state)
{
	uint64_t hz = 0;

	if (!cli_parse_number(text, 1, SAMPLING_MAX_HZ, &hz))
		argp_failure(state, EXIT_USAGE, 0, "not a frequency from 1 to %d Hz: '%s'",
			     SAMPLING_MAX_HZ, text);
	return hz;
}

struct perf_events sampling_attach(struct bpf_program *program, const struct cpu_set *wanted,
				   uint64_t period_ns)
{
	struct cpu_set cpus = cpus_online(wanted);
	struct perf_events clock;

	kernel_check(perf_events_open_clock(&clock, &cpus, period_ns), "open the clock events");
	cpu_set_free(&cpus);
	kernel_check(links_attach_to_events(&links, program, &clock), "attach to the clock events");
	return clock;
}

/* ---- CPUs that come and go ---- */

static struct following {
	struct perf_events *events;
	struct bpf_program *program;
	const struct cpu_set *wanted;
	struct cpu_watch watch;
} following;

static int attach(void *arg, int fd)
{
	struct following *f = arg;

	return links_attach_to_event(&links, f->program, fd);
}

static int follow(void *arg)
{
	struct following *f = arg;
	struct cpu_set cpus;
	int result = cpu_watch_changed(&f->watch, &cpus);

	if (result > 0) {
		if (f->wanted->nr)
			cpu_set_keep(&cpus, f->wanted);
		result = perf_events_follow(f->events, &cpus,
					    f->watch.looked_ns - f->watch.before_ns, attach, f);
		cpu_set_free(&cpus);
	}
	return result;
}

void sampling_follow(struct run *run, struct perf_events *events, struct bpf_program *program,
		     const struct cpu_set *wanted)
{
	following = (struct following){
		.events = events,
		.program = program,
		.wanted = wanted,
	};
	cli_check(cpu_watch_open(&following.watch), "watch the CPUs");
	run_add(run, &(struct run_part){
			     .doing = "follow the CPUs", .work = follow, .arg = &following });
}

/* ---- the measurement ---- */

void sampling_begin(struct perf_events *clock)
{
	cli_check(perf_events_enable(clock), "start the clocks");
}

void sampling_end(struct perf_events *clock)
{
	cli_check(perf_events_disable(clock), "read the results");
}
