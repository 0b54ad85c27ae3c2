// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/server_child.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child_limits.h"
#include "base/clock.h"
#include "live/documents.h"
#include "page/controls.css.h"
#include "page/flame-html.css.h"
#include "page/flame-html.js.h"
#include "page/flame-svg.js.h"
#include "page/flame.css.h"
#include "page/flame.js.h"
#include "page/live-formats.js.h"
#include "page/live-lanes.js.h"
#include "page/live.css.h"
#include "page/live.js.h"

#define KEEP_NS 300000000000 /* documents */
/* connections at a time; of more, the oldest one that sees nothing is dropped */
#define MAX_CLIENTS   256
#define CLIENT_MEMORY 16384 /* of a connection, and so of a request */
/* from a connection to the end of its response, but for a stream's */
#define REQUEST_NS  30000000000
#define STALLED_S   30U         /* a connection that takes nothing for so long is dropped */
#define SLOW_NS     20000000000 /* a viewer who has not had all for so long misses groups */
#define CHUNK_BYTES 8192
#define SEND_BYTES  65536
#define READ_BYTES  (1 << 20) /* from the tool, between looks at the viewers */
#define LOOK_MS     1000
#define MORE_BYTES  (64 << 20) /* of memory, beside the documents */

const char *const document_events[NR_DOCUMENT_KINDS] = {
	[DOCUMENT_START] = "start",
	[DOCUMENT_BEGINS] = "slice",
	[DOCUMENT_SLICE] = "slice",
	[DOCUMENT_END] = "end",
};

/* not linked, because it brings GnuTLS and nine more libraries into every start */
#define FUNCTIONS(of)                                                                           \
	of(start_daemon) of(run) of(get_timeout) of(get_daemon_info) of(add_connection)         \
		of(get_connection_info) of(lookup_connection_value)                             \
			of(create_response_from_buffer) of(create_response_from_callback)       \
				of(add_response_header) of(queue_response) of(destroy_response) \
					of(suspend_connection) of(resume_connection)
#define POINTER(name) __typeof__(&MHD_##name) name;
static struct {
	FUNCTIONS(POINTER)
} mhd;

/* a connection */
struct client {
	struct client *before, *after; /* in order of age */
	struct MHD_Connection *connection;
	int fd;
	uint64_t since_ns;
	struct viewer *viewer; /* NULL: it looks at no stream */
};

/* who looks at a stream */
struct viewer {
	struct server *server;
	struct client *client;
	bool waits;    /* its connection is suspended */
	bool started;  /* it has got the start */
	uint64_t next; /* the number of the next document, of which it has `sent` bytes */
	size_t sent;
	uint64_t had_all_ns;
};

#define SCRIPT "text/javascript; charset=utf-8"
#define STYLE  "text/css; charset=utf-8"

/* by their names behind the token */
static const struct {
	const char *name, *type, *text;
} resources[] = {
	{ "", "text/html; charset=utf-8",
	  "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
	  "<title>ehperf</title>\n<link rel=\"icon\" href=\"data:,\">\n"
	  "<link rel=\"stylesheet\" href=\"flame.css\">\n<link rel=\"stylesheet\" href=\"controls.css\">\n"
	  "<link rel=\"stylesheet\" href=\"flame-html.css\">\n<link rel=\"stylesheet\" href=\"live.css\">\n"
	  "<script defer src=\"flame.js\"></script>\n<script defer src=\"flame-html.js\"></script>\n"
	  "<script defer src=\"live-formats.js\"></script>\n<script defer src=\"live-lanes.js\"></script>\n"
	  "<script defer src=\"live.js\"></script>\n"
	  "</head>\n<body>\n<noscript>This page needs JavaScript.</noscript>\n</body>\n</html>\n" },
	{ "flame.css", STYLE, page_flame_css },
	{ "controls.css", STYLE, page_controls_css },
	{ "flame-html.css", STYLE, page_flame_html_css },
	{ "live.css", STYLE, page_live_css },
	{ "flame.js", SCRIPT, page_flame_js },
	{ "flame-html.js", SCRIPT, page_flame_html_js },
	{ "live-formats.js", SCRIPT, page_live_formats_js },
	{ "live-lanes.js", SCRIPT, page_live_lanes_js },
	{ "live.js", SCRIPT, page_live_js },
	/* for files that the page writes */
	{ "flame-svg.js", SCRIPT, page_flame_svg_js },
};

