/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The documents of the view in a browser: JSON of what was measured in a short time. A document has
 * only what is new: frames, stacks and processes have numbers, and values refer to those. Now and
 * then, numbers begin anew, so that a viewer needs no older documents, and memory is bounded.
 *
 *	{"begins":true|false,	whether numbers begin anew
 *	 "summary":{…},		as ehperf-json(5) has it
 *	 "processes":[{…},…],
 *       "frames":[[KIND,TEXT,{…}],…],  KIND of frame_kind_letters[]; TEXT is 0 if it is the frame's
 *                                      symbol
 *       "nodes":[CALLER,FRAME,…],      of a stack, root first; numbers begin at 1, and a root's
 *                                      caller is 0
 *       "stacks":[[THREAD,ROOT,USER,KERNEL,{…}],…]             USER and KERNEL are leaves' nodes,
 *                                                              0: none; ROOT: text or 0;
 *	     or [THREAD,ROOT,USER,KERNEL,{…},THREAD,USER,KERNEL,{…}], with the waker's
 *	 "values":[STACK,COUNT,VALUE,BLOCKED_NS,WAITING_NS,…],
 *	 "idle":[STACK,…],		whose waits were, in the last time, those of idle threads
 *       "lanes":[[ID,PID,TID,COMM,SLICE,NR,T,T,T,T,NR,…],…]    of a timeline: what is new of a
 *                                                              thread, from this slice on
 * 					(live/lanes.h): NR slices are alike, each with these times
 * 					  by state, in 0.1 ms
 *       "lanes_began":TIME,"lanes_left":NR}            of slice 0; how many threads had no room:
 *                                                      they come later
 */
#ifndef EHPERF_LIVE_SLICES_H
#define EHPERF_LIVE_SLICES_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "live/history.h"
#include "live/picture.h"

struct slices;

/* NULL: no memory */
struct slices *slices_new(void);
void slices_free(struct slices *slices);
/* Numbers begin anew in the next document: this one was not sent. */
void slices_forget(struct slices *slices);

/* what the viewers get first: {"start":{…},"unit":…,"counted":…,"value_ns":…} */
void slices_print_start(FILE *out, struct json_object *start, const struct measure *measure);
/*
 * Prints a document, of about max_bytes at most: values of stacks for which there is no room are
 * summed up. last: what was measured in the last time, of which the idle entries are named.
 * *begins: numbers begin anew in it. 0 or -ENOMEM, after which the document is not to be used
 */
int slices_print(struct slices *slices, FILE *out, const struct live_shown *shown,
		 const struct history_part *last, uint64_t now_ns, size_t max_bytes, bool *begins);

#endif
