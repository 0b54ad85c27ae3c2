/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tool and its workers tell each other through their sockets. */
#ifndef EHPERF_PROCESS_WORKER_MESSAGE_H
#define EHPERF_PROCESS_WORKER_MESSAGE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#define WORKER_MORE 14

/*
 * The file or memory that a job is about. An opener, a worker with the rights to read all files and
 * all processes, opens it and parses nothing. Who parses it has no rights, and nothing else open.
 */
struct worker_file {
	/*
	 * or -errno; while it is sent, it is a descriptor of its own. WORKER_KEPT: the one that is
	 * kept
	 */
	int fd;
	bool own;  /* mapped_file_open() */
	bool keep; /* the worker is to keep it for its next job */
	/* further files that the job may need; what each is, who opens and who parses agree on */
	uint8_t nr_more;
	struct worker_other_file {
		int fd;
		uint8_t what;
	} more[WORKER_MORE];
};
#define WORKER_KEPT -EALREADY

/* Adds a further file, if there is one (fd is not negative); without room, it is closed. */
void worker_file_add(struct worker_file *file, uint8_t what, int fd);
/*
 * Takes the first further file of this kind, which is the caller's from now on; -1: there is none
 */
int worker_file_take(struct worker_file *file, uint8_t what);
/* Closes all; afterwards, there is no file. */
void worker_file_close(struct worker_file *file);

struct worker_message {
	uint64_t bytes; /* of the request, or of the answer; they are in the area */
	struct worker_file file;
};

/*
 * The files stay the caller's. flags: MSG_DONTWAIT, or 0. False: the other side has gone, or does
 * not take it now
 */
bool worker_message_send(int socket, const struct worker_message *message, int flags);
/*
 * takes_file: descriptors that come are the caller's; else none comes, and there is no file. 0;
 * -EAGAIN: with MSG_DONTWAIT, nothing is there; -ECHILD: the other side has gone, or has sent
 * something else
 */
int worker_message_receive(int socket, struct worker_message *message, bool takes_file, int flags);

#endif
