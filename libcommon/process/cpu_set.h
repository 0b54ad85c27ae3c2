/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of CPUs as the kernel and perf write them: "0,2-3". */
#ifndef EHPERF_PROCESS_CPU_SET_H
#define EHPERF_PROCESS_CPU_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu_set {
	bool *has; /* has[cpu], cpu < nr */
	size_t nr, room;
};

/* 0, -EINVAL, -ENOMEM */
int cpu_set_parse(struct cpu_set *set, const char *list);
/* the CPUs that are online; 0 or -errno */
int cpu_set_online(struct cpu_set *set);
/* removes the CPUs that are not in kept from set */
void cpu_set_keep(struct cpu_set *set, const struct cpu_set *kept);
void cpu_set_free(struct cpu_set *set);

/* the CPUs that are online, watched for changes */
#define CPU_WATCH_BYTES 4096
struct cpu_watch {
	int fd;
	int events; /* a socket with the kernel's messages; -1: not available */
	char last[CPU_WATCH_BYTES];
	uint64_t looked_ns, before_ns; /* the last look, and the one before: CLOCK_MONOTONIC */
};

/* 0 or -errno */
int cpu_watch_open(struct cpu_watch *watch);
/*
 * 1: the CPUs have changed since the last look, or since opening, and are *online now; 0: they have
 * not, or the last look was a moment ago: looking takes system calls. Or -errno. A CPU that went
 * offline and has come back meanwhile is left out once, because events on it have ended
 */
int cpu_watch_changed(struct cpu_watch *watch, struct cpu_set *online);
void cpu_watch_close(struct cpu_watch *watch);

static inline bool cpu_set_has(const struct cpu_set *set, size_t cpu)
{
	return cpu < set->nr && set->has[cpu];
}

#endif
