// SPDX-License-Identifier: GPL-2.0-or-later
/* A line for each thread: its shares, and a timeline drawn in block characters. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/order.h"
#include "process/thread_state.h"
#include "report/counted.h"
#include "report/measure.h"
#include "stacks_abi.h"
#include "wallprof/wall_text.h"

#define MAX_THREADS    40 /* with a line of their own */
#define MAX_CELLS      512
#define LEFT_COLUMNS   66 /* beside the timeline */
#define NARROW_COLUMNS 49 /* without PID, and names cut short: where the others leave no room */
#define MIN_CELLS      8

static const char legend[] = "█ running ░ waiting · sleeping ╌ uninterruptible × lost";
#define LEGEND_COLUMNS 55

struct layout {
	int width;
	bool narrow;
	uint32_t cells;
};

struct cell {
	uint64_t ns[NR_WALL_STATES], uninterruptible_ns;
};

struct lane {
	const struct wall *wall;
	struct cell cells[MAX_CELLS];
	uint32_t nr;
};

/* the share of a cell that an interval covers is added to it */
static int add_to_cells(void *arg, const struct life *life, const struct interval *i)
{
	struct lane *lane = arg;
	const struct wall *w = lane->wall;
	const struct stack_entry *key = wall_key(w, i->key);
	double width = (double)(w->to_ns - w->from_ns + 1) / lane->nr;
	uint32_t first = (i->from_ns - w->from_ns) / width, last = (i->to_ns - w->from_ns) / width;

	(void)life;
	for (uint32_t c = first; c <= last && c < lane->nr; c++) {
		double from = w->from_ns + c * width, to = from + width;

		from = from < i->from_ns ? i->from_ns : from;
		to = to > i->to_ns ? i->to_ns : to;
		if (to <= from)
			continue;
		lane->cells[c].ns[i->state] += to - from;
		if (i->state == WALL_BLOCKED && key &&
		    STACK_STATE(key->key.flags) == THREAD_UNINTERRUPTIBLE)
			lane->cells[c].uninterruptible_ns += to - from;
	}
	return 0;
}

struct glyph {
	const char *text, *colour;
};

/* What the cell is most of. How high a running one is says how much of it ran. */
static struct glyph glyph_of(const struct cell *cell)
{
	static const char *const heights[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	uint64_t all = 0, running = cell->ns[WALL_RUNNING];
	int most = 0;

	for (int state = 0; state < NR_WALL_STATES; state++) {
		all += cell->ns[state];
		if (cell->ns[state] > cell->ns[most])
			most = state;
	}
	if (!all)
		return (struct glyph){ " ", "" };
	if (cell->ns[WALL_LOST])
		return (struct glyph){ "×", "35" };
	if (running * 16 >= all)
		return (struct glyph){ heights[running * 8 / (all + 1)], "32" };
	if (most == WALL_WAITING)
		return (struct glyph){ "░", "33" };
	return cell->uninterruptible_ns * 2 > all ? (struct glyph){ "╌", "31" }
						  : (struct glyph){ "·", "34" };
}

static void put_cells(const struct wall *w, const struct lane *lane, bool colours)
{
	const char *now = "";

	for (uint32_t i = 0; i < lane->nr; i++) {
		struct glyph glyph = glyph_of(&lane->cells[i]);

		if (colours && strcmp(glyph.colour, now)) {
			fprintf(w->writer.out, "\033[%sm", glyph.colour);
			now = glyph.colour;
		}
		fputs(glyph.text, w->writer.out);
	}
	if (*now)
		fputs("\033[0m", w->writer.out);
}

/* "S 98.1 D 0.4", the largest first two */
static void put_blocked(FILE *out, const struct life_sums *sums, uint64_t life_ns)
{
	char text[32] = "";
	int first = -1, second = -1;

	for (int state = 0; state < NR_THREAD_STATES; state++) {
		if (!sums->blocked_ns[state])
			continue;
		if (first < 0 || sums->blocked_ns[state] > sums->blocked_ns[first]) {
			second = first;
			first = state;
		} else if (second < 0 || sums->blocked_ns[state] > sums->blocked_ns[second]) {
			second = state;
		}
	}
	if (first >= 0)
		snprintf(text, sizeof(text), "%c %.1f", thread_state_letter(first),
			 percent_of(sums->blocked_ns[first], life_ns));
	if (second >= 0)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %c %.1f",
			 thread_state_letter(second),
			 percent_of(sums->blocked_ns[second], life_ns));
	fprintf(out, " %-13s", text);
}

static void put_comm(FILE *out, const char *comm, int width)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	print_escaped(memory, comm);
	if (!fclose(memory))
		fprintf(out, "%-*s", width, text);
	free(text);
}

