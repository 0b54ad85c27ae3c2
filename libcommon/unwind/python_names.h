/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Python functions of processes, numbered. They are asked for when a stack that has them arrives, because a process may end,
 * and a function be thrown away, before anybody wants the names; the answers come later.
 */
#ifndef EHPERF_UNWIND_PYTHON_NAMES_H
#define EHPERF_UNWIND_PYTHON_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/python_code.h"
#include "unwind/foreign.h"

struct python_names;

/* NULL: no memory */
struct python_names *python_names_new(void);
void python_names_free(struct python_names *names);

/*
 * Makes one word of the two that each Python frame takes (python_abi.h), numbers the functions and puts their numbers into the
 * frames, 0 where there is no room for more, and asks for those that are not known. objects may be NULL: then nothing is asked
 * for. Returns how many frames there are now.
 */
uint32_t python_names_see(struct python_names *names, struct foreign *foreign, pid_t pid,
			  const struct python_objects *objects, uint64_t *frames, uint32_t nr);

/* Takes the answers that are there, and asks for what was seen last. */
void python_names_follow(struct python_names *names, struct foreign *foreign);
/* Waits for all answers, so long at most. */
void python_names_settle(struct python_names *names, struct foreign *foreign, int ms);

/* NULL: it could not be read, was thrown away before that, or there is no answer; valid until the next python_names_see() */
const struct python_code *python_names_get(const struct python_names *names, uint64_t number);
/* It is the interpreter's own, which Python does not show. */
bool python_names_is_hidden(const struct python_code *code);

#endif
