/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The view in a browser (--serve): sends what is measured, while it is measured, to the process
 * that serves it. It waits for nobody. When that process is gone, the functions do nothing.
 */
#ifndef EHPERF_LIVE_WEB_VIEW_H
#define EHPERF_LIVE_WEB_VIEW_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "live/history.h"
#include "live/picture.h"
#include "live/server.h"

struct web_view;

/* As server_new(), and to be called as early: 0, -ENOSYS or -errno */
int web_view_new(struct web_view **view, const struct server_address *address, size_t max_bytes);
const char *web_view_url(const struct web_view *view);
uint16_t web_view_port(const struct web_view *view);

/* These return 0 or -errno: then the view has ended. `start` is JSON's first line. */
int web_view_begin(struct web_view *view, struct json_object *start, const struct measure *measure);
/*
 * Sends what came since the last call. last: what was measured in the last time, with its idle
 * entries marked. Only if web_view_is_ready(); else what has come is for a later call. now: there
 * will be none, and one that was sent may wait
 */
bool web_view_is_ready(const struct web_view *view, bool now);
/* Did anybody look at web_view_work()'s last call? */
bool web_view_is_watched(const struct web_view *view);
int web_view_refresh(struct web_view *view, const struct live_shown *shown,
		     const struct history_part *last, uint64_t now_ns);
/* to be called several times a second */
int web_view_work(struct web_view *view);

/*
 * Sends the end, with the report's summary; the viewers get what they have not got yet within half
 * a second. Frees the view.
 */
void web_view_end(struct web_view *view, const char *said);

#endif