struct server {
	const struct server_child *child;
	struct MHD_Daemon *daemon;
	int events; /* the daemon's descriptor for poll() */
	struct client *oldest, *newest;
	size_t nr_clients, nr_viewers;
	struct documents documents;
	struct document start;
	bool ended; /* the tool sends no more */
	char told;  /* to the tool: whether there are viewers */
	/* what is being read from the tool */
	struct document_head head;
	char *text;
	size_t got; /* of head and text */
};

static bool load(void)
{
	void *library = NULL;
	bool all = true;

#ifndef EHPERF_STATIC /* it would bring another libc with it */
	library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
#endif
	if (!library)
		return false;
#define LOAD(name) all &= (*(void **)&mhd.name = dlsym(library, "MHD_" #name)) != NULL;
	FUNCTIONS(LOAD)
	return all;
}

/* ---- responses ---- */

static const char *const headers[][2] = {
	/*
	 * only what comes from here, and no script or style in the page itself: a name can be
	 * nothing but text
	 */
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
	  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cache-Control", "no-store" },
};

/* Queues the response, and frees it. A connection is for one request. */
static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status, const char *type,
			       struct MHD_Response *response)
{
	enum MHD_Result queued;

	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		mhd.add_response_header(response, headers[i][0], headers[i][1]);
	mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	mhd.add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	queued = mhd.queue_response(connection, status, response);
	mhd.destroy_response(response);
	return queued;
}

static enum MHD_Result respond_text(struct MHD_Connection *connection, unsigned status,
				    const char *type, const char *text)
{
	return respond(connection, status, type,
		       mhd.create_response_from_buffer(strlen(text), (void *)text,
						       MHD_RESPMEM_PERSISTENT));
}

/* ---- streams ---- */

/*
 * What the viewer is to get next; NULL: nothing yet. One who is slow goes on at the newest document
 * that needs none before it.
 */
static const struct document *next_document(struct viewer *v)
{
	const struct documents *documents = &v->server->documents;
	uint64_t now = clock_ns(), newest = documents_last_group(documents);

	if (!v->started)
		return v->server->start.text ? &v->server->start : NULL;
	if (v->next == documents_next(documents)) {
		v->had_all_ns = now;
		return NULL;
	}
	if (!v->sent && v->next < newest && now - v->had_all_ns > SLOW_NS) {
		v->next = newest;
		v->had_all_ns = now;
	}
	return documents_get(documents, v->next);
}

static void had(struct viewer *v)
{
	v->sent = 0;
	if (v->started)
		v->next++;
	v->started = true;
}

static ssize_t read_stream(void *arg, uint64_t position, char *buffer, size_t room)
{
	struct viewer *v = arg;
	const struct document *document;
	size_t nr, got = 0;

	(void)position;
	while (got < room && (document = next_document(v))) {
		nr = document->bytes - v->sent < room - got ? document->bytes - v->sent
							    : room - got;
		memcpy(buffer + got, document->text + v->sent, nr);
		got += nr;
		v->sent += nr;
		if (v->sent == document->bytes)
			had(v);
	}
	if (got)
		return got;
	if (v->server->ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	v->waits = true;
	mhd.suspend_connection(v->client->connection);
	return 0;
}

static void end_stream(void *arg)
{
	struct viewer *v = arg;

	v->server->nr_viewers--;
	v->client->viewer = NULL;
	free(v);
}

/* where a viewer who was here before goes on */
static uint64_t first_for(const struct server *s, struct MHD_Connection *connection)
{
	const char *last =
		mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Last-Event-ID");
	uint64_t next = last ? strtoull(last, NULL, 10) + 1 : 0;

	return next && documents_get(&s->documents, next - 1) ? next
							      : documents_first(&s->documents);
}

static enum MHD_Result begin_stream(struct server *s, struct client *client)
{
	struct viewer *v = calloc(1, sizeof(*v));
	struct MHD_Response *response;

	if (!v)
		return MHD_NO;
	*v = (struct viewer){
		.server = s,
		.client = client,
		.next = first_for(s, client->connection),
		.had_all_ns = clock_ns(),
	};
	response = mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK_BYTES, read_stream, v,
						     end_stream);
	if (!response) {
		free(v);
		return MHD_NO;
	}
	s->nr_viewers++;
	client->viewer = v;
	return respond(client->connection, MHD_HTTP_OK, "text/event-stream", response);
}

