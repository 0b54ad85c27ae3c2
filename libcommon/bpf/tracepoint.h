/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs on tracepoints that have no BTF arguments, as those of one system call. */
#ifndef EHPERF_BPF_TRACEPOINT_H
#define EHPERF_BPF_TRACEPOINT_H

#include <stdbool.h>

struct bpf_link;
struct bpf_program;

/* whether this kernel has the tracepoint of the program's section; false too where tracefs cannot be read */
bool bpf_tracepoint_exists(const struct bpf_program *program);

/*
 * Attaches a program whose section is "tp/GROUP/NAME". Needs no mounted tracefs: where there is none, one is
 * mounted that nobody else sees, for as long as it takes. NULL: errno says why
 */
struct bpf_link *bpf_tracepoint_attach(struct bpf_program *program);

#endif
