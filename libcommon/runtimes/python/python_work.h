/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A worker's part of python_names.h: reads some functions of a process. */
#ifndef EHPERF_RUNTIMES_PYTHON_WORK_H
#define EHPERF_RUNTIMES_PYTHON_WORK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtimes/python/python_code.h"

#define MAX_PYTHON_FUNCTIONS 32

/* as python_code_read() takes it */
struct python_function {
	uint64_t address, identity;
};

struct python_question {
	pid_t pid;
	uint32_t nr;
	struct python_objects objects;
	struct python_function functions[MAX_PYTHON_FUNCTIONS];
};

/*
 * Answers a struct python_question, as a foreign_fn. The answer: for each function a uint32_t, how
 * many bytes of python_code_write() follow; 0: it could not be read
 */
int python_work(const void *question, const struct process_memory *memory, void *answer,
		size_t room, size_t *bytes);
/*
 * The functions in an answer, which may be anything. The caller owns codes[]; what could not be
 * read is {}
 */
void python_work_take(const void *answer, size_t bytes,
		      struct python_code codes[MAX_PYTHON_FUNCTIONS]);

#endif
