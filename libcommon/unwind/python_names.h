/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Python functions of processes, numbered. They are read when a stack that has them arrives, because a
 * process may end, and a function be thrown away, before anybody wants the names.
 */
#ifndef EHPERF_UNWIND_PYTHON_NAMES_H
#define EHPERF_UNWIND_PYTHON_NAMES_H

#include <stdint.h>
#include <sys/types.h>

#include "process/python_code.h"
#include "unwind/foreign.h"

struct python_names;

/* NULL: no memory */
struct python_names *python_names_new(void);
void python_names_free(struct python_names *names);

/*
 * Makes one word of the two that each Python frame takes (python_abi.h), reads the functions that are not
 * known yet, and puts their numbers into the frames: 0 where a function could not be read, or was thrown
 * away before that. objects may be NULL: then only what is known already gets its number. What Python
 * itself does not show is left out. Returns how many frames there are now.
 */
uint32_t python_names_see(struct python_names *names, struct foreign *foreign, pid_t pid,
			  const struct python_objects *objects, uint64_t *frames, uint32_t nr);

/* NULL: not known; valid until the next python_names_see() */
const struct python_code *python_names_get(const struct python_names *names, uint64_t number);

#endif
