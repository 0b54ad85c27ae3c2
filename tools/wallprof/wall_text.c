// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The timeline for a terminal: a line for each thread, then the stacks with the most time, then the
 * threads that were waited for.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/order.h"
#include "process/thread_state.h"
#include "report/counted.h"
#include "report/measure.h"
#include "stacks_abi.h"
#include "wallprof/wall.h"

#define MAX_THREADS    40 /* with a line of their own */
#define MAX_CELLS      512
#define LEFT_COLUMNS   66 /* beside the timeline */
#define NARROW_COLUMNS 49 /* without PID, and names cut short: where the others leave no room */
#define MIN_CELLS      8

/* ---- a line for each thread: its shares, and a timeline drawn in block characters ---- */

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

static int put_lives(const struct wall *w, const struct wall_sums *sums)
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

/* ---- groups of keys that are shown as one, with the sums of their times ---- */

#define DEFAULT_TOP 10

static size_t top_of(const struct wall *w)
{
	return w->writer.top ? w->writer.top : DEFAULT_TOP;
}

struct key_group {
	uint64_t id;
	uint64_t ns[NR_WALL_STATES], all_ns, count;
	uint32_t key, key_of_most; /* one of its keys; the one with most time */
	uint64_t most_ns;
	uint32_t thread, nr_threads; /* the last that was added, and how many were */
	bool many_names;             /* not all keys have the same */
	UT_hash_handle hh;
};

/*
 * the group with this ID, new or not: NULL without memory. *groups is NULL at first;
 * hash_free_all() frees them
 */
static struct key_group *key_group_of(struct key_group **groups, uint64_t id)
{
	struct key_group *group;

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

static int most_time_first(struct key_group *left, struct key_group *right)
{
	return order_of(right->all_ns, left->all_ns) ?: order_of(left->key, right->key);
}

/* into the order of their all_ns, the most first */
static void key_groups_sort(struct key_group **groups)
{
	HASH_SORT(*groups, most_time_first);
}

/* ---- the stacks with the most time ---- */

static void put_user_frames(const struct wall *w, const struct stack_entry *key)
{
	struct stack_entry shown = *key;

	shown.waker = NULL;
	if (shown.user)
		shown.kernel = NULL;
	stack_print_frames(&w->writer, &shown, 4);
}

static int by_thread(const void *left, const void *right, void *wall)
{
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
	uint32_t of_left = wall_key(wall, l)->key.tid, of_right = wall_key(wall, r)->key.tid;

	return order_of(of_left, of_right) ?: order_of(l, r);
}

/*
 * the numbers of all keys, those of a thread one after the other; the caller frees it. NULL: no
 * memory
 */
static uint32_t *keys_by_thread(const struct wall *w, size_t *nr)
{
	uint32_t *numbers = calloc(w->nr_keys + 1, sizeof(*numbers));

	*nr = 0;
	for (uint32_t number = 1; numbers && number <= w->nr_keys; number++)
		if (wall_key(w, number))
			numbers[(*nr)++] = number;
	if (numbers)
		qsort_r(numbers, *nr, sizeof(*numbers), by_thread, (void *)w);
	return numbers;
}

static void add_key(const struct wall *w, const struct wall_sums *sums, struct key_group *group,
		    uint32_t number)
{
	const struct stack_key *key = &wall_key(w, number)->key;

	if (!group->nr_threads || group->thread != key->tid)
		group->nr_threads++;
	if (group->key && strcmp(wall_key(w, group->key)->key.comm, key->comm))
		group->many_names = true;
	group->thread = key->tid;
	group->key = number;
	for (int state = 0; state < NR_WALL_STATES; state++) {
		group->ns[state] += sums->keys[number].ns[state];
		group->all_ns += sums->keys[number].ns[state];
	}
}

/* the same user stack, or the same kernel stack of a kernel thread, of one process */
static int sum_up_stacks(const struct wall *w, const struct wall_sums *sums,
			 struct key_group **groups)
{
	size_t nr;
	uint32_t *numbers = keys_by_thread(w, &nr);
	int error = numbers ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !error; i++) {
		const struct stack_entry *key = wall_key(w, numbers[i]);
		uint64_t id = key->user ? key->key.user_stack : key->key.kernel_stack;
		struct key_group *group =
			id ? key_group_of(groups, id ^ (uint64_t)key->key.pid << 32) : NULL;

		if (group)
			add_key(w, sums, group, numbers[i]);
		else if (id)
			error = -ENOMEM;
	}
	free(numbers);
	key_groups_sort(groups);
	return error;
}

/* "NAME (PID)", and of several threads how many there are */
static void put_threads(const struct wall *w, const struct key_group *group)
{
	const struct stack_key *key = &wall_key(w, group->key)->key;

	print_escaped(w->writer.out, key->comm);
	if (group->nr_threads == 1)
		fprintf(w->writer.out, " (%" PRIu32 ")\n", key->pid);
	else
		fprintf(w->writer.out, "%s (%" PRIu32 "), %" PRIu32 " threads\n",
			group->many_names ? " and others" : "", key->pid, group->nr_threads);
}

