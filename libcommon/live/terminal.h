/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal while a view is on it. Nothing else may write to it then: standard output and
 * standard error go to where their end is kept (live/kept_output.h), and standard input is empty.
 * So they are for a command that is started meanwhile. When the view ends, they are as before, and
 * what was kept is printed to standard error.
 *
 * The terminal's mode is restored at exit, and by signals that end the process, except SIGKILL.
 */
#ifndef EHPERF_LIVE_TERMINAL_H
#define EHPERF_LIVE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/lanes.h"
#include "report/labels.h"

/* Are standard input and output a terminal on which can be drawn? NULL: yes; else why not */
const char *terminal_lacks(void);

/* Keeps the terminal's descriptors for the view, and redirects the standard ones. 0 or -errno */
int terminal_take(void);
/* Begins to draw, after terminal_take(). 0 or -errno */
int terminal_begin(void);
/* for poll(): readable when there is a key */
int terminal_fd(void);
/* Ends drawing, and gives everything back. Without terminal_take(), nothing happens. */
void terminal_end(void);
/*
 * After terminal_end(): a command that was started meanwhile may still write. Passes that on to
 * standard error, until terminal_passed(), which does nothing without this call. 0 or -errno
 */
int terminal_pass_on(void);
void terminal_passed(void);
/* Restores the terminal's mode and its screen: for a signal handler whose process ends */
void terminal_reset(void);
/* to be called by it first; NULL: nothing */
void terminal_on_reset(void (*function)(void));

/*
 * The last line that was written to standard output or error, without its end; "" if there was none
 * since the last call.
 */
void terminal_last_line(char *line, size_t bytes);
/*
 * The end of all that was written to them, as whole lines without the last end, as far as there is
 * room
 */
void terminal_last_output(char *text, size_t bytes);

/*
 * A key as of ncurses (KEY_REFRESH: draw again), or a character's number; 0: there is none. Ctrl-Z
 * stops the process in this call; in the background there is none.
 */
struct terminal_key {
	bool special; /* ncurses' KEY_* */
	uint32_t key;
};
struct terminal_key terminal_key(void);
/* after KEY_MOUSE: where; wheel: -1 up, 1 down, 0: a click. False: nothing of these */
bool terminal_mouse(int *line, int *column, int *wheel);

/* ---- drawing ---- */

enum terminal_style {
	STYLE_PLAIN,
	STYLE_HEAD,
	STYLE_SELECTED,
	STYLE_MATCH,
	STYLE_DIM,
	STYLE_FRAME,                               /* + enum frame_kind */
	STYLE_LANE = STYLE_FRAME + NR_FRAME_KINDS, /* + enum lane_state */
	NR_STYLES = STYLE_LANE + NR_LANE_STATES
};

int terminal_lines(void);
int terminal_columns(void);
/* Do neighbours of one kind differ by their shades? */
bool terminal_has_shades(void);
/*
 * Begins a picture. False: the terminal has not taken the last one yet, and nothing is to be drawn
 * now
 */
bool terminal_clear(void);
/* Shows what was drawn, unless the process is in the background. Does not wait for the terminal. */
void terminal_show(void);

/* how many columns the text takes */
int terminal_width(const char *text);
/*
 * Writes escaped text (report/escape.h) into exactly so many columns, as far as there are as many:
 * cut if it has more, filled with blanks if it has fewer. shade: of two, so that neighbours differ
 */
void terminal_put(int line, int column, int columns, enum terminal_style style, int shade,
		  const char *text);

#endif
