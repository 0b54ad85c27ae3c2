// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/web_view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "live/slices.h"
#include "report/json.h"

#define NEW_BYTES (4 << 20) /* of names and stacks that are new in a document */

struct web_view {
	struct server *server;
	struct slices *slices;
};

/* a document that is being made */
struct made {
	FILE *out;
	char *json;
	size_t bytes;
};

static int make(struct made *made)
{
	*made = (struct made){};
	made->out = open_memstream(&made->json, &made->bytes);
	return made->out ? 0 : -ENOMEM;
}

/* Sends it, unless making it has failed, and frees it. */
static int send_made(struct web_view *v, struct made *made, enum document_kind kind, int error)
{
	if (made->out && fclose(made->out) && !error)
		error = -ENOMEM;
	if (!error)
		error = server_send(v->server, kind, made->json, made->bytes);
	free(made->json);
	return error;
}

int web_view_new(struct web_view **view, const struct server_address *address, size_t max_bytes)
{
	struct web_view *v = calloc(1, sizeof(*v));
	int error = v ? server_new(&v->server, address, max_bytes) : -ENOMEM;

	if (!error) {
		v->slices = slices_new();
		if (v->slices) {
			*view = v;
			return 0;
		}
		server_free(v->server);
		error = -ENOMEM;
	}
	free(v);
	return error;
}

const char *web_view_url(const struct web_view *v)
{
	return server_url(v->server);
}

uint16_t web_view_port(const struct web_view *v)
{
	return server_port(v->server);
}

int web_view_begin(struct web_view *v, struct json_object *start, const struct measure *measure)
{
	struct made made;
	int error = make(&made);

	if (!error)
		slices_print_start(made.out, start, measure);
	return send_made(v, &made, DOCUMENT_START, error);
}

bool web_view_is_ready(const struct web_view *v, bool now)
{
	return now ? server_has_room(v->server) : server_is_ready(v->server);
}

bool web_view_is_watched(const struct web_view *v)
{
	return server_is_watched(v->server);
}

int web_view_refresh(struct web_view *v, const struct live_shown *shown,
		     const struct history_part *last, uint64_t now_ns)
{
	bool begins = false;
	struct made made;
	int error = make(&made);

	if (!error)
		error = slices_print(v->slices, made.out, shown, last, now_ns, NEW_BYTES, &begins);
	error = send_made(v, &made, begins ? DOCUMENT_BEGINS : DOCUMENT_SLICE, error);
	if (error)
		slices_forget(v->slices);
	return error;
}

int web_view_work(struct web_view *v)
{
	return server_work(v->server);
}

void web_view_end(struct web_view *v, const char *said)
{
	struct json_object *end = json_object_new_object();
	struct made made;
	int error = make(&made);

	json_object_object_add(end, "said", json_name(said));
	if (!error)
		fputs(json_object_to_json_string_ext(end, JSON_C_TO_STRING_PLAIN), made.out);
	send_made(v, &made, DOCUMENT_END, error);
	json_object_put(end);
	server_free(v->server);
	slices_free(v->slices);
	free(v);
}
