// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"

#define START_MS     10000 /* for the child to load the library, on a slow machine */
#define END_MS       500
#define SOCKET_BYTES (4 << 20) /* between the tool and the child */
#define PORTS        16        /* free ones that are tried */
#define BACKLOG      64

struct server {
	pid_t pid;
	int fd; /* -1: the child is gone */
	uint16_t port;
	char url[128];
	char *queue; /* what the socket has no room for: queue[sent] up to queue[queued] */
	size_t queued, sent, room;
	uint64_t next; /* the number of the next slice */
	char watched;  /* what the child has said last */
};

/* ---- addresses ---- */

bool server_parse_address(const char *text, struct server_address *address)
{
	struct server_address parsed = {};
	const char *colon = strrchr(text, ':'), *digits = colon ? colon + 1 : text;
	char *end, host[INET6_ADDRSTRLEN + 2];
	size_t bytes = colon ? colon - text : 0;
	unsigned long port = strtoul(digits, &end, 10);

	if (*digits < '0' || *digits > '9' || *end || port > UINT16_MAX || bytes >= sizeof(host))
		return false;
	parsed.port = port;
	memcpy(host, text, bytes);
	host[bytes] = 0;
	if (bytes > 2 && host[0] == '[' && host[bytes - 1] == ']') {
		host[bytes - 1] = 0;
		parsed.family = AF_INET6;
	} else if (colon) {
		parsed.family = AF_INET;
	}
	if (parsed.family &&
	    inet_pton(parsed.family, host + (parsed.family == AF_INET6), &parsed.of) != 1)
		return false;
	*address = parsed;
	return true;
}

bool server_is_local(const struct server_address *address)
{
	if (address->family == AF_INET)
		return ntohl(address->of.v4.s_addr) >> 24 == 127;
	return !address->family || IN6_IS_ADDR_LOOPBACK(&address->of.v6);
}

/* a socket that listens there, or -errno; *port: the one that it has got */
static int listener(const struct server_address *address, uint16_t *port)
{
	bool is_v4 = address->family == AF_INET;
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_addr = address->of.v4,
				  .sin_port = htons(*port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_addr = address->of.v6,
				   .sin6_port = htons(*port) };
	struct sockaddr *name = is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	socklen_t bytes = is_v4 ? sizeof(v4) : sizeof(v6);
	int fd = socket(address->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1,
	    error;

	if (fd < 0)
		return -errno;
	/* after a run, its connections may still be known to the kernel */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!is_v4)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (!bind(fd, name, bytes) && !listen(fd, BACKLOG) && !getsockname(fd, name, &bytes)) {
		*port = ntohs(is_v4 ? v4.sin_port : v6.sin6_port);
		return fd;
	}
	error = errno;
	close(fd);
	return -error;
}

/* Listens on 127.0.0.1 and, where there is IPv6, on the same port of ::1. 0 or -errno */
static int listen_here(int listeners[MAX_LISTENERS], uint16_t *port)
{
	struct server_address v4 = { .family = AF_INET, .of.v4.s_addr = htonl(INADDR_LOOPBACK) };
	struct server_address v6 = { .family = AF_INET6, .of.v6 = IN6ADDR_LOOPBACK_INIT };

	listeners[0] = listener(&v4, port);
	if (listeners[0] < 0)
		return listeners[0];
	listeners[1] = listener(&v6, port);
	if (listeners[1] != -EADDRINUSE && listeners[1] != -EACCES)
		return 0;
	close(listeners[0]);
	return listeners[1];
}

static int listen_at(const struct server_address *address, int listeners[MAX_LISTENERS],
		     uint16_t *port)
{
	int error;

	listeners[1] = -1;
	*port = address->port;
	if (address->family) {
		listeners[0] = listener(address, port);
		return listeners[0] < 0 ? listeners[0] : 0;
	}
	for (int tries = 0; (error = listen_here(listeners, port)) == -EADDRINUSE &&
			    !address->port && tries < PORTS;
	     tries++)
		*port = 0;
	return error;
}

static void set_url(struct server *s, const struct server_address *address, const char *token)
{
	char host[INET6_ADDRSTRLEN] = "127.0.0.1";
	bool is_v6 = address->family == AF_INET6;

	if (address->family)
		inet_ntop(address->family, &address->of, host, sizeof(host));
	snprintf(s->url, sizeof(s->url), "http://%s%s%s:%u/%s/", is_v6 ? "[" : "", host,
		 is_v6 ? "]" : "", s->port, token);
}

const char *server_url(const struct server *s)
{
	return s->url;
}

uint16_t server_port(const struct server *s)
{
	return s->port;
}

/* ---- beginning and end ---- */

