// SPDX-License-Identifier: GPL-2.0-or-later
/* The timeline for a terminal: a line for each thread, then the stacks with most time, then who was waited for. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <uthash.h>

#include "process/thread_state.h"
#include "stacks_abi.h"
#include "wallprof/wall.h"
#include "wallprof/wall_sums.h"

#define MAX_THREADS	40	/* with a line of their own */
#define DEFAULT_TOP	10	/* stacks and wakers */
#define MAX_CHAIN	8
#define MAX_CELLS	512
#define LEFT_COLUMNS	66	/* beside the timeline */

/* ---- a thread's line ---- */

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
		if (i->state == WALL_BLOCKED && key && STACK_STATE(key->key.flags) == THREAD_UNINTERRUPTIBLE)
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
	return cell->uninterruptible_ns * 2 > all ? (struct glyph){ "╌", "31" } : (struct glyph){ "·", "34" };
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

static double percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * part / of : 0;
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
			 percent(sums->blocked_ns[first], life_ns));
	if (second >= 0)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %c %.1f",
			 thread_state_letter(second), percent(sums->blocked_ns[second], life_ns));
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

static int put_life(const struct wall *w, const struct life *life, const struct life_sums *sums, uint32_t cells,
		    bool colours)
{
	struct lane *lane = calloc(1, sizeof(*lane));
	const struct timeline_visitor visitor = { .interval = add_to_cells, .arg = lane };
	uint64_t ns = life->to_ns - life->from_ns;
	int error;

	if (!lane)
		return -ENOMEM;
	lane->wall = w;
	lane->nr = cells;
	error = timeline_visit(w->timeline, life, &visitor);
	fprintf(w->writer.out, "%7" PRIu32 " %7" PRIu32 " ", life->pid, life->tid);
	put_comm(w->writer.out, life->comm, 20);
	fprintf(w->writer.out, " %5.1f %5.1f", percent(sums->ns[WALL_RUNNING], ns),
		percent(sums->ns[WALL_WAITING], ns));
	put_blocked(w->writer.out, sums, ns);
	if (sums->ns[WALL_LOST])
		fprintf(w->writer.out, "lost %.1f%% ", percent(sums->ns[WALL_LOST], ns));
	put_cells(w, lane, colours);
	putc('\n', w->writer.out);
	free(lane);
	return error;
}

static uint32_t cells_of(const struct wall *w)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	int width = columns ? atoi(columns) : 0;

	if (width <= 0 && !ioctl(fileno(w->writer.out), TIOCGWINSZ, &size))
		width = size.ws_col;
	width = (width <= 0 ? 132 : width) - LEFT_COLUMNS;
	return width < 16 ? 16 : width > MAX_CELLS ? MAX_CELLS : width;
}

/* the threads that had most to do, or waited for a CPU or a disk; then in order of their numbers */
struct ranked {
	size_t life;
	uint64_t rank;
};

static int highest_first(const void *left, const void *right)
{
	const struct ranked *l = left, *r = right;

	return l->rank == r->rank ? 0 : l->rank > r->rank ? -1 : 1;
}

static int by_place(const void *left, const void *right)
{
	const struct ranked *l = left, *r = right;

	return l->life < r->life ? -1 : 1;
}

static int put_lives(const struct wall *w, const struct wall_sums *sums)
{
	bool colours = isatty(fileno(w->writer.out)) && !getenv("NO_COLOR");
	struct ranked *ranked = calloc(w->nr_lives + 1, sizeof(*ranked));
	size_t shown = w->nr_lives < MAX_THREADS ? w->nr_lives : MAX_THREADS;
	uint32_t cells = cells_of(w);
	int error = ranked ? 0 : -ENOMEM;

	for (size_t i = 0; i < w->nr_lives && !error; i++)
		ranked[i] = (struct ranked){ i, sums->lives[i].ns[WALL_RUNNING] + sums->lives[i].ns[WALL_WAITING] +
						 sums->lives[i].ns[WALL_LOST] +
						 sums->lives[i].blocked_ns[THREAD_UNINTERRUPTIBLE] };
	if (!error) {
		qsort(ranked, w->nr_lives, sizeof(*ranked), highest_first);
		qsort(ranked, shown, sizeof(*ranked), by_place);
	}
	fprintf(w->writer.out, "%7s %7s %-20s %5s %5s %-13s %s\n", "PID", "TID", "NAME", "RUN%", "WAIT%",
		"BLOCKED%", "█ running ░ waiting · sleeping ╌ uninterruptible × lost");
	for (size_t i = 0; i < shown && !error; i++)
		error = put_life(w, &w->lives[ranked[i].life], &sums->lives[ranked[i].life], cells, colours);
	if (w->nr_lives > shown)
		fprintf(w->writer.out, "and %zu more threads, which slept most of the time\n",
			w->nr_lives - shown);
	free(ranked);
	return error;
}

