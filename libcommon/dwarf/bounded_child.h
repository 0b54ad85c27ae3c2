/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child process for code that reads what a measured program's author has written: it may neither
 * take long, nor grow, nor reach anything. It answers requests, one message for one message.
 */
#ifndef EHPERF_DWARF_BOUNDED_CHILD_H
#define EHPERF_DWARF_BOUNDED_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct bounded_child {
	pid_t pid; /* 0: none */
	int fd;
};

struct bounded_work {
	size_t max_bytes; /* of memory, on top of what the tool has */
	/* Called in the child before its system calls are limited. May be NULL */
	void (*begin)(void);
	unsigned reply_ms; /* a child that has not answered after this long hangs */
	/*
	 * Called in the child, which has no rights, for prepare_ms of CPU time. May be NULL. It has
	 * the files below as its descriptors from 1 on, and may still open others, for which it
	 * needs no rights. What it has read is all there is for the answers, which may take
	 * answers_bytes more.
	 */
	void (*prepare)(void *arg);
	unsigned prepare_ms;
	const int *files;
	size_t nr_files;
	size_t answers_bytes;
	/*
	 * Called for each request, which is followed by a NUL: the size of the reply that it has
	 * written
	 */
	size_t (*answer)(void *arg, const char *request, size_t size, char *reply, size_t max);
	unsigned answer_ms; /* of CPU time, for each */
	void *arg;
};

#define BOUNDED_MAX_REQUEST 16384
#define BOUNDED_MAX_REPLY   (128 << 10)

/* True: it runs, or has been running */
bool bounded_child_start(struct bounded_child *child, const struct bounded_work *work);
/* From now on, one that has not answered after this long hangs. */
void bounded_child_wait(const struct bounded_child *child, unsigned ms);
/* the reply's bytes; 0: the child is gone, or hangs */
size_t bounded_child_ask(const struct bounded_child *child, const void *request, size_t size,
			 void *reply, size_t max);
void bounded_child_stop(struct bounded_child *child);

#endif