static void wake_viewers(struct server *s)
{
	for (struct client *client = s->oldest; client; client = client->after) {
		if (!client->viewer || !client->viewer->waits)
			continue;
		client->viewer->waits = false;
		mhd.resume_connection(client->connection);
	}
}

/* those who are in the middle of a document that is not kept any more */
static void drop_stalled(struct server *s)
{
	for (struct client *client = s->oldest; client; client = client->after) {
		struct viewer *v = client->viewer;

		if (!v || !v->started || v->next >= documents_first(&s->documents))
			continue;
		if (v->sent)
			shutdown(client->fd, SHUT_RDWR);
		v->sent = 0;
		v->next = documents_first(&s->documents);
	}
}

/* ---- requests ---- */

/*
 * Is it an address or localhost? A page of another host, whose name leads here by now, has that
 * name.
 */
static bool is_address(const char *host)
{
	char name[INET6_ADDRSTRLEN + 1];
	const char *from = *host == '[' ? host + 1 : host;
	size_t bytes = strcspn(from, *host == '[' ? "]" : ":");
	const char *rest = from + bytes + (*host == '[' && from[bytes]);
	struct in6_addr address;

	if (bytes >= sizeof(name) || (*host == '[' && !from[bytes]))
		return false;
	if (*rest && (*rest != ':' || rest[1 + strspn(rest + 1, "0123456789")]))
		return false;
	memcpy(name, from, bytes);
	name[bytes] = 0;
	if (*host == '[')
		return inet_pton(AF_INET6, name, &address) == 1;
	return !strcasecmp(name, "localhost") || inet_pton(AF_INET, name, &address) == 1;
}

static bool is_own_origin(const char *origin, const char *host)
{
	static const char scheme[] = "http://";

	return !origin || (!strncmp(origin, scheme, sizeof(scheme) - 1) &&
			   !strcasecmp(origin + sizeof(scheme) - 1, host));
}

/*
 * The path behind "/TOKEN/", or NULL. All letters are looked at, so that the time says nothing of
 * them.
 */
static const char *path_of(const struct server *s, const char *url)
{
	unsigned differs = 0;

	if (strnlen(url, TOKEN_LETTERS + 2) < TOKEN_LETTERS + 2 || url[0] != '/' ||
	    url[TOKEN_LETTERS + 1] != '/')
		return NULL;
	for (size_t i = 0; i < TOKEN_LETTERS; i++)
		differs |= (unsigned char)url[1 + i] ^ (unsigned char)s->child->token[i];
	return differs ? NULL : url + TOKEN_LETTERS + 2;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_bytes, void **of_request)
{
	static const char text[] = "text/plain; charset=utf-8";
	struct server *s = arg;
	struct client *client =
		mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
			->socket_context;
	const char *host =
		mhd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	const char *origin = mhd.lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_ORIGIN),
		   *path;
	bool head = !strcmp(method, MHD_HTTP_METHOD_HEAD);

	(void)version;
	(void)upload;
	(void)upload_bytes;
	(void)of_request;
	if (!client)
		return MHD_NO;
	if (!host || !is_address(host))
		return respond_text(connection, MHD_HTTP_FORBIDDEN, text,
				    "The host must be an address or localhost.\n");
	if (!is_own_origin(origin, host))
		return respond_text(connection, MHD_HTTP_FORBIDDEN, text,
				    "Pages of others see nothing.\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) && !head)
		return respond_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, text,
				    "There is nothing but to be read.\n");
	path = path_of(s, url);
	if (!path)
		return respond_text(
			connection, MHD_HTTP_FORBIDDEN, text,
			"The token is missing or wrong: use the URL that the tool has printed.\n");
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
		if (!strcmp(path, resources[i].name))
			return respond_text(connection, MHD_HTTP_OK, resources[i].type,
					    resources[i].text);
	if (!strcmp(path, "events") && !head)
		return begin_stream(s, client);
	return respond_text(connection, MHD_HTTP_NOT_FOUND, text, "There is no such page.\n");
}

