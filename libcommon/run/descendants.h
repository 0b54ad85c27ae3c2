/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that are measured with what they fork: listed_pids of bpf/task.bpf.h. An error ends
 * the tool.
 */
#ifndef EHPERF_RUN_DESCENDANTS_H
#define EHPERF_RUN_DESCENDANTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_object;
struct command;

/*
 * How many of them have not ended; *pids, if pids is not NULL, lists them, and is the caller's to
 * free. What is forked during the call may be missed: if its parent has ended by then, the next
 * call finds it.
 */
size_t descendants_alive(const struct bpf_object *object, uint32_t **pids);

/*
 * Sends SIGTERM to all of them, once: to the command first, because it would end by itself when its
 * children have. What they fork afterwards, to clean up, gets none.
 */
void descendants_terminate(const struct bpf_object *object, const struct command *command);

/* Waits a second at most for their end, and prints which have not ended. */
void descendants_say_left(const struct bpf_object *object);

#endif
