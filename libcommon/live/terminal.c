// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/terminal.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <unistr.h>
#include <uniwidth.h>

#include "live/kept_output.h"

/* macros of term.h */
#undef columns
#undef lines

#define END_BYTES  256
#define PASS_ON_US 100000
/*
 * so long the end waits for a terminal that does not read; then what it has not read is thrown away
 */
#define PATIENT_MS 50
#define MOST_MS    500 /* and so long after all */

static struct {
	int before[3];           /* the standard descriptors; -1: not taken */
	struct kept_output kept; /* in their place */
	off_t seen, put;         /* of its file: by terminal_last_line(), by put_kept() */
	pthread_t passing;       /* of terminal_pass_on(); 0: none */
	atomic_bool passed;
	FILE *in, *out; /* out: of ncurses */
	SCREEN *screen;
	struct termios mode, drawing_mode;
	/*
	 * A terminal may stop reading, as one does whose connection hangs. So ncurses writes to a
	 * file, and a thread, the painter, copies that to the terminal. It may have to wait: the
	 * measuring goes on, and meanwhile nothing new is drawn.
	 */
	struct painter {
		pthread_t thread; /* 0: none */
		int file;
		off_t copied; /* so much of the file the terminal has */
		sem_t wanted;
		/* how often: they are equal when nothing is being copied */
		atomic_uint asked, done;
		atomic_bool ends;
		bool unblocked; /* some of what was copied was thrown away */
	} painter;
	pid_t owner;
	char end[END_BYTES]; /* what ends drawing, for terminal_reset() */
	size_t end_bytes;
	volatile sig_atomic_t stop, continued, resized;
	void (*on_reset)(void);
	bool utf8, colours, shades;
	bool hangs; /* it reads nothing at all */
} t = { .before = { -1, -1, -1 } };

const char *terminal_lacks(void)
{
	int error;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return "standard input and output must be a terminal";
	if (setupterm(NULL, STDOUT_FILENO, &error) == ERR || !tigetstr("cup") ||
	    tigetstr("cup") == (char *)-1)
		return "the terminal is not one that can be drawn on: see TERM";
	return NULL;
}

/* ---- the standard descriptors ---- */

/* Writes to standard error, to a terminal only while that reads. Returns how many bytes */
static ssize_t put_bytes(int fd, const char *bytes, ssize_t nr)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	ssize_t at = 0, some;

	while (at < nr) {
		some = write(fd, bytes + at, nr - at);
		if (some > 0)
			at += some;
		else if (errno == EAGAIN ? poll(&room, 1, MOST_MS) <= 0 : errno != EINTR)
			break;
	}
	return at;
}

/*
 * Prints what others have written since the last call, as far as it is kept. May be called by a
 * signal handler.
 */
static void put_kept(void)
{
	ssize_t nr, first, put;
	char bytes[4096];
	int own = -1;
	off_t end;

	kept_output_await(&t.kept);
	end = lseek(t.kept.file, 0, SEEK_END);
	if (end - t.put > KEPT_BYTES)
		t.put = end - KEPT_BYTES;
	if (t.put < end && isatty(STDERR_FILENO))
		own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	while (t.put < end && (nr = pread(t.kept.file, bytes, sizeof(bytes), t.put)) > 0) {
		for (first = 0; first < nr && !bytes[first]; first++)
			; /* more was written meanwhile, and this is not kept any more */
		put = put_bytes(own >= 0 ? own : STDERR_FILENO, bytes + first, nr - first);
		t.put += first + put;
		if (put < nr - first)
			break;
	}
	if (own >= 0)
		close(own);
}

static void give_back(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (t.before[fd] >= 0)
			dup2(t.before[fd], fd);
	if (!t.hangs)
		put_kept();
}

static void *pass_on(void *arg)
{
	(void)arg;
	while (!t.passed) {
		put_kept();
		usleep(PASS_ON_US);
	}
	return NULL;
}

int terminal_pass_on(void)
{
	return -pthread_create(&t.passing, NULL, pass_on, NULL);
}

void terminal_passed(void)
{
	if (!t.passing)
		return;
	t.passed = true;
	pthread_join(t.passing, NULL);
	put_kept();
}