/* ---- connections ---- */

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct server *s = arg;
	struct client *client = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		client = calloc(1, sizeof(*client));
		*context = client;
		if (!client)
			return;
		client->connection = connection;
		client->fd = mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
				     ->connect_fd;
		client->since_ns = clock_ns();
		client->before = s->newest;
		*(s->newest ? &s->newest->after : &s->oldest) = client;
		s->newest = client;
		s->nr_clients++;
	} else if (client) {
		*(client->before ? &client->before->after : &s->oldest) = client->after;
		*(client->after ? &client->after->before : &s->newest) = client->before;
		s->nr_clients--;
		free(client);
		*context = NULL;
	}
}

/* Ends connections that took too long, and with `one`, the oldest one that is no viewer's. */
static void end_clients(struct server *s, bool one)
{
	uint64_t now = clock_ns();

	for (struct client *client = s->oldest; client; client = client->after) {
		if (client->viewer || client->fd < 0 ||
		    (!one && now - client->since_ns < REQUEST_NS))
			continue;
		shutdown(client->fd, SHUT_RDWR);
		client->fd = -1;
		one = false;
	}
}

static void accept_from(struct server *s, int listener)
{
	struct sockaddr_storage address;
	socklen_t bytes = sizeof(address);
	int room = SEND_BYTES, fd = accept4(listener, (struct sockaddr *)&address, &bytes,
					    SOCK_CLOEXEC | SOCK_NONBLOCK);

	/* those that are ended are gone after the daemon's next turn */
	if (s->nr_clients >= MAX_CLIENTS || (fd < 0 && errno == EMFILE))
		end_clients(s, true);
	if (fd < 0)
		return;
	/* else the kernel would keep megabytes for who is slow */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (s->nr_clients >= 2 * MAX_CLIENTS || s->nr_viewers >= MAX_CLIENTS)
		close(fd);
	else
		/* which closes what it does not take */
		mhd.add_connection(s->daemon, fd, (struct sockaddr *)&address, bytes);
}

/* ---- the tool ---- */

/* Takes a document that is complete. False: no memory */
static bool take(struct server *s)
{
	struct document document = { .text = s->text, .bytes = s->head.bytes };

	s->text = NULL;
	s->got = 0;
	if (s->head.kind == DOCUMENT_START) {
		free(s->start.text);
		s->start = document;
		return true;
	}
	if (documents_add(&s->documents, document.text, document.bytes,
			  s->head.kind == DOCUMENT_BEGINS, clock_ns()))
		return false;
	drop_stalled(s);
	return true;
}

