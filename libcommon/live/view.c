// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/view.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unistr.h>

#include "base/array.h"
#include "base/clock.h"
#include "live/panes.h"
#include "live/terminal.h"
#include "report/escape.h"
#include "report/json.h"
#include "report/names_count.h"
#include "report/stack_report.h"
#include "report/time_of_day.h"

#define MESSAGE_BYTES 512
#define INPUT_BYTES   1024
#define OUTPUT_BYTES  16384
#define ESCAPE        27
#define WORK_NS       50000000 /* what keys may take at a time */

enum asked { ASKED_NOTHING, ASKED_SEARCH, ASKED_ONLY, ASKED_WINDOW, ASKED_NAME, ASKED_REPLACE };

static const struct {
	const char *text;
	bool line_end; /* the answer is a line, else a key */
} questions[] = {
	[ASKED_SEARCH] = { "/", true },
	[ASKED_ONLY] = { "Show only stacks that match (nothing: all): ", true },
	[ASKED_WINDOW] = { "Show the last seconds (~N: half in N s; nothing: since the start): ",
			   true },
	[ASKED_NAME] = { NULL, true },
	[ASKED_REPLACE] = { "The file exists. Replace it? (y/n) ", false },
};

static const uint64_t intervals_ns[] = { 250000000,  500000000,   1000000000, 2000000000,
					 5000000000, 10000000000, 30000000000 };
#define NR_INTERVALS (sizeof(intervals_ns) / sizeof(intervals_ns[0]))

struct live_view {
	struct live_source source;
	char *doing; /* escaped */
	const struct live_shown *shown;
	struct panes *panes;
	size_t interval; /* of intervals_ns */
	struct live_window window;
	bool paused, help, output; /* the last two: shown in place of the panes */
	bool is_drawn;             /* the terminal has taken the last picture, or is taking it */
	struct stack_pattern only; /* its text is only_text; "": all stacks are shown */
	/*
	 * while it is paused, steps back: the end of what each of them shows, the last one's is
	 * shown
	 */
	uint64_t *steps;
	size_t nr_steps, step_room;
	double rate, own_cpu;        /* in the last interval */
	char message[MESSAGE_BYTES]; /* shown until the next key */
	enum asked asked;
	char input[INPUT_BYTES], name[INPUT_BYTES];
	char search[INPUT_BYTES], only_text[INPUT_BYTES];
};

/* an escaped copy; NULL: no memory */
static char *escaped(const char *text)
{
	char *copy = NULL;
	size_t bytes;
	FILE *out = open_memstream(&copy, &bytes);

	if (!out)
		return NULL;
	print_message(out, text);
	return fclose(out) ? NULL : copy;
}

__attribute__((format(printf, 2, 3))) static void say(struct live_view *v, const char *format, ...)
{
	va_list args;
	char *text = NULL, *clean;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	clean = text ? escaped(text) : NULL;
	snprintf(v->message, sizeof(v->message), "%s", clean ? clean : "");
	free(clean);
	free(text);
}

/* ---- the head ---- */

static void print_time(FILE *out, const struct live_view *v)
{
	if (v->window.decays)
		fprintf(out, "decaying, half in %g s", v->window.ns / 1e9);
	if (v->window.decays && v->nr_steps)
		fprintf(out, ", until %.*s", TIME_OF_DAY_SECONDS,
			time_of_day(v->shown->until_ns).text);
	else if (v->nr_steps)
		fprintf(out, "the %.1f s until %.*s", v->shown->summary.seconds,
			TIME_OF_DAY_SECONDS, time_of_day(v->shown->until_ns).text);
	else if (v->window.ns && !v->window.decays)
		fprintf(out, "the last %.1f s", v->shown ? v->shown->summary.seconds : 0);
	else if (!v->window.ns)
		fputs("since the start", out);
	if (*v->only_text) {
		fputs(", only /", out);
		print_message(out, v->only_text);
		putc('/', out);
	}
	fprintf(out, "%s, every %g s, own CPU %.1f %%", v->paused ? ", PAUSED" : "",
		intervals_ns[v->interval] / 1e9, 100 * v->own_cpu);
}

