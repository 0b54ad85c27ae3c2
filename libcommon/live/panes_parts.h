/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a pane consists of, for panes.c and the files of the panes. */
#ifndef EHPERF_LIVE_PANES_PARTS_H
#define EHPERF_LIVE_PANES_PARTS_H

#include <curses.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "live/lanes.h"
#include "live/panes.h"
#include "live/picture.h"
#include "live/terminal.h"
#include "report/stack_functions.h"

/* in the order of Tab. CALLS is opened from FUNCTIONS, or from itself */
enum pane { FLAME, TREE, STACKS, FUNCTIONS, PROCESSES, TIMELINE, CALLS, NR_PANES };

#define MAX_ZOOMS  64
#define FIRST_CELL 2

/* a list of rows: which one is selected, and which one is shown first */
struct rows {
	uint64_t id; /* of the selected one; 0: the row stays, whatever is in it */
	size_t selected, top, nr;
};

struct panes {
	enum pane pane;
	const struct live_shown *shown;
	struct picture picture;
	bool matched; /* picture_match() has been called */
	bool has_pattern;
	regex_t pattern;
	struct pane_area area;      /* the last one */
	struct rows rows[NR_PANES]; /* not of FLAME */
	struct {
		uint64_t zooms[MAX_ZOOMS], selected;
		size_t nr_zooms;
		uint32_t top;
		struct cell *cells; /* by depth and column */
		size_t nr_cells;    /* 0: to be laid out */
	} flame;
	struct {
		struct tree_row *rows;
		size_t nr, room;
		uint64_t *toggled;
		size_t nr_toggled, toggled_room;
	} tree;
	struct {
		uint64_t open; /* 0: the list is shown */
		size_t top;    /* the first line of the open stack */
	} stacks;
	struct {
		/* functions whose callers and callees are shown, the last one's now */
		uint64_t opened[MAX_ZOOMS];
		size_t nr_opened;
		struct function_call *of; /* NULL: not listed yet */
		size_t nr;
		uint32_t function; /* whose calls these are */
	} calls;
	struct {
		struct process_row *rows;
		size_t room, nr; /* nr 0: not listed yet */
		uint64_t sum;    /* of all rows */
		uint32_t chosen; /* that Enter was pressed on; 0: none */
	} processes;
	struct {
		struct lane_row *rows;
		size_t nr, room;
		unsigned cell; /* what time it stands for: of cells_ns */
	} timeline;
};

/* what panes.c calls of a pane */
struct pane_kind {
	char key;                                    /* that selects it; 0: none */
	int (*prepare)(struct panes *panes);         /* 0 or -ENOMEM */
	bool (*is_empty)(const struct panes *panes); /* NULL: if no stack is shown */
	void (*draw)(struct panes *panes);
	/* NULL: the share of what matches */
	void (*say)(const struct panes *panes, char *text, size_t bytes);
	void (*key_pressed)(struct panes *panes, struct terminal_key key);
	/* the next match, or the previous one; a click in the pane's area. NULL: of rows */
	void (*next_match)(struct panes *panes, int direction);
	void (*click)(struct panes *panes, int line, int column);
	/* of rows, after .prepare(): how many there are; an ID is not 0 */
	size_t (*nr)(const struct panes *panes);
	uint64_t (*id)(const struct panes *panes, size_t row);
	bool (*matches)(const struct panes *panes, size_t row);
};
extern const struct pane_kind flame_pane, tree_pane, stacks_pane, functions_pane, calls_pane,
	processes_pane, timeline_pane;

/* ---- pictures ---- */

/* .prepare of what is drawn from the tree, and from the stacks' texts */
int pane_need_tree(struct panes *panes);
int pane_need_texts(struct panes *panes);
/* .prepare of processes; and draws a line of their shares. */
int pane_need_processes(struct panes *panes);
void pane_draw_shares(const struct panes *panes, int line);
/* Says the share of what matches, if something is searched. Returns the text's length */
size_t pane_say_matching(const struct panes *panes, char *text, size_t bytes);

void pane_forget_calls(struct panes *panes);

double pane_all(const struct panes *panes);
double pane_share(const struct panes *panes, uint32_t node);

/* ---- rows of the selected pane ---- */

void pane_select_row(struct panes *panes, size_t row);
/* False: the key is none of those that move in rows. */
bool pane_move(struct panes *panes, struct terminal_key key);
bool pane_is_back(struct terminal_key key);
bool pane_is_enter(struct terminal_key key);
/* name_of: the row's name, malloc()ed, or NULL without memory */
bool pane_matches(const struct panes *panes,
		  char *(*name_of)(const struct panes *panes, size_t row), size_t row);
enum terminal_style pane_row_style(const struct panes *panes, size_t row, bool matches);
/* Draws the rows below a line that says what they are. */
void pane_draw_rows(const struct panes *panes, const char *head,
		    void (*draw_row)(const struct panes *panes, size_t row, int line));

#endif
