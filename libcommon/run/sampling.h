/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a BPF program on each CPU at a fixed rate, or at another event. Errors end the tool with a
 * message.
 */
#ifndef EHPERF_RUN_SAMPLING_H
#define EHPERF_RUN_SAMPLING_H

#include <argp.h>
#include <stdint.h>

#include "process/cpu_set.h"
#include "process/perf_events.h"
#include "run/run.h"

struct bpf_program;

/* A sample takes some microseconds: at rates much higher than this, a CPU would do little else. */
#define SAMPLING_MAX_HZ 20000

/* a frequency in Hz; anything else ends the tool with a message */
uint64_t sampling_parse_hz(const char *text, struct argp_state *state);

/*
 * Attaches the program to a stopped clock on each of these CPUs, or on all (an empty set), until
 * the tool exits.
 */
struct perf_events sampling_attach(struct bpf_program *program, const struct cpu_set *wanted,
				   uint64_t period_ns);

/*
 * Opens these events, of a clock or others, on CPUs that come online during the run. events and
 * wanted must outlive the run. To be called once
 */
void sampling_follow(struct run *run, struct perf_events *events, struct bpf_program *program,
		     const struct cpu_set *wanted);

void sampling_begin(struct perf_events *clock);
void sampling_end(struct perf_events *clock);

#endif