static void print_sums(FILE *out, const struct live_view *v)
{
	const struct stack_summary *s = &v->shown->summary;
	uint64_t of_others, lost = stack_summary_lost(s, &of_others);
	double complete = stack_summary_complete(s);

	fprintf(out, "%s", counted(s->sum.count, v->source.counted).text);
	if (s->measure->is_time)
		fprintf(out, ", %.1f s", s->measure->value(&s->sum) / 1e9);
	else if (s->measure->sum_unit)
		fprintf(out, ", %s", measure_say(s->measure, s->measure->value(&s->sum)).text);
	fprintf(out, " in %.1f s", s->seconds);
	if (s->measure->is_time)
		fprintf(out, ", %.2f s a second", v->rate / 1e9);
	else
		fprintf(out, ", %.0f a second", v->rate);
	if (complete >= 0)
		fprintf(out, ", %.2f %% complete", complete);
	fprintf(out, ", %" PRIu64 " lost", lost);
	if (of_others)
		fprintf(out, ", %" PRIu64 " on the whole machine", of_others);
}

static void draw_head_line(const struct live_view *v, int line,
			   void (*print)(FILE *, const struct live_view *), const char *before)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return;
	fputs(before, out);
	print(out, v);
	if (!fclose(out))
		terminal_put(line, 0, terminal_columns(), line ? STYLE_PLAIN : STYLE_HEAD, 0, text);
	free(text);
}

static void draw_head(const struct live_view *v)
{
	char before[256];

	snprintf(before, sizeof(before), "%s: ", v->doing);
	draw_head_line(v, 0, print_time, before);
	if (v->shown)
		draw_head_line(v, 1, print_sums, "");
}

/* of the names of files that the selected pane can be saved in */
static const char *endings(const struct live_view *v)
{
	return panes_show_timeline(v->panes) ? v->source.timeline_endings : STACK_FORMAT_ENDINGS;
}

static void print_question(const struct live_view *v, char *text, size_t bytes)
{
	char *input = escaped(v->input);

	if (v->asked == ASKED_NAME)
		snprintf(text, bytes, "Save as (%s): %s_", endings(v), input ? input : "");
	else
		snprintf(text, bytes, "%s%s_", questions[v->asked].text, input ? input : "");
	free(input);
}