/* 0 or -errno */
static int make_token(char token[TOKEN_LETTERS + 1])
{
	uint8_t bytes[TOKEN_LETTERS / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -errno;
	for (size_t i = 0; i < sizeof(bytes); i++)
		sprintf(token + 2 * i, "%02x", bytes[i]);
	return 0;
}

static void close_all(const int *fds, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/*
 * Reads what the child says: is anybody watching? False: it has said nothing more. Who has taken it
 * over may say something without end
 */
static bool hear(struct server *s)
{
	char watched[64];
	ssize_t nr = recv(s->fd, watched, sizeof(watched), MSG_DONTWAIT);

	if (nr <= 0)
		return false;
	s->watched = watched[nr - 1];
	return true;
}

/* Waits until the child serves. 0 or -ENOSYS */
static int await(struct server *s)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };
	int nr;

	do
		nr = poll(&fd, 1, START_MS);
	while (nr < 0 && errno == EINTR);
	return nr == 1 && hear(s) ? 0 : -ENOSYS;
}

static int start_child(struct server *s, struct server_child *child)
{
	int ends[2], bytes = SOCKET_BYTES;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	/* so that a document has room at once; the second call needs no right, but gives less */
	if (setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	s->fd = ends[0];
	child->tool = ends[1];
	s->pid = fork();
	if (!s->pid)
		server_child_run(child);
	close(ends[1]);
	return s->pid < 0 ? -errno : await(s);
}

int server_new(struct server **server, const struct server_address *address, size_t max_bytes)
{
	struct server_child child = { .max_bytes = max_bytes };
	struct server *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return -ENOMEM;
	*s = (struct server){ .pid = -1, .fd = -1 };
	error = make_token(child.token);
	if (!error)
		error = listen_at(address, child.listeners, &s->port);
	if (!error) {
		set_url(s, address, child.token);
		error = start_child(s, &child);
		close_all(child.listeners, MAX_LISTENERS);
	}
	if (error)
		server_free(s);
	else
		*server = s;
	return error;
}

static void end_child(struct server *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	s->pid = -1;
}

/* Waits until then for the child to read or write. False: it has not, or the time is over */
static bool await_child(const struct server *s, short events, uint64_t until_ns)
{
	uint64_t now = clock_ns();
	int ms = now < until_ns ? (until_ns - now) / 1000000 : 0;

	return ms && poll(&(struct pollfd){ .fd = s->fd, .events = events }, 1, ms) > 0;
}

void server_free(struct server *s)
{
	uint64_t until_ns = clock_ns() + END_MS * 1000000ULL;

	if (!s)
		return;
	while (s->fd >= 0 && s->sent < s->queued && await_child(s, POLLOUT, until_ns))
		server_work(s);
	/* it closes its end once all viewers have all */
	if (server_is_ready(s) && !shutdown(s->fd, SHUT_WR))
		while (await_child(s, POLLIN, until_ns) && hear(s))
			;
	end_child(s);
	free(s->queue);
	free(s);
}

/* ---- sending ---- */

bool server_is_ready(const struct server *s)
{
	return s->fd >= 0 && s->sent == s->queued;
}

bool server_has_room(const struct server *s)
{
	return s->fd >= 0 && s->queued - s->sent <= MAX_DOCUMENT_BYTES;
}

bool server_is_watched(const struct server *s)
{
	return s->watched;
}

int server_work(struct server *s)
{
	if (s->fd >= 0)
		hear(s);
	while (s->fd >= 0 && s->sent < s->queued) {
		ssize_t nr = send(s->fd, s->queue + s->sent, s->queued - s->sent,
				  MSG_DONTWAIT | MSG_NOSIGNAL);

		if (nr < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS))
			return 0;
		if (nr < 0) {
			int error = -errno;

			end_child(s);
			return error;
		}
		s->sent += nr;
	}
	return 0;
}

static void put(struct server *s, const void *bytes, size_t nr)
{
	memcpy(s->queue + s->queued, bytes, nr);
	s->queued += nr;
}

int server_send(struct server *s, enum document_kind kind, const char *json, size_t bytes)
{
	char before[64];
	bool is_slice = kind == DOCUMENT_BEGINS || kind == DOCUMENT_SLICE;
	int nr = 0;
	struct document_head head = { .kind = kind };

	if (s->fd < 0)
		return 0;
	if (bytes > MAX_DOCUMENT_BYTES - sizeof(before))
		return -E2BIG;
	if (is_slice)
		nr = sprintf(before, "id: %llu\n", (unsigned long long)s->next++);
	nr += sprintf(before + nr, "event: %s\ndata: ", document_events[kind]);
	head.bytes = nr + bytes + 2;
	if (s->sent)
		memmove(s->queue, s->queue + s->sent, s->queued - s->sent);
	s->queued -= s->sent;
	s->sent = 0;
	if (array_reserve(&s->queue, &s->room, s->queued + sizeof(head) + head.bytes))
		return -ENOMEM;
	put(s, &head, sizeof(head));
	put(s, before, nr);
	put(s, json, bytes);
	put(s, "\n\n", 2);
	return server_work(s);
}