static int put_life(const struct wall *w, const struct life *life, const struct life_sums *sums,
		    const struct layout *layout, bool colours)
{
	struct lane *lane = calloc(1, sizeof(*lane));
	const struct timeline_visitor visitor = { .interval = add_to_cells, .arg = lane };
	uint64_t ns = life->to_ns - life->from_ns;
	int error;

	if (!lane)
		return -ENOMEM;
	lane->wall = w;
	lane->nr = layout->cells;
	error = timeline_visit(life, &visitor);
	if (!layout->narrow)
		fprintf(w->writer.out, "%7" PRIu32 " ", life->pid);
	fprintf(w->writer.out, "%7" PRIu32 " ", life->tid);
	put_comm(w->writer.out, life->comm, layout->narrow ? 15 : 20);
	fprintf(w->writer.out, " %5.1f %5.1f", percent_of(sums->ns[WALL_RUNNING], ns),
		percent_of(sums->ns[WALL_WAITING], ns));
	put_blocked(w->writer.out, sums, ns);
	if (sums->ns[WALL_LOST])
		fprintf(w->writer.out, "lost %.1f%% ", percent_of(sums->ns[WALL_LOST], ns));
	put_cells(w, lane, colours);
	putc('\n', w->writer.out);
	free(lane);
	return error;
}

static struct layout layout_of(const struct wall *w)
{
	struct winsize size;
	int cells;
	const char *columns = getenv("COLUMNS");
	struct layout layout = { .width = columns ? atoi(columns) : 0 };

	if (layout.width <= 0 && !ioctl(fileno(w->writer.out), TIOCGWINSZ, &size))
		layout.width = size.ws_col;
	if (layout.width <= 0)
		layout.width = 132;
	layout.narrow = layout.width < LEFT_COLUMNS + MIN_CELLS;
	cells = layout.width - (layout.narrow ? NARROW_COLUMNS : LEFT_COLUMNS);
	layout.cells = clamped(cells, MIN_CELLS, MAX_CELLS);
	return layout;
}

/* The legend is beside the columns' names if that fits, or above them. */
static void put_head(FILE *out, const struct layout *layout)
{
	bool beside = LEFT_COLUMNS + LEGEND_COLUMNS <= layout->width;

	if (!beside)
		fprintf(out, "%s\n", legend);
	if (!layout->narrow)
		fprintf(out, "%7s ", "PID");
	fprintf(out, "%7s %-*s %5s %5s BLOCKED%%", "TID", layout->narrow ? 15 : 20, "NAME", "RUN%",
		"WAIT%");
	if (beside)
		fprintf(out, "%6s%s", "", legend);
	putc('\n', out);
}

/* the threads that had most to do, or waited for a CPU or a disk; then in order of their numbers */
struct ranked {
	size_t life;
	uint64_t rank;
};

static int highest_first(const void *left, const void *right)
{
	const struct ranked *l = left, *r = right;

	return order_of(r->rank, l->rank);
}

static int by_place(const void *left, const void *right)
{
	const struct ranked *l = left, *r = right;

	return l->life < r->life ? -1 : 1;
}

int wall_text_lives(const struct wall *w, const struct wall_sums *sums)
{
	bool colours = isatty(fileno(w->writer.out)) && !getenv("NO_COLOR");
	struct ranked *ranked = calloc(w->nr_lives + 1, sizeof(*ranked));
	size_t nr = 0, shown;
	struct layout layout = layout_of(w);
	int error = ranked ? 0 : -ENOMEM;

	for (size_t i = 0; i < w->nr_lives && !error; i++)
		if (!w->idle[i])
			ranked[nr++] = (struct ranked){
				i, sums->lives[i].ns[WALL_RUNNING] +
					   sums->lives[i].ns[WALL_WAITING] +
					   sums->lives[i].ns[WALL_LOST] +
					   sums->lives[i].blocked_ns[THREAD_UNINTERRUPTIBLE]
			};
	shown = nr < MAX_THREADS ? nr : MAX_THREADS;
	if (!error) {
		qsort(ranked, nr, sizeof(*ranked), highest_first);
		qsort(ranked, shown, sizeof(*ranked), by_place);
	}
	put_head(w->writer.out, &layout);
	for (size_t i = 0; i < shown && !error; i++)
		error = put_life(w, &w->lives[ranked[i].life], &sums->lives[ranked[i].life],
				 &layout, colours);
	if (nr > shown)
		fprintf(w->writer.out, "and %zu more threads, which ran or waited for a CPU less\n",
			nr - shown);
	if (w->nr_lives > nr)
		fprintf(w->writer.out, "and %s that were idle, see --idle\n",
			counted(w->nr_lives - nr, "threads").text);
	free(ranked);
	return error;
}
