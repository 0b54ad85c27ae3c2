/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is asked of the kernel: opening, loading and attaching BPF programs. Where it refuses, the program ends with
 * a line of cause and a line of cure.
 */
#ifndef EHPERF_RUN_KERNEL_H
#define EHPERF_RUN_KERNEL_H

#include <stdbool.h>

#include "bpf/links.h"
#include "report/losses.h"

struct bpf_object;

/* To be called before a skeleton is opened; verbose: libbpf's own messages go to stderr. */
void kernel_init(bool verbose);

/* what a skeleton's open() returned: itself, or, where it is NULL, the end */
#define kernel_opened(skeleton) ({ __typeof__(skeleton) opened_ = (skeleton); if (!opened_) kernel_refused_open(); opened_; })
void kernel_refused_open(void) __attribute__((noreturn));
/* what its load() returned */
void kernel_loaded(int error);

/* kernel_attach(links, to, program, ...): attaches programs in this order; those that were not loaded are left out */
#define kernel_attach(links, to, ...) \
	kernel_attach_list(links, to, (struct bpf_program *const[]){ __VA_ARGS__, NULL })
void kernel_attach_list(struct links *links, const char *to, struct bpf_program *const programs[]);

/*
 * The row of a tool's table of losses for what its programs on tracepoints did not see, for links that are attached
 */
struct loss kernel_missed(const struct links *links);

/* The program ends if there is an error, 0 or -errno: "cannot DOING: cause", and what to do about it. */
void kernel_check(int error, const char *doing);

/* a constant of an object that is not loaded yet */
void kernel_set(struct bpf_object *object, const char *constant, const void *value, size_t size);

#endif