static void draw_foot(const struct live_view *v)
{
	char text[2 * MESSAGE_BYTES + INPUT_BYTES], said[MESSAGE_BYTES];
	int line = terminal_lines() - 1, columns = terminal_columns(), wide;

	if (v->asked) {
		print_question(v, text, sizeof(text));
		wide = terminal_width(text);
		/* the end of a long answer is seen */
		for (const char *at = text; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
			if (wide > columns && terminal_width(at) < columns) {
				memmove(text, at, strlen(at) + 1);
				break;
			}
		terminal_put(line, 0, columns, STYLE_HEAD, 0, text);
		return;
	}
	if (*v->message) {
		terminal_put(line, 0, columns, STYLE_HEAD, 0, v->message);
		return;
	}
	panes_say(v->panes, said, sizeof(said));
	wide = terminal_width(said);
	terminal_put(line, 0, columns, STYLE_HEAD, 0, said);
	if (wide + 10 < columns)
		terminal_put(line, columns - 8, 8, STYLE_DIM, 0, "? keys");
}

/* ---- help ---- */

static const char *const help[] = {
	"f t l u P     flame graph, tree, stacks, functions, processes; Tab: the next",
	"i  +  -       timeline of the threads, where there is one; zoom of its time",
	"arrows        select; Page Up, Page Down, Home, End: by pages, to the ends",
	"Enter         zoom into the frame; open a branch or a stack; the function's",
	"              callers and callees; only this process",
	"Backspace     back",
	"mouse         click: select, and again: Enter; the wheel scrolls",
	"/  n  N       search a regular expression; next and previous match",
	"&             show only stacks that match: by thread, process or function",
	"w             show only the last seconds, or all since the start, or decaying",
	"r             reset: the start is now, and a pause ends",
	"p, space      pause: the view stays as it is, and measuring goes on",
	"[  ]          pause, and step back through the last minutes; forth again",
	"<  >          refresh more often, less often",
	"s             save what is shown; the name's ending says the format",
	"o             the output of the command",
	"q             quit, and print the report of what is shown",
	"?             these keys",
};

static void draw_help(void)
{
	int lines = terminal_lines(), columns = terminal_columns();

	for (int i = 0; i < (int)(sizeof(help) / sizeof(help[0])) && 2 + i < lines - 1; i++)
		terminal_put(2 + i, 0, columns, STYLE_PLAIN, 0, help[i]);
}

/* The last lines that were written, the last one at the bottom. */
static void draw_output(void)
{
	char text[OUTPUT_BYTES], *line, *clean;

	terminal_last_output(text, sizeof(text));
	for (int at = terminal_lines() - 2; at >= 2; at--) {
		line = strrchr(text, '\n');
		clean = escaped(line ? line + 1 : text);
		terminal_put(at, 0, terminal_columns(), STYLE_PLAIN, 0, clean ? clean : "");
		free(clean);
		if (!line)
			break;
		*line = 0;
	}
}

static void draw(struct live_view *v)
{
	struct pane_area area = { .line = 2 };

	v->is_drawn = terminal_clear();
	if (!v->is_drawn)
		return;
	area.lines = terminal_lines() - 3;
	area.columns = terminal_columns();
	draw_head(v);
	if (v->help)
		draw_help();
	else if (v->output)
		draw_output();
	else if (v->shown && area.lines > 0)
		panes_draw(v->panes, &area);
	draw_foot(v);
	terminal_show();
}

/* ---- what is shown ---- */

/* what a step shows */
static struct live_window window_of_step(const struct live_view *v)
{
	return v->window.ns ? v->window : (struct live_window){ .ns = intervals_ns[v->interval] };
}

static int show(struct live_view *v)
{
	const struct stack_pattern *only = *v->only_text ? &v->only : NULL;
	const struct stack_summary *summary;
	int error;

	panes_show(v->panes, NULL);
	if (v->nr_steps)
		error = v->source.show(v->source.arg, window_of_step(v), v->steps[v->nr_steps - 1],
				       only, &v->shown);
	else
		error = v->source.show(v->source.arg, v->window, 0, only, &v->shown);
	if (error)
		return error;
	panes_show(v->panes, v->shown);
	summary = &v->shown->summary;
	if ((v->nr_steps || only) && summary->seconds > 0)
		v->rate = summary->measure->value(&summary->sum) / summary->seconds;
	return 0;
}

/* Makes what is drawn. 0 or -ENOMEM */
static int prepare(struct live_view *v)
{
	if (v->shown && panes_show_processes(v->panes))
		v->source.note_processes(v->source.arg);
	return panes_prepare(v->panes);
}

/* Shows what was shown before the last step. */
static int step_forth(struct live_view *v)
{
	if (!v->nr_steps)
		return 0;
	v->nr_steps--;
	return show(v);
}

/* Shows the time that ends then. */
static int step_to(struct live_view *v, uint64_t until_ns)
{
	if (array_reserve(&v->steps, &v->step_room, v->nr_steps + 1))
		return -ENOMEM;
	v->steps[v->nr_steps++] = until_ns;
	v->paused = true;
	return show(v);
}

/*
 * Shows the time before that which is shown; of all since the start, the last interval comes first.
 */
static int step_back(struct live_view *v)
{
	uint64_t until_ns;
	int error;

	if (!v->shown)
		return 0;
	until_ns = v->nr_steps || v->window.ns ? v->shown->from_ns : v->shown->until_ns;
	if (v->window.decays)
		until_ns = v->window.ns < v->shown->until_ns ? v->shown->until_ns - v->window.ns
							     : 1; /* 0 is now */
	error = step_to(v, until_ns);
	if (error || v->shown->from_ns < v->shown->until_ns)
		return error;
	say(v, "nothing older is kept");
	return step_forth(v);
}

int live_view_refresh(struct live_view *v, double seconds, uint64_t taken, double own_cpu)
{
	char line[MESSAGE_BYTES];
	bool stays = v->paused && v->shown;
	int error = stays ? 0 : show(v);

	if (!stays && !*v->only_text)
		v->rate = seconds > 0 ? taken / seconds : 0;
	v->own_cpu = own_cpu;
	terminal_last_line(line, sizeof(line));
	if (*line && !v->asked)
		say(v, "%s", line);
	if (!error)
		error = prepare(v);
	if (!error)
		draw(v);
	return error;
}

int live_view_catch_up(struct live_view *v)
{
	return v->paused && v->shown ? 0 : show(v);
}

/* ---- saving ---- */

/* as of -o: it holds kernel addresses and others' command lines */
#define SAVED_MODE 0600

/* JSON has the waits of idle threads, too, in their places. */
static int write_json(const struct live_shown *shown, const struct stack_writer *writer,
		      const struct stack_summary *summary)
{
	struct stack_entry *sorted = calloc(shown->nr_all + 1, sizeof(*sorted));
	int error;

	if (!sorted)
		return -ENOMEM;
	if (shown->nr_all)
		memcpy(sorted, shown->entries, shown->nr_all * sizeof(*sorted));
	stack_entries_sort(sorted, shown->nr_all, summary->measure);
	json_print(writer->out, json_object_get(shown->start));
	error = stack_report_json(writer, summary, sorted, shown->nr_all);
	free(sorted);
	return error;
}

static int write_stacks(FILE *out, const struct live_shown *shown, const char *name,
			uint64_t *left_out)
{
	const struct stack_format *format = stack_format_of(name);
	struct stack_writer writer;
	struct stack_summary summary;
	int error;

	shown->complete(shown->arg);
	writer = shown->writer;
	summary = shown->summary;
	writer.out = out;
	writer.top = 0;
	writer.left_out = left_out;
	error = names_count(&summary.names, &writer.names, shown->entries, shown->nr_all);
	if (!error && format == stack_format_json)
		error = write_json(shown, &writer, &summary);
	else if (!error)
		error = format->write(&writer, &summary, shown->entries, shown->nr);
	return error;
}

/* what the selected pane shows: the timeline, or stacks */
static int write_to(int fd, const struct live_view *v, uint64_t *left_out)
{
	FILE *out = fdopen(fd, "w");
	int error;

	if (!out) {
		close(fd);
		return -ENOMEM;
	}
	error = panes_show_timeline(v->panes) ? v->source.save_timeline(v->source.arg, out, v->name)
					      : write_stacks(out, v->shown, v->name, left_out);
	if (!error && fflush(out))
		error = -errno;
	if (fclose(out) && !error)
		error = -errno;
	return error;
}

/* Renames it, unless there is a file of that name. 0 or -errno */
static int rename_to_new(const char *from, const char *to)
{
	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	/* not every file system has one of these */
	if ((errno != EINVAL && errno != ENOSYS) || link(from, to))
		return -errno;
	unlink(from);
	return 0;
}

static char part[PATH_MAX]; /* the file that is being written; "": none */

static void remove_part(void)
{
	if (*part)
		unlink(part);
}

static int save_part(const struct live_view *v, bool replace, uint64_t *left_out)
{
	int fd = mkostemps(part, sizeof(".part") - 1, O_CLOEXEC), error;

	if (fd < 0)
		return -errno;
	fchmod(fd, SAVED_MODE);
	error = write_to(fd, v, left_out);
	/* a file that has come meanwhile is not replaced either */
	if (!error && !replace)
		error = rename_to_new(part, v->name);
	else if (!error && rename(part, v->name))
		error = -errno;
	if (error)
		unlink(part);
	return error;
}

static bool has_format(const struct live_view *v)
{
	return panes_show_timeline(v->panes) ? v->source.has_timeline_format(v->source.arg, v->name)
					     : stack_format_of(v->name) != NULL;
}

/*
 * Writes the report to the file that was named, in the format of its name's ending. 0; -EEXIST if
 * there is one and it must not be replaced; -errno
 */
static int save_as(const struct live_view *v, bool replace, uint64_t *left_out)
{
	int error;

	if (!replace && !faccessat(AT_FDCWD, v->name, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	error = snprintf(part, sizeof(part), "%s.XXXXXX.part", v->name) >= (int)sizeof(part)
			? -ENAMETOOLONG
			: save_part(v, replace, left_out);
	*part = 0;
	return error;
}

/* ---- answers ---- */

static void ask(struct live_view *v, enum asked question)
{
	v->asked = question;
	*v->input = 0;
}

static void search(struct live_view *v)
{
	char wrong[128];

	if (*v->input)
		memcpy(v->search, v->input, sizeof(v->search));
	if (panes_search(v->panes, v->search, wrong, sizeof(wrong)))
		say(v, "%s", wrong);
	else
		panes_next_match(v->panes, 1);
}

/* pid: of the process that the pattern stands for; 0: none */
static int set_only(struct live_view *v, const char pattern[INPUT_BYTES], uint32_t pid)
{
	struct stack_pattern only = { .text = v->only_text, .pid = pid };
	char wrong[128];

	if (v->paused && !v->nr_steps) {
		say(v, "not while it is paused: p ends the pause");
		return 0;
	}
	if (*pattern && pattern_compile(&only.compiled, pattern, wrong, sizeof(wrong))) {
		say(v, "%s", wrong);
		return 0;
	}
	if (*v->only_text)
		regfree(&v->only.compiled);
	v->only = only;
	memcpy(v->only_text, pattern, sizeof(v->only_text));
	return show(v);
}

static int set_window(struct live_view *v)
{
	bool decays = *v->input == '~';
	char *end;
	double seconds = strtod(v->input + decays, &end);

	if (*v->input && (*end || !(seconds >= 0.001 && seconds < 1e6))) {
		say(v, "not a number of seconds: '%s'", v->input);
		return 0;
	}
	if (v->paused && v->shown && !*v->input) {
		say(v, "not while it is paused: p ends the pause");
		return 0;
	}
	v->window = (struct live_window){ *v->input ? seconds * 1e9 : 0, decays };
	if (v->paused && v->shown && !v->nr_steps) /* the same time's end */
		return step_to(v, v->shown->until_ns);
	return show(v);
}

static void save(struct live_view *v, bool replace)
{
	uint64_t left_out = 0;
	int error;

	if (!has_format(v)) {
		say(v, "the name must end in %s", endings(v));
		return;
	}
	error = v->shown ? save_as(v, replace, &left_out) : -EAGAIN;
	if (error == -EEXIST)
		ask(v, ASKED_REPLACE);
	else if (error)
		say(v, "cannot write '%s': %s", v->name, strerror(-error));
	else if (left_out)
		say(v, "saved in '%s', without %s: no room", v->name,
		    counted(left_out, v->source.counted).text);
	else
		say(v, "saved in '%s'", v->name);
}

static int answer(struct live_view *v)
{
	enum asked question = v->asked;

	v->asked = ASKED_NOTHING;
	switch (question) {
	case ASKED_SEARCH:
		search(v);
		return 0;
	case ASKED_ONLY:
		return set_only(v, v->input, 0);
	case ASKED_WINDOW:
		return set_window(v);
	case ASKED_NAME:
		memcpy(v->name, v->input, sizeof(v->name));
		if (*v->name)
			save(v, false);
		return 0;
	case ASKED_REPLACE:
		if (!strcmp(v->input, "y"))
			save(v, true);
		return 0;
	default:
		return 0;
	}
}

static void delete_last(char *input)
{
	size_t length = strlen(input);

	while (length && ((unsigned char)input[--length] & 0xc0) == 0x80)
		;
	input[length] = 0;
}

static int type(struct live_view *v, struct terminal_key key)
{
	size_t length = strlen(v->input);
	int bytes;

	if (key.key == '\r' || key.key == '\n' || (key.special && key.key == KEY_ENTER))
		return answer(v);
	if (!key.special && (key.key == ESCAPE || key.key == 7)) {
		v->asked = ASKED_NOTHING;
	} else if (key.special ? key.key == KEY_BACKSPACE : key.key == 127 || key.key == 8) {
		delete_last(v->input);
	} else if (!key.special && key.key == 21) { /* Ctrl-U */
		*v->input = 0;
	} else if (!key.special && key.key >= ' ' && length + 8 < sizeof(v->input)) {
		bytes = u8_uctomb((uint8_t *)v->input + length, key.key, 6);
		v->input[length + (bytes > 0 ? bytes : 0)] = 0;
		if (!questions[v->asked].line_end)
			return answer(v);
	}
	return 0;
}

/* ---- keys ---- */

static void change_interval(struct live_view *v, int by)
{
	if (by < 0 ? v->interval == 0 : v->interval + 1 == NR_INTERVALS)
		return;
	v->interval += by;
	v->source.set_interval(v->source.arg, intervals_ns[v->interval]);
}

static int pause_or_go_on(struct live_view *v)
{
	v->paused = !v->paused;
	v->nr_steps = 0;
	if (!v->paused)
		return show(v);
	if (v->shown) /* while they are there */
		v->source.note_processes(v->source.arg);
	return 0;
}

static int reset(struct live_view *v)
{
	v->source.reset(v->source.arg);
	v->nr_steps = 0;
	v->paused = false;
	return show(v);
}

/* False: it is none of the view's own. */
static bool take_own_key(struct live_view *v, struct terminal_key key, int *error)
{
	if (key.special)
		return false;
	switch (key.key) {
	case 'q':
		v->source.end(v->source.arg);
		return true;
	case '?':
	case 'h':
		v->help = !v->help;
		return true;
	case 'p':
	case ' ':
		*error = pause_or_go_on(v);
		return true;
	case 'r':
		*error = reset(v);
		return true;
	case 'w':
		ask(v, ASKED_WINDOW);
		return true;
	case 's':
		ask(v, ASKED_NAME);
		return true;
	case 'o':
		v->output = !v->output;
		v->help = false;
		return true;
	case '/':
		ask(v, ASKED_SEARCH);
		return true;
	case '&':
		ask(v, ASKED_ONLY);
		return true;
	case '[':
		*error = step_back(v);
		return true;
	case ']':
		*error = step_forth(v);
		return true;
	case '<':
	case '>':
		change_interval(v, key.key == '<' ? -1 : 1);
		return true;
	case 12: /* Ctrl-L */
		clearok(stdscr, TRUE);
		return true;
	default:
		return false;
	}
}

static void take_mouse(struct live_view *v)
{
	int line, column, wheel;

	if (terminal_mouse(&line, &column, &wheel))
		panes_mouse(v->panes, line, column, wheel);
}

static int show_process(struct live_view *v, uint32_t pid)
{
	char pattern[INPUT_BYTES] = "";

	snprintf(pattern, sizeof(pattern), "^%" PRIu32 "$", pid);
	return set_only(v, pattern, pid);
}

static int take_key(struct live_view *v, struct terminal_key key)
{
	uint32_t process;
	bool covered;
	int error = 0;

	if (key.special && (key.key == KEY_RESIZE || key.key == KEY_REFRESH))
		return 0;
	if (v->asked)
		return type(v, key);
	*v->message = 0;
	if (take_own_key(v, key, &error))
		return error;
	covered = v->help || v->output;
	v->help = v->output = false;
	if (covered && (key.special || key.key == '\r')) /* nobody saw what would be selected */
		return 0;
	if (key.special && key.key == KEY_MOUSE)
		take_mouse(v);
	else
		panes_key(v->panes, key);
	process = panes_process(v->panes);
	return process ? show_process(v, process) : 0;
}

int live_view_work(struct live_view *v)
{
	const uint64_t end = clock_ns() + WORK_NS;
	struct terminal_key key;
	bool any = false;
	int error = 0;

	/* each may make a report; a key that is held must not hold the measuring up */
	while (!error && clock_ns() < end && ((key = terminal_key()).key || key.special)) {
		any = true;
		error = take_key(v, key);
		if (!error)
			error = prepare(v);
	}
	if ((any || !v->is_drawn) && !error)
		draw(v);
	return error;
}

/* ---- its life ---- */

int live_view_new(struct live_view **view, const struct live_source *source)
{
	struct live_view *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->source = *source;
	v->doing = escaped(source->doing);
	v->panes = panes_new();
	while (intervals_ns[v->interval] < LIVE_INTERVAL_NS)
		v->interval++;
	if (!v->doing || !v->panes) {
		live_view_free(v);
		return -ENOMEM;
	}
	terminal_on_reset(remove_part);
	if (source->note)
		say(v, "%s", source->note);
	draw(v);
	*view = v;
	return 0;
}

void live_view_free(struct live_view *v)
{
	if (!v)
		return;
	panes_free(v->panes);
	if (*v->only_text)
		regfree(&v->only.compiled);
	free(v->steps);
	free(v->doing);
	free(v);
}