/* Reads from the tool, and ends with it. */
static void read_tool(struct server *s)
{
	for (size_t all = 0; all < READ_BYTES;) {
		bool in_head = s->got < sizeof(s->head);
		char *to =
			in_head ? (char *)&s->head + s->got : s->text + (s->got - sizeof(s->head));
		size_t wanted = in_head ? sizeof(s->head) - s->got
					: sizeof(s->head) + s->head.bytes - s->got;
		ssize_t nr = recv(STDIN_FILENO, to, wanted, MSG_DONTWAIT);

		if (nr < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (nr <= 0) {
			s->ended = true;
			return;
		}
		all += nr;
		s->got += nr;
		if (s->got == sizeof(s->head)) {
			s->text = s->head.bytes && s->head.bytes <= MAX_DOCUMENT_BYTES
					  ? malloc(s->head.bytes)
					  : NULL;
			if (!s->text)
				_exit(1);
		}
		if (s->got == sizeof(s->head) + s->head.bytes && !take(s))
			_exit(1);
	}
}

/* Tells the tool whether anybody looks; if there is no room, later. */
static void tell_tool(struct server *s)
{
	char watched = s->nr_viewers > 0;

	if (watched != s->told && send(STDIN_FILENO, &watched, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
		s->told = watched;
}

/* ---- its life ---- */

/* descriptors: the tool, and the listeners */
enum { TOOL, LISTENERS, NR_KEPT = LISTENERS + MAX_LISTENERS };

/* The daemon has work left if its timeout is 0, whatever its descriptor says. */
static int wait_ms(const struct server *s)
{
	unsigned long long ms;

	return mhd.get_timeout(s->daemon, &ms) == MHD_YES && ms < LOOK_MS ? ms : LOOK_MS;
}

static void serve(struct server *s)
{
	struct pollfd fds[NR_KEPT + 1] = {};

	for (int i = 0; i < NR_KEPT; i++)
		fds[i] = (struct pollfd){ .fd = i, .events = POLLIN };
	fds[NR_KEPT] = (struct pollfd){ .fd = s->events, .events = POLLIN };
	while (!s->ended || s->nr_viewers) {
		poll(fds, NR_KEPT + 1, wait_ms(s));
		if (fds[TOOL].revents) {
			read_tool(s);
			wake_viewers(s);
		}
		if (s->ended)
			fds[TOOL].fd = -1;
		for (int i = LISTENERS; i < NR_KEPT; i++) {
			if (fds[i].revents & POLLIN)
				accept_from(s, i);
			else if (fds[i].revents)
				fds[i].fd = -1; /* there is none */
		}
		end_clients(s, false);
		mhd.run(s->daemon);
		tell_tool(s);
	}
}

void server_child_limit(size_t max_bytes, pid_t parent)
{
	static const int allowed[] = { SCMP_SYS(poll),
				       __NR_ppoll,
				       SCMP_SYS(epoll_wait),
				       __NR_epoll_pwait,
				       __NR_epoll_ctl,
				       __NR_accept4,
				       __NR_recvfrom,
				       __NR_sendto,
				       __NR_sendmsg,
				       __NR_read,
				       __NR_write,
				       __NR_writev,
				       __NR_setsockopt,
				       __NR_shutdown,
				       __NR_close,
				       __NR_fcntl,
				       __NR_brk,
				       __NR_munmap,
				       __NR_mremap,
				       __NR_madvise,
				       __NR_futex,
				       __NR_getrandom,
				       __NR_clock_gettime,
				       __NR_gettimeofday,
				       SCMP_SYS(time),
				       __NR_restart_syscall,
				       __NR_rt_sigreturn,
				       __NR_exit_group,
				       -1 };

	child_limit_memory(max_bytes + MAX_DOCUMENT_BYTES + MORE_BYTES);
	child_limit_rights(CHILD_ALONE);
	child_end_with(parent);
	child_limit_system_calls(allowed, NULL);
}

/* Keeps the sockets as its only files. False: it cannot */
static bool keep_sockets(const struct server_child *child)
{
	int fds[NR_KEPT] = { child->tool, child->listeners[0], child->listeners[1] };

	/* none is overwritten before it has moved */
	for (int i = 0; i < NR_KEPT; i++)
		if (fds[i] >= 0 && (fds[i] = fcntl(fds[i], F_DUPFD, NR_KEPT)) < 0)
			return false;
	for (int i = 0; i < NR_KEPT; i++) {
		if (fds[i] < 0)
			close(i);
		else if (dup2(fds[i], i) != i)
			return false;
	}
	return !syscall(__NR_close_range, NR_KEPT, ~0U, 0);
}

static bool start_daemon(struct server *s)
{
	s->daemon =
		mhd.start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
					 MHD_ALLOW_SUSPEND_RESUME | MHD_USE_SUPPRESS_DATE_NO_CLOCK,
				 0, NULL, NULL, on_request, s, MHD_OPTION_CONNECTION_LIMIT,
				 2U * MAX_CLIENTS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				 (size_t)CLIENT_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, STALLED_S,
				 MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
				 MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
	if (s->daemon)
		s->events = mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	return s->daemon;
}

_Noreturn void server_child_run(const struct server_child *child)
{
	struct server s = { .child = child,
			    .documents = { .max_bytes = child->max_bytes, .keep_ns = KEEP_NS } };
	pid_t parent = getppid();

	prctl(PR_SET_NAME, "ehperf-server");
	child_set_signals();
	if (!keep_sockets(child) || !load() || !start_daemon(&s))
		_exit(1);
	server_child_limit(child->max_bytes, parent);
	if (send(STDIN_FILENO, "", 1, MSG_NOSIGNAL) != 1)
		_exit(1);
	serve(&s);
	_exit(0);
}
