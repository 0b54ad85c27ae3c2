/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker's opener: a process that has the rights to read all files and all memory, and parses nothing. It opens what the worker
 * asks for by base/opening.h, and passes the descriptors. Opening may block, as in a FUSE server: so each worker has one.
 */
#ifndef EHPERF_PROCESS_OPENER_H
#define EHPERF_PROCESS_OPENER_H

/* In a new child process: serves the worker at the other end of the socket until that or the tool ends. */
_Noreturn void opener_run(int socket);

#endif