/* ---- groups of keys ---- */

static size_t top_of(const struct wall *w)
{
	return w->writer.top ? w->writer.top : DEFAULT_TOP;
}

struct group {
	uint64_t id;
	uint64_t ns[NR_WALL_STATES], all_ns, count;
	uint32_t key, key_of_most;	/* one of its keys; the one with most time */
	uint64_t most_ns;
	UT_hash_handle hh;
};

static struct group *group_of(struct group **groups, uint64_t id)
{
	struct group *group;

	HASH_FIND(hh, *groups, &id, sizeof(id), group);
	if (!group) {
		group = calloc(1, sizeof(*group));
		if (!group)
			return NULL;
		group->id = id;
		HASH_ADD(hh, *groups, id, sizeof(group->id), group);
	}
	return group;
}

static void free_groups(struct group *groups)
{
	struct group *group, *next;

	HASH_ITER(hh, groups, group, next) {
		HASH_DEL(groups, group);
		free(group);
	}
}

static int most_time_first(struct group *left, struct group *right)
{
	if (left->all_ns != right->all_ns)
		return left->all_ns > right->all_ns ? -1 : 1;
	return left->key < right->key ? -1 : 1;
}

static void put_user_frames(const struct wall *w, const struct stack_entry *key)
{
	struct stack_entry shown = *key;

	shown.waker = NULL;
	if (shown.user)
		shown.kernel = NULL;
	stack_print_frames(&w->writer, &shown, 4);
}

/* the same user stack, or the same kernel stack of a kernel thread, of one process */
static int put_top_stacks(const struct wall *w, const struct wall_sums *sums)
{
	struct group *groups = NULL, *group, *next;
	size_t shown = 0;

	for (uint32_t number = 1; number <= w->nr_keys; number++) {
		const struct stack_entry *key = wall_key(w, number);
		uint64_t id = !key ? 0 : key->user ? key->key.user_stack : key->key.kernel_stack;

		if (!id)
			continue;
		group = group_of(&groups, id ^ (uint64_t)key->key.pid << 32);
		if (!group) {
			free_groups(groups);
			return -ENOMEM;
		}
		group->key = number;
		for (int state = 0; state < NR_WALL_STATES; state++) {
			group->ns[state] += sums->keys[number].ns[state];
			group->all_ns += sums->keys[number].ns[state];
		}
	}
	HASH_SORT(groups, most_time_first);
	fprintf(w->writer.out, "\nmost wall-clock time, in seconds\n      WALL   RUNNING   WAITING   BLOCKED\n");
	HASH_ITER(hh, groups, group, next) {
		const struct stack_entry *key = wall_key(w, group->key);

		if (shown++ == top_of(w) || !group->all_ns)
			break;
		fprintf(w->writer.out, "%10.3f%10.3f%10.3f%10.3f  ", group->all_ns / 1e9,
			group->ns[WALL_RUNNING] / 1e9, group->ns[WALL_WAITING] / 1e9,
			group->ns[WALL_BLOCKED] / 1e9);
		print_escaped(w->writer.out, key->key.comm);
		fprintf(w->writer.out, " (%" PRIu32 ")\n", key->key.pid);
		put_user_frames(w, key);
	}
	free_groups(groups);
	return 0;
}

/* ---- who was waited for ---- */

#define INTERRUPT_ID (1ULL << 63)

static uint64_t waker_id(const struct stack_entry *key)
{
	return key->key.flags & STACK_INTERRUPT ? INTERRUPT_ID | key->key.kernel_stack : key->key.tid;
}

static void put_waker_name(const struct wall *w, const struct stack_entry *key)
{
	if (key->key.flags & STACK_INTERRUPT) {
		fputs("an interrupt", w->writer.out);
		return;
	}
	print_escaped(w->writer.out, key->key.comm);
	fprintf(w->writer.out, " (%" PRIu32 ")", key->key.tid);
}

/* for whom each thread waited longest: 0, or the number of the waker's key, by the lives' indices */
struct longest {
	const struct wall *wall;
	uint32_t *waker;
	uint64_t *by_key, *stamp;
	uint64_t most;
	size_t life;
};

