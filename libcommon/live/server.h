/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The view in a browser (--serve): the tool's side. A child process has the network's sockets
 * (live/server_child.h). It gets ready documents from the tool, keeps the last of them, and passes
 * them on to whoever looks. It tells the tool whether anybody looks, and cannot ask for anything.
 * So the tool's work is the same for any number of viewers, and it waits for none.
 */
#ifndef EHPERF_LIVE_SERVER_H
#define EHPERF_LIVE_SERVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/server_child.h"

struct server;

/* where to listen */
struct server_address {
	int family; /* 0: on this machine only, 127.0.0.1 and ::1 */
	union {
		struct in_addr v4;
		struct in6_addr v6;
	} of;
	uint16_t port; /* 0: one that is free */
};

/* "PORT" or "ADDRESS:PORT", with brackets around an address of IPv6. False: it is neither */
bool server_parse_address(const char *text, struct server_address *address);
/* Can it be reached from this machine only? */
bool server_is_local(const struct server_address *address);

/*
 * Starts the child, which keeps about max_bytes of documents. 0; -ENOSYS: libmicrohttpd cannot be
 * loaded; -errno. To be called while the tool has read nothing of others, because the child has a
 * copy of the tool's memory.
 */
int server_new(struct server **server, const struct server_address *address, size_t max_bytes);
/* with the secret part, which allows to look */
const char *server_url(const struct server *server);
uint16_t server_port(const struct server *server);

/* Did anybody look at server_work()'s last call? */
bool server_is_watched(const struct server *server);
/* Has the child taken all that was sent? False if it is gone */
bool server_is_ready(const struct server *server);
/* Has it taken all but one document at most? */
bool server_has_room(const struct server *server);
/*
 * Sends a document, JSON without line ends; does not wait. 0 or -errno: the child is gone, and was
 * told to end. Then, and afterwards, nothing is sent.
 */
int server_send(struct server *server, enum document_kind kind, const char *json, size_t bytes);
/* Sends what had no room yet; to be called several times a second. 0 or -errno as above */
int server_work(struct server *server);

/* Lets the child pass on what it has, for half a second at most, and ends it. NULL is allowed */
void server_free(struct server *server);

#endif
