/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening, loading and attaching BPF programs. If the kernel refuses, the tool ends with two lines:
 * the cause, and what to do about it.
 */
#ifndef EHPERF_RUN_KERNEL_H
#define EHPERF_RUN_KERNEL_H

#include <stdbool.h>

#include "kernel/links.h"
#include "report/losses.h"

struct bpf_object;
struct bpf_object_skeleton;

/* To be called before a skeleton is opened; verbose: libbpf's own messages go to stderr. */
void kernel_init(bool verbose);

/*
 * Passes on what a skeleton's open() returned, unless it is NULL: then the tool ends with a
 * message.
 */
#define kernel_opened(skeleton)                            \
	({                                                 \
		__typeof__(skeleton) opened_ = (skeleton); \
		if (!opened_)                              \
			kernel_refused_open();             \
		opened_;                                   \
	})
void kernel_refused_open(void) __attribute__((noreturn));
/* Checks what a skeleton's load() returned, and that the programs' variables are there. */
void kernel_loaded(const struct bpf_object_skeleton *skeleton, int error);

/*
 * kernel_attach(links, to, program, ...): attaches the programs in this order, except those that
 * were not loaded
 */
#define kernel_attach(links, to, ...) \
	kernel_attach_list(links, to, (struct bpf_program *const[]){ __VA_ARGS__, NULL })
void kernel_attach_list(struct links *links, const char *to, struct bpf_program *const programs[]);

/*
 * A row for the tool's table of losses: the events that its programs on tracepoints missed. Call it
 * before detaching.
 */
struct loss kernel_missed(const struct links *links);

/* Says how many instructions of each loaded program the verifier has looked at, for -v. */
void kernel_say_verified(struct bpf_object *object);

/*
 * error: 0 or -errno. If it is not 0, the tool ends with "cannot DOING: CAUSE" and what to do about
 * it.
 */
void kernel_check(int error, const char *doing);

/* Sets a constant of an object that is not loaded yet. */
void kernel_set(struct bpf_object *object, const char *constant, const void *value, size_t size);

#endif
