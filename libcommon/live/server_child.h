/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The child process of live/server.h: an HTTP server for browsers. It sends the page, and the
 * documents of the tool as server-sent events. A request can only read. It must have the token in
 * its path, and an address or localhost as its Host, so that pages of other hosts, whatever their
 * names lead to, see nothing.
 *
 * The child's rights are none, its system calls those of sockets and memory. Requests are limited
 * in size, number and time. A viewer that is slow misses groups of documents (live/documents.h);
 * one that takes nothing is dropped.
 */
#ifndef EHPERF_LIVE_SERVER_CHILD_H
#define EHPERF_LIVE_SERVER_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum document_kind {
	DOCUMENT_START,  /* what is measured: each viewer gets it first */
	DOCUMENT_BEGINS, /* a slice that needs none before it */
	DOCUMENT_SLICE,  /* another slice */
	DOCUMENT_END,    /* the last one */
	NR_DOCUMENT_KINDS
};
extern const char *const document_events[NR_DOCUMENT_KINDS]; /* the names of the events */

/* what comes before each document on the tool's socket */
struct document_head {
	uint32_t kind, bytes;
};

#define MAX_DOCUMENT_BYTES (16U << 20)
#define TOKEN_LETTERS      32
#define MAX_LISTENERS      2

struct server_child {
	int tool;                     /* the socket to the tool */
	int listeners[MAX_LISTENERS]; /* -1: none */
	char token[TOKEN_LETTERS + 1];
	size_t max_bytes; /* of kept documents */
};

/*
 * Writes a byte to the tool once it serves, and whenever that changes: does anybody look (1) or not
 * (0)? It ends with the tool.
 */
_Noreturn void server_child_run(const struct server_child *child);

/* What the child does to itself before it reads anything. */
void server_child_limit(size_t max_bytes, pid_t parent);

#endif
