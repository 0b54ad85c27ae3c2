/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Python functions of processes, numbered. They are asked for when a stack with them arrives,
 * because a process may end, or free a function, before the report needs the names. The answers
 * come later.
 */
#ifndef EHPERF_RUNTIMES_PYTHON_NAMES_H
#define EHPERF_RUNTIMES_PYTHON_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtimes/python/python_code.h"
#include "unwind/foreign.h"

struct python_names;

/* user_of: whose a process is, 0: root's; asked once for each process. NULL: no memory */
struct python_names *python_names_new(uint32_t (*user_of)(pid_t pid));
void python_names_free(struct python_names *names);

/*
 * Replaces the two words of each Python frame (python_abi.h) by one, with the function's number; 0:
 * there is no room for more functions. Functions that are not known are asked for later. objects:
 * how to read them; NULL: it is not known. Returns the number of frames now.
 */
uint32_t python_names_see(struct python_names *names, pid_t pid,
			  const struct python_objects *objects, uint64_t *frames, uint32_t nr);
/* Keeps the function with this number. */
void python_names_use(struct python_names *names, uint64_t number);
/*
 * Forgets the functions that were neither seen nor used since the last call. Their numbers are not
 * used again.
 */
void python_names_forget(struct python_names *names);

/* Takes the answers that have arrived, and asks for the functions that were seen since. */
void python_names_follow(struct python_names *names, struct foreign *foreign);
/* Waits for all answers, at most this long. */
void python_names_settle(struct python_names *names, struct foreign *foreign, int ms);

/*
 * NULL: the function could not be read, was freed before that, or there is no answer. Valid until
 * python_names_forget()
 */
const struct python_code *python_names_get(const struct python_names *names, uint64_t number);
/* Is it a function of the interpreter's own, which Python does not show? */
bool python_names_is_hidden(const struct python_code *code);

#endif