static int put_top_stacks(const struct wall *w, const struct wall_sums *sums)
{
	struct key_group *groups = NULL, *group, *next;
	int error = sum_up_stacks(w, sums, &groups);
	size_t shown = 0;

	if (!error)
		fprintf(w->writer.out,
			"\nmost wall-clock time, in seconds\n      WALL   RUNNING   WAITING   BLOCKED\n");
	HASH_ITER(hh, groups, group, next) {
		const struct stack_entry *key = wall_key(w, group->key);

		if (error || shown++ == top_of(w) || !group->all_ns)
			break;
		fprintf(w->writer.out, "%10.3f%10.3f%10.3f%10.3f  ", group->all_ns / 1e9,
			group->ns[WALL_RUNNING] / 1e9, group->ns[WALL_WAITING] / 1e9,
			group->ns[WALL_BLOCKED] / 1e9);
		put_threads(w, group);
		put_user_frames(w, key);
	}
	hash_free_all(groups);
	return error;
}

/*
 * ---- what was waited for: the threads and interrupts that ended the most blocked time, and what
 * these waited for themselves ----
 */

#define MAX_CHAIN 8

#define INTERRUPT_ID (1ULL << 63)

static uint64_t waker_id(const struct stack_entry *key)
{
	return key->key.flags & STACK_INTERRUPT ? INTERRUPT_ID | key->key.kernel_stack
						: key->key.tid;
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

/*
 * for whom each thread waited longest: 0, or the number of one of the waker's keys, by the lives'
 * indices
 */
struct longest {
	const struct wall *wall;
	uint32_t *waker;
	uint32_t *first;      /* by the keys' numbers: the first key of the same waker */
	uint64_t *ns, *stamp; /* by that */
	uint64_t most;
	size_t life;
};

static int add_wait(void *arg, const struct life *life, const struct interval *i)
{
	struct longest *l = arg;
	uint32_t waker = l->first[i->waker];

	(void)life;
	if (i->state != WALL_BLOCKED || !waker)
		return 0;
	if (l->stamp[waker] != l->life + 1) {
		l->stamp[waker] = l->life + 1;
		l->ns[waker] = 0;
	}
	l->ns[waker] += i->to_ns - i->from_ns;
	if (l->ns[waker] > l->most) {
		l->most = l->ns[waker];
		l->waker[l->life] = waker;
	}
	return 0;
}

static int find_first_keys(const struct wall *w, uint32_t *first)
{
	struct key_group *groups = NULL, *group;
	int error = 0;

	for (uint32_t number = 1; number <= w->nr_keys && !error; number++) {
		if (!wall_key(w, number))
			continue;
		group = key_group_of(&groups, waker_id(wall_key(w, number)));
		if (group && !group->key)
			group->key = number;
		first[number] = group ? group->key : 0;
		error = group ? 0 : -ENOMEM;
	}
	hash_free_all(groups);
	return error;
}

static int find_longest(const struct wall *w, uint32_t *waker)
{
	struct longest l = { .wall = w, .waker = waker };
	const struct timeline_visitor visitor = { .interval = add_wait, .arg = &l };
	int error = 0;

	l.first = calloc(w->nr_keys + 1, sizeof(*l.first));
	l.ns = calloc(w->nr_keys + 1, sizeof(*l.ns));
	l.stamp = calloc(w->nr_keys + 1, sizeof(*l.stamp));
	error = l.first && l.ns && l.stamp ? find_first_keys(w, l.first) : -ENOMEM;
	for (l.life = 0; l.life < w->nr_lives && !error; l.life++) {
		l.most = 0;
		error = timeline_visit(&w->lives[l.life], &visitor);
	}
	free(l.first);
	free(l.ns);
	free(l.stamp);
	return error;
}

/*
 * Whom the waker itself waited for longest, and so on, until a thread comes again or nobody is
 * known.
 */
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

static int sum_up_wakers(const struct wall *w, const struct wall_sums *sums,
			 struct key_group **groups)
{
	for (uint32_t number = 1; number <= w->nr_keys; number++) {
		const struct stack_entry *key = wall_key(w, number);
		uint64_t ns = sums->keys[number].waited_for_ns;
		struct key_group *group;

		if (!key || !sums->keys[number].nr_woken)
			continue;
		group = key_group_of(groups, waker_id(key));
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
	key_groups_sort(groups);
	return 0;
}

static int put_wakers(const struct wall *w, const struct wall_sums *sums)
{
	struct key_group *groups = NULL, *group, *next;
	uint32_t *longest = calloc(w->nr_lives + 1, sizeof(*longest));
	int error = longest ? find_longest(w, longest) : -ENOMEM;
	size_t shown = 0;

	if (!error)
		error = sum_up_wakers(w, sums, &groups);
	if (!error)
		fprintf(w->writer.out,
			"\nwhat was waited for, in seconds blocked\n   BLOCKED   WAKE-UPS\n");
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
	hash_free_all(groups);
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
