/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of all runtimes, and the names that they find. */
#ifndef EHPERF_RUNTIMES_RUNTIMES_H
#define EHPERF_RUNTIMES_RUNTIMES_H

#include "unwind/runtime.h"

extern const struct runtime *const all_runtimes[]; /* up to NULL */

/* by the upper bits of a user frame; NULL: it is none of a runtime */
const struct runtime *runtime_of_frame(uint64_t frame);
/* by its name in JSON; NULL: none is known */
const struct runtime *runtime_named(const char *name);

/* the names that each of them has */
struct runtime_names;

/* NULL: no memory */
struct runtime_names *runtime_names_new(void);
void runtime_names_free(struct runtime_names *names);
/* Calls .see() of each. processes: in the order of the table; NULL: the process is not known */
uint32_t runtime_names_see(struct runtime_names *names, const struct runtime_process *processes,
			   struct foreign *foreign, pid_t pid, uint64_t *frames, uint32_t nr);
/* Call .use() for frames that .see() has made; and then .forget() of each. */
void runtime_names_use(void *names, const uint64_t *frames, uint32_t nr);
void runtime_names_forget(void *names);
/* Call .follow(), or .settle(), of each. */
void runtime_names_follow(struct runtime_names *names, struct foreign *foreign);
void runtime_names_settle(struct runtime_names *names, struct foreign *foreign, int ms);
/* what .names_new() of the i-th of all_runtimes has made */
const void *runtime_names_of(const struct runtime_names *names, size_t i);
/* .find() of the frame's runtime */
size_t runtime_names_find(const struct runtime_names *names, uint64_t frame,
			  struct runtime_function *functions, size_t max);

#endif
