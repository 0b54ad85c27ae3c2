/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that samples the CPUs by their clocks. What goes wrong ends the program with a message. */
#ifndef EHPERF_RUN_SAMPLING_H
#define EHPERF_RUN_SAMPLING_H

#include <stdint.h>

#include "process/cpu_set.h"
#include "process/perf_events.h"

struct bpf_program;

/* Attaches the program to a clock on each of these CPUs, or on all (an empty set): stopped, until the tool exits. */
struct perf_events sampling_attach(struct bpf_program *program, const struct cpu_set *wanted, uint64_t period_ns);

void sampling_begin(struct perf_events *clock);
void sampling_end(struct perf_events *clock);

#endif
