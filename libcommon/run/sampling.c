// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/sampling.h"

#include "bpf/links.h"
#include "run/cli.h"
#include "run/kernel.h"
#include "run/task_filter.h"

struct perf_events sampling_attach(struct bpf_program *program, const struct cpu_set *wanted,
				   uint64_t period_ns)
{
	struct cpu_set cpus = cpus_online(wanted);
	struct perf_events clock;
	/* never detached: sampling_end() stops the clock, and exiting closes both */
	struct links links = {};

	kernel_check(perf_events_open_clock(&clock, &cpus, period_ns), "open the clock events");
	cpu_set_free(&cpus);
	kernel_check(links_attach_to_events(&links, program, &clock), "attach to the clock events");
	return clock;
}

void sampling_begin(struct perf_events *clock)
{
	cli_check(perf_events_enable(clock), "start the clocks");
}

void sampling_end(struct perf_events *clock)
{
	perf_events_disable(clock);
}
