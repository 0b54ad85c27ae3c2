/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feeds the unwinder in the kernel (bpf/unwind.bpf.h): which processes there are, what each has mapped,
 * and the tables of the files mapped.
 */
#ifndef EHPERF_BPF_UNWIND_H
#define EHPERF_BPF_UNWIND_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "modules.h"

struct unwinder;

struct unwinder_counts {
	uint64_t processes, rows, table_bytes, slab_bytes;
	uint64_t files_without_table;
	uint64_t refreshes;
};

/*
 * For a loaded object that includes bpf/unwind.bpf.h. Lists the tasks once, so that PIDs mean the
 * caller's from now on. 0 or -errno.
 */
int unwinder_new(struct unwinder **unwinder, struct bpf_object *object, struct modules *modules);
void unwinder_free(struct unwinder *unwinder);

/*
 * Reads what process pid has mapped and publishes it, with the tables of files not seen before. Cheap
 * when nothing changed. 0, -ESRCH (no such process), or -errno.
 */
int unwinder_refresh(struct unwinder *unwinder, pid_t pid);

/* the same for every process there is; those that vanish meanwhile are no error */
int unwinder_refresh_all(struct unwinder *unwinder);

/* the process is gone: its handle is taken back */
void unwinder_forget(struct unwinder *unwinder, pid_t pid);

struct unwinder_counts unwinder_counts(const struct unwinder *unwinder);

#endif