int terminal_take(void)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC),
	    error = null < 0 ? -errno : kept_output_begin(&t.kept);

	if (error)
		return error;
	for (int fd = 0; fd < 3; fd++)
		if ((t.before[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0)
			return -errno;
	t.owner = getpid();
	if (tcgetattr(t.before[0], &t.mode))
		return -errno;
	fflush(NULL);
	if (dup2(null, 0) < 0 || dup2(t.kept.pipe, 1) < 0)
		return -errno;
	/* errors that go to a file do not disturb */
	if (isatty(2) && dup2(t.kept.pipe, 2) < 0)
		return -errno;
	close(null);
	return atexit(terminal_end) ? -ENOMEM : 0;
}

/*
 * Reads what was written from there on, without the last line's end, as text. The bytes: no more
 * than `bytes` - 1
 */
static size_t read_kept(char *text, size_t bytes, off_t from)
{
	ssize_t nr = pread(t.kept.file, text, bytes - 1, from);

	while (nr > 0 && (text[nr - 1] == '\n' || text[nr - 1] == '\r'))
		nr--;
	if (nr < 0)
		nr = 0;
	for (ssize_t i = 0; i < nr; i++)
		if (!text[i])
			text[i] = ' '; /* it would hide what follows */
	text[nr] = 0;
	return nr;
}

void terminal_last_line(char *line, size_t bytes)
{
	off_t end = lseek(t.kept.file, 0, SEEK_END),
	      from = end > t.seen + 1024 ? end - 1024 : t.seen;
	char text[1024 + 1], *last;

	*line = 0;
	t.seen = end;
	if (!read_kept(text, sizeof(text), from))
		return;
	last = strrchr(text, '\n');
	snprintf(line, bytes, "%s", last ? last + 1 : text);
}

void terminal_last_output(char *text, size_t bytes)
{
	off_t end = lseek(t.kept.file, 0, SEEK_END),
	      from = end > (off_t)bytes - 1 ? end - (bytes - 1) : 0;
	char *first = read_kept(text, bytes, from) && from ? strchr(text, '\n') : NULL;

	if (first)
		memmove(text, first + 1, strlen(first + 1) + 1);
}

/* ---- the painter ---- */

/* Does the terminal belong to somebody else now? Then who touches it is stopped. */
static bool in_background(void)
{
	pid_t group = tcgetpgrp(t.before[0]);

	return group > 0 && group != getpgrp();
}

static bool is_painting(const struct painter *p)
{
	return p->asked != p->done;
}

static void copy_picture(struct painter *p)
{
	struct pollfd room = { .fd = t.before[1], .events = POLLOUT };
	char bytes[4096];
	struct stat file;
	ssize_t nr, written;

	while (!p->ends && (nr = pread(p->file, bytes, sizeof(bytes), p->copied)) > 0) {
		written = write(t.before[1], bytes, nr);
		if (written > 0)
			p->copied += written;
		else if (errno == EAGAIN)
			poll(&room, 1, -1);
		else if (errno != EINTR && !fstat(p->file, &file)) /* the terminal is gone */
			p->copied = file.st_size;
	}
}

static void *paint(void *arg)
{
	struct painter *p = arg;
	unsigned asked;

	for (;;) {
		if (sem_wait(&p->wanted))
			continue;
		asked = p->asked;
		copy_picture(p);
		p->done = p->ends ? (unsigned)p->asked : asked;
		if (p->ends)
			return NULL;
	}
}

/* A signal's handler, so that what waits ends with EINTR. */
static void interrupt(int number)
{
	(void)number;
}

/* 0 or -errno. From now on, ncurses writes to the file. */
static int painter_begin(struct painter *p)
{
	sigset_t all, before;
	int error;

	p->file = memfd_create("picture", MFD_CLOEXEC);
	if (p->file < 0 || dup3(p->file, fileno(t.out), O_CLOEXEC) < 0)
		return -errno;
	sem_init(&p->wanted, 0, 0);
	sigaction(SIGURG, &(struct sigaction){ .sa_handler = interrupt }, NULL);
	sigfillset(&all);
	sigdelset(&all, SIGURG);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = -pthread_create(&p->thread, NULL, paint, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		p->thread = 0;
	return error;
}

/* Has what ncurses has written copied. */
static void painter_copy(struct painter *p)
{
	if (!p->thread)
		return;
	p->asked++;
	sem_post(&p->wanted);
}

/* Empties the file, if the terminal has all of it. */
static void painter_empty(struct painter *p)
{
	if (lseek(p->file, 0, SEEK_END) != p->copied || ftruncate(p->file, 0))
		return;
	p->copied = lseek(p->file, 0, SEEK_SET);
}

/*
 * The terminal does not read: throws away what it has not read, which makes room for what the
 * painter writes. May be called by a signal handler
 */
static void painter_unblock(struct painter *p)
{
	if (!p->thread || in_background())
		return;
	p->unblocked = true;
	tcflush(t.before[1], TCOFLUSH);
	pthread_kill(p->thread, SIGURG); /* tcflush() wakes no writer */
}

/*
 * Waits until the terminal has everything; each time that so many ms have passed, unblocks the
 * painter. May be called by a signal handler
 */
static void painter_wait(struct painter *p, int patient_ms, int most_ms)
{
	for (int ms = 1; is_painting(p) && ms <= most_ms; ms++) {
		if (ms % patient_ms == 0)
			painter_unblock(p);
		poll(NULL, 0, 1);
	}
	t.hangs = is_painting(p);
}

static void painter_end(struct painter *p)
{
	p->ends = true;
	if (!p->thread)
		return;
	sem_post(&p->wanted);
	while (pthread_tryjoin_np(p->thread, NULL)) {
		pthread_kill(p->thread, SIGURG);
		usleep(1000);
	}
	p->thread = 0;
}

/* ---- beginning and end ---- */

static void add_end(const char *text)
{
	size_t bytes = text && text != (char *)-1 ? strlen(text) : 0;

	if (t.end_bytes + bytes > sizeof(t.end))
		return;
	memcpy(t.end + t.end_bytes, text, bytes);
	t.end_bytes += bytes;
}

static void know_end(void)
{
	const char *mouse = tigetstr("XM");

	if (mouse && mouse != (char *)-1)
		add_end(tiparm(mouse, 0));
	else if (tigetstr("kmous") && tigetstr("kmous") != (char *)-1)
		add_end("\033[?1000l");
	add_end(tigetstr("sgr0"));
	add_end(tigetstr("rmkx"));
	add_end(tigetstr("cnorm"));
	add_end(tigetstr("rmcup"));
}

void terminal_on_reset(void (*function)(void))
{
	t.on_reset = function;
}

static void put_end_bytes(void)
{
	struct pollfd room = { .fd = t.before[1], .events = POLLOUT };

	if (poll(&room, 1, 0) > 0)
		(void)!write(t.before[1], t.end, t.end_bytes);
}

/* Ends the painting, also in the middle, and then the drawing. May be called by a signal handler */
static void put_end(void)
{
	t.painter.ends = true;
	if (t.painter.thread)
		sem_post(&t.painter.wanted);
	painter_wait(&t.painter, 1, PATIENT_MS);
	put_end_bytes();
}

void terminal_reset(void)
{
	if (!t.screen || t.owner != getpid())
		return;
	if (t.on_reset)
		t.on_reset();
	if (!in_background()) {
		tcsetattr(t.before[0], TCSANOW, &t.mode);
		put_end();
	}
	give_back();
}

static void reset_and_end(int number)
{
	terminal_reset();
	raise(number); /* the handler is gone, by SA_RESETHAND */
}

static void want_stop(int number)
{
	t.stop = number;
}

static void note_resized(int number)
{
	t.resized = number;
}

static void note_continued(int number)
{
	t.continued = number;
}

/*
 * Does a signal end the process, unless it is handled or ignored? signal(7); SIGALRM is
 * run/signals.c's
 */
static bool is_fatal(int number)
{
	static const int others[] = {
		SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN,  SIGTTOU,
		SIGCONT, SIGCHLD, SIGURG,  SIGWINCH, SIGALRM,
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (number == others[i])
			return false;
	return true;
}

/* Calls sigaction() for each fatal signal that is handled so. */
static void handle_fatal(void (*now)(int), const struct sigaction *from_now_on)
{
	struct sigaction action;

	for (int number = 1; number <= SIGRTMAX; number++)
		if (is_fatal(number) && !sigaction(number, NULL, &action) &&
		    action.sa_handler == now)
			sigaction(number, from_now_on, NULL);
}

static void handle_signals(void)
{
	static char stack[64 << 10]; /* for when there is no room on the other */
	struct sigaction end = { .sa_handler = reset_and_end,
				 .sa_flags = SA_RESETHAND | SA_ONSTACK };
	struct sigaction stop = { .sa_handler = want_stop }, size = { .sa_handler = note_resized };

	sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof(stack) }, NULL);
	handle_fatal(SIG_DFL, &end);
	/* before ncurses, which would take them */
	sigaction(SIGTSTP, &stop, NULL);
	sigaction(SIGWINCH, &size, NULL);
	sigaction(SIGCONT,
		  &(struct sigaction){ .sa_handler = note_continued, .sa_flags = SA_RESTART },
		  NULL);
}

#define NR_COLOURS (NR_STYLES - STYLE_FRAME)

/*
 * Colours of frames by kind, as in page/flame.css, and of the timeline's states: of the 256, in two
 * shades, and of the 8
 */
static const struct {
	short of_256[2], of_8;
} colours_of[NR_COLOURS] = {
	[KIND_THREAD] = { { 251, 248 }, COLOR_WHITE },
	[KIND_USER] = { { 215, 179 }, COLOR_YELLOW },
	[KIND_BY_FP] = { { 221, 185 }, COLOR_YELLOW },
	[KIND_JIT] = { { 107, 71 }, COLOR_GREEN },
	[KIND_RUNTIME] = { { 149, 113 }, COLOR_GREEN },
	[KIND_INLINED] = { { 80, 44 }, COLOR_CYAN },
	[KIND_KERNEL] = { { 176, 140 }, COLOR_MAGENTA },
	[KIND_OFF_CPU] = { { 111, 75 }, COLOR_BLUE },
	[KIND_LEFT_OUT] = { { 253, 250 }, COLOR_WHITE },
	[NR_FRAME_KINDS + LANE_RUNNING] = { { 71, 71 }, COLOR_GREEN },
	[NR_FRAME_KINDS + LANE_WAITING] = { { 214, 214 }, COLOR_YELLOW },
	[NR_FRAME_KINDS + LANE_BLOCKED] = { { 111, 111 }, COLOR_BLUE },
	[NR_FRAME_KINDS + LANE_LOST] = { { 176, 176 }, COLOR_MAGENTA },
};

/* One of the 256 from 16 on, as this terminal has it: its colours may be red, green and blue. */
static int colour(int of_256)
{
	static const int levels[] = { 0, 95, 135, 175, 215, 255 };
	int of_cube = of_256 - 16, grey = 8 + 10 * (of_256 - 232);

	if (COLORS <= 256)
		return of_256;
	if (of_256 >= 232)
		return grey << 16 | grey << 8 | grey;
	return levels[of_cube / 36] << 16 | levels[of_cube / 6 % 6] << 8 | levels[of_cube % 6];
}

static void set_colours(void)
{
	const char *no_color = getenv("NO_COLOR");

	t.colours = has_colors() && !(no_color && *no_color);
	if (!t.colours)
		return;
	start_color();
	use_default_colors();
	t.shades = COLORS >= 256 && COLOR_PAIRS >= 64;
	for (int kind = 0; kind < NR_COLOURS; kind++)
		for (int shade = 0; shade < 2; shade++)
			init_extended_pair(1 + 2 * kind + shade,
					   t.shades ? colour(16) : COLOR_BLACK,
					   t.shades ? colour(colours_of[kind].of_256[shade])
						    : colours_of[kind].of_8);
	init_extended_pair(1 + 2 * NR_COLOURS, t.shades ? colour(231) : COLOR_WHITE,
			   t.shades ? colour(162) : COLOR_RED);
}

/* Ctrl-S would stop the drawing. */
static void ignore_flow_control(void)
{
	tcgetattr(t.before[0], &t.drawing_mode);
	t.drawing_mode.c_iflag &= ~IXON;
	tcsetattr(t.before[0], TCSANOW, &t.drawing_mode);
}

int terminal_begin(void)
{
	int out = fcntl(t.before[1], F_DUPFD_CLOEXEC, 3);

	t.in = fdopen(t.before[0], "r");
	t.out = out < 0 ? NULL : fdopen(out, "w");
	if (!t.in || !t.out)
		return -errno;
	setlocale(LC_CTYPE, "");
	t.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	handle_signals();
	t.screen = newterm(NULL, t.out, t.in);
	if (!t.screen)
		return -ENOTTY;
	know_end();
	set_colours();
	cbreak();
	noecho();
	nonl();
	ignore_flow_control();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	mouseinterval(0);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	return painter_begin(&t.painter);
}

/* Gives the terminal back: to the shell, or at the end. */
static void end_drawing(void)
{
	endwin();
	painter_copy(&t.painter);
	painter_wait(&t.painter, PATIENT_MS, MOST_MS);
	tcsetattr(t.before[0], TCSANOW, &t.mode);
}

void terminal_end(void)
{
	if (t.before[0] < 0 || t.owner != getpid())
		return;
	if (t.screen) {
		if (!in_background() && !isendwin())
			end_drawing();
		if (!in_background() && (t.painter.unblocked || !t.painter.thread))
			put_end();
		painter_end(&t.painter);
		signal(SIGTSTP, SIG_DFL);
		signal(SIGCONT, SIG_DFL);
		handle_fatal(reset_and_end, &(struct sigaction){ .sa_handler = SIG_DFL });
	}
	t.screen = NULL;
	fflush(NULL);
	give_back();
	t.before[0] = -1;
}

int terminal_fd(void)
{
	return t.before[0];
}

/* ---- keys ---- */

/* As the shell expects: it stops by the signal that it has got. */
static void stop(void)
{
	t.stop = 0;
	if (!in_background())
		end_drawing();
	if (!in_background() && t.painter.unblocked)
		put_end_bytes();
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	t.continued = SIGCONT; /* or it was not stopped: nobody could continue it */
	sigaction(SIGTSTP, &(struct sigaction){ .sa_handler = want_stop }, NULL);
}

/* It was stopped, and others have written to the terminal meanwhile. */
static void come_back(void)
{
	t.continued = 0;
	t.hangs = t.painter.unblocked = false;
	tcsetattr(t.before[0], TCSANOW, &t.drawing_mode);
	clearok(stdscr, TRUE);
}

struct terminal_key terminal_key(void)
{
	wint_t key;
	int kind;

	if (t.stop)
		stop();
	if (in_background())
		return (struct terminal_key){};
	if (t.continued || t.resized) {
		if (t.continued)
			come_back();
		t.resized = 0;
		return (struct terminal_key){ true, KEY_REFRESH };
	}
	kind = get_wch(&key);
	return kind == ERR ? (struct terminal_key){}
			   : (struct terminal_key){ kind == KEY_CODE_YES, key };
}

bool terminal_mouse(int *line, int *column, int *wheel)
{
	MEVENT event;

	if (getmouse(&event) == ERR ||
	    !(event.bstate & (BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED)))
		return false;
	*line = event.y;
	*column = event.x;
	*wheel = !!(event.bstate & BUTTON5_PRESSED) - !!(event.bstate & BUTTON4_PRESSED);
	return true;
}

/* ---- drawing ---- */

int terminal_lines(void)
{
	return LINES;
}

int terminal_columns(void)
{
	return COLS;
}

bool terminal_has_shades(void)
{
	return t.shades;
}

/* The terminal's size may change at any time. */
static void follow_size(void)
{
	struct winsize now;

	if (!ioctl(t.before[1], TIOCGWINSZ, &now) && now.ws_row && now.ws_col &&
	    (now.ws_row != LINES || now.ws_col != COLS))
		resizeterm(now.ws_row, now.ws_col);
}

bool terminal_clear(void)
{
	if (is_painting(&t.painter))
		return false;
	painter_empty(&t.painter);
	follow_size();
	erase();
	return true;
}

void terminal_show(void)
{
	if (in_background() || t.continued)
		return;
	refresh();
	painter_copy(&t.painter);
}

static int width_of(ucs4_t c)
{
	int width = t.utf8 ? uc_width(c, "UTF-8") : 1;

	return width > 0 ? width : 0;
}

int terminal_width(const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	int width = 0;
	ucs4_t c;

	while ((at = u8_next(&c, at)))
		width += width_of(c);
	return width;
}

static attr_t look_of(enum terminal_style style, int shade)
{
	switch (style) {
	case STYLE_PLAIN:
		return A_NORMAL;
	case STYLE_HEAD:
		return A_BOLD;
	case STYLE_SELECTED:
		return A_REVERSE | A_BOLD;
	case STYLE_MATCH:
		return t.colours ? COLOR_PAIR(1 + 2 * NR_COLOURS) | A_BOLD : A_UNDERLINE | A_BOLD;
	case STYLE_DIM:
		return A_DIM;
	default:
		return t.colours ? COLOR_PAIR(1 + 2 * (style - STYLE_FRAME) + shade) : A_NORMAL;
	}
}

void terminal_put(int line, int column, int columns, enum terminal_style style, int shade,
		  const char *text)
{
	const uint8_t *at = (const uint8_t *)text, *next;
	int left = columns < COLS - column ? columns : COLS - column;
	bool cut;
	ucs4_t c;

	if (line < 0 || line >= LINES || column < 0 || left <= 0)
		return;
	cut = terminal_width(text) > left;
	attrset(look_of(style, shade));
	move(line, column);
	for (left -= cut; (next = u8_next(&c, at)) && width_of(c) <= left; at = next) {
		left -= width_of(c);
		if (t.utf8)
			addnstr((const char *)at, next - at);
		else
			addch(c < 0x80 ? c : '?');
	}
	if (cut) {
		for (; left > 0; left--)
			addch(' ');
		addstr(t.utf8 ? "…" : "~");
	}
	for (; left > 0; left--)
		addch(' ');
	attrset(A_NORMAL);
}
