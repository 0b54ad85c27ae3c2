/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attaches programs to tracepoints that have no BTF arguments, such as those of a single system call. */
#ifndef EHPERF_BPF_TRACEPOINT_H
#define EHPERF_BPF_TRACEPOINT_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;

/*
 * whether this kernel has the tracepoint that the program's section names; false also if tracefs cannot be
 * read
 */
bool bpf_tracepoint_exists(const struct bpf_program *program);

/*
 * Attaches a program whose section is "tp/GROUP/NAME". If tracefs is not mounted, makes a private, detached
 * mount for the moment. NULL: errno says why
 */
struct bpf_link *bpf_tracepoint_attach(struct bpf_program *program);
/* bpf_tracepoint_attach() for the tracepoint with this ID (tracefs_tracepoint_id()); the program gets the cookie. */
struct bpf_link *bpf_tracepoint_attach_id(struct bpf_program *program, int id, uint64_t cookie);

#endif
