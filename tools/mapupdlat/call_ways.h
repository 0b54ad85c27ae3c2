/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of mapupdlat's programs watch the calls, on this kernel. */
#ifndef EHPERF_MAPUPDLAT_CALL_WAYS_H
#define EHPERF_MAPUPDLAT_CALL_WAYS_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;
struct bpf_program;

/* Selects the programs that this kernel needs, in an object that is not loaded yet. */
void call_ways_choose(struct bpf_object *object);

/*
 * All programs, then NULL. Programs that see returns come first: if they are attached first, each
 * call that is seen to begin is also seen to return.
 */
#define NR_CALL_PROGRAMS 8
void call_ways_programs(const struct bpf_object *object,
			struct bpf_program *programs[NR_CALL_PROGRAMS + 1]);

/*
 * An upper limit of the calls of which neither entry nor return was seen, because programs were
 * skipped.
 */
uint64_t call_ways_not_seen(const struct bpf_object *object);

/* Does this kernel not count them? Before 6.7, those on a system call's own tracepoints. */
bool call_ways_uncounted(const struct bpf_object *object);

#endif
