/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads what bpf/histograms.bpf.h gathers, interval by interval: each value is in exactly one
 * interval.
 */
#ifndef EHPERF_KERNEL_HISTOGRAMS_H
#define EHPERF_KERNEL_HISTOGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "report/series.h"
#include "stacks_abi.h"

struct bpf_object;

struct bpf_histograms;

/* for an opened object, not yet loaded. 0 or -errno */
int bpf_histograms_configure(struct bpf_object *object, const struct histogram_unit *unit);

/* for a loaded one. 0 or -errno */
int bpf_histograms_new(struct bpf_histograms **histograms, struct bpf_object *object,
		       const struct histogram_unit *unit);
void bpf_histograms_free(struct bpf_histograms *histograms);

/*
 * The flags in struct stack_key, and their mask, of the stacks of the interval that was taken last.
 */
#define BPF_HISTOGRAMS_TURN_MASK STACK_SLOT(1U)
uint32_t bpf_histograms_stack_flags(const struct bpf_histograms *histograms);

/*
 * Ends an interval and reads it, which waits for an RCU grace period (some ms). *series: those that
 * have values, most time first, valid until the next call. No value is lost between two intervals.
 * 0 or -errno
 */
int bpf_histograms_take(struct bpf_histograms *histograms, struct series **series, size_t *nr);

#endif