static int add_wait(void *arg, const struct life *life, const struct interval *i)
{
	struct longest *l = arg;

	(void)life;
	if (i->state != WALL_BLOCKED || !i->waker)
		return 0;
	if (l->stamp[i->waker] != l->life + 1) {
		l->stamp[i->waker] = l->life + 1;
		l->by_key[i->waker] = 0;
	}
	l->by_key[i->waker] += i->to_ns - i->from_ns;
	if (l->by_key[i->waker] > l->most) {
		l->most = l->by_key[i->waker];
		l->waker[l->life] = i->waker;
	}
	return 0;
}

static int find_longest(const struct wall *w, uint32_t *waker)
{
	struct longest l = { .wall = w, .waker = waker };
	const struct timeline_visitor visitor = { .interval = add_wait, .arg = &l };
	int error = 0;

	l.by_key = calloc(w->nr_keys + 1, sizeof(*l.by_key));
	l.stamp = calloc(w->nr_keys + 1, sizeof(*l.stamp));
	if (!l.by_key || !l.stamp)
		error = -ENOMEM;
	for (l.life = 0; l.life < w->nr_lives && !error; l.life++) {
		l.most = 0;
		error = timeline_visit(w->timeline, &w->lives[l.life], &visitor);
	}
	free(l.by_key);
	free(l.stamp);
	return error;
}

/* Whom the waker itself waited for longest, and so on, until a thread comes again or nobody is known. */
static void put_chain(const struct wall *w, const uint32_t *longest, const struct stack_entry *key)
{
	uint32_t seen[MAX_CHAIN] = {};

	for (int depth = 0; depth < MAX_CHAIN && !(key->key.flags & STACK_INTERRUPT); depth++) {
		size_t life = 0;

		seen[depth] = key->key.tid;
		while (life < w->nr_lives && w->lives[life].tid != key->key.tid)
			life++;
		key = life < w->nr_lives ? wall_key(w, longest[life]) : NULL;
		if (!key)
			return;
		fputs(", which waited longest for ", w->writer.out);
		put_waker_name(w, key);
		for (int i = 0; i <= depth; i++)
			if (seen[i] == key->key.tid)
				return;
	}
}

static int sum_up_wakers(const struct wall *w, const struct wall_sums *sums, struct group **groups)
{
	for (uint32_t number = 1; number <= w->nr_keys; number++) {
		const struct stack_entry *key = wall_key(w, number);
		uint64_t ns = sums->keys[number].waited_for_ns;
		struct group *group;

		if (!key || !sums->keys[number].nr_woken)
			continue;
		group = group_of(groups, waker_id(key));
		if (!group)
			return -ENOMEM;
		group->key = number;
		group->all_ns += ns;
		group->count += sums->keys[number].nr_woken;
		if (ns >= group->most_ns) {
			group->most_ns = ns;
			group->key_of_most = number;
		}
	}
	HASH_SORT(*groups, most_time_first);
	return 0;
}

static int put_wakers(const struct wall *w, const struct wall_sums *sums)
{
	struct group *groups = NULL, *group, *next;
	uint32_t *longest = calloc(w->nr_lives + 1, sizeof(*longest));
	int error = longest ? find_longest(w, longest) : -ENOMEM;
	size_t shown = 0;

	if (!error)
		error = sum_up_wakers(w, sums, &groups);
	if (!error)
		fprintf(w->writer.out, "\nwho was waited for, in seconds blocked\n   BLOCKED   WAKE-UPS\n");
	HASH_ITER(hh, groups, group, next) {
		const struct stack_entry *key = wall_key(w, group->key_of_most);

		if (error || shown++ == top_of(w))
			break;
		fprintf(w->writer.out, "%10.3f %10" PRIu64 "  ", group->all_ns / 1e9, group->count);
		put_waker_name(w, key);
		put_chain(w, longest, key);
		putc('\n', w->writer.out);
		stack_print_frames(&w->writer, key, 4);
	}
	free_groups(groups);
	free(longest);
	return error;
}

int wall_text(const struct wall *w)
{
	struct wall_sums sums;
	int error = wall_sums_make(&sums, w);

	if (error)
		return error;
	error = put_lives(w, &sums);
	if (!error)
		error = put_top_stacks(w, &sums);
	if (!error)
		error = put_wakers(w, &sums);
	wall_sums_free(&sums);
	return error;
}
