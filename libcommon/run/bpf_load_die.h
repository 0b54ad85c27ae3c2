/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_BPF_LOAD_DIE_H
#define EHPERF_BPF_LOAD_DIE_H

/* Ends the program: "cannot DOING: cause" and what to do about it, for an error of opening, loading or attaching. */
void bpf_load_die(const char *doing, int error) __attribute__((noreturn));

#endif
