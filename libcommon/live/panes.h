/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The panes of a view: a flame graph, a tree, a list of stacks, a table of functions, a list of
 * processes, and a timeline.
 */
#ifndef EHPERF_LIVE_PANES_H
#define EHPERF_LIVE_PANES_H

#include <stddef.h>

#include "live/picture.h"
#include "live/terminal.h"

struct panes;

/* where to draw */
struct pane_area {
	int line, lines, columns;
};

/* NULL: no memory */
struct panes *panes_new(void);
void panes_free(struct panes *panes);

/*
 * From now on the panes show this, or nothing (NULL). What is selected stays so, as far as it is
 * there.
 */
void panes_show(struct panes *panes, const struct live_shown *shown);
/* Does the selected pane show the timeline? */
bool panes_show_timeline(const struct panes *panes);
/* Does the selected pane show the processes' command lines? */
bool panes_show_processes(const struct panes *panes);
/* Makes what the selected pane needs. To be called before the other functions. 0 or -ENOMEM */
int panes_prepare(struct panes *panes);
void panes_draw(struct panes *panes, const struct pane_area *area);
/* what is selected, in words */
void panes_say(const struct panes *panes, char *text, size_t bytes);

void panes_key(struct panes *panes, struct terminal_key key);
void panes_mouse(struct panes *panes, int line, int column, int wheel);
/* after a key or a click: the PID of a process that alone is to be shown; 0: none */
uint32_t panes_process(struct panes *panes);

/* Sets an extended regular expression; "": none. 0, or -EINVAL, and what is wrong with it */
int panes_search(struct panes *panes, const char *pattern, char *wrong, size_t bytes);
/* Selects the next match, or the previous one (-1). */
void panes_next_match(struct panes *panes, int direction);

#endif
