// SPDX-License-Identifier: GPL-2.0-or-later
#include "wallprof/wall.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "process/thread_state.h"
#include "report/counted.h"
#include "report/escape.h"
#include "report/idle.h"
#include "report/stack_labels.h"
#include "stacks_abi.h"

const struct wall_format wall_formats[NR_WALL_FORMATS] = {
	{ ".html", wall_html, .record_bytes = 16, .frame_bytes = 8 },
	{ ".svg", wall_svg },
	{ ".json", wall_speedscope, .record_bytes = 60, .frame_bytes = 6,
	  .stack_each_record = true },
	{ ".pftrace", wall_perfetto, .record_bytes = 60, .frame_bytes = 8 },
};

void wall_find_range(struct wall *w)
{
	w->from_ns = w->to_ns = 0;
	for (size_t i = 0; i < w->nr_lives; i++) {
		if (!i || w->lives[i].from_ns < w->from_ns)
			w->from_ns = w->lives[i].from_ns;
		if (w->lives[i].to_ns > w->to_ns)
			w->to_ns = w->lives[i].to_ns;
	}
}

const char *wall_state_name(enum wall_state state)
{
	static const char *const names[] = {
		[WALL_RUNNING] = "running",
		[WALL_WAITING] = "waiting",
		[WALL_BLOCKED] = "blocked",
		[WALL_LOST] = "lost",
	};
	_Static_assert(sizeof(names) / sizeof(names[0]) == NR_WALL_STATES, "a name for each state");

	return names[state];
}

char wall_why(const struct stack_entry *key)
{
	return key ? thread_state_letter(STACK_STATE(key->key.flags)) : 0;
}

char *wall_thread_name(const char *comm, uint32_t pid, uint32_t tid)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print_escaped(out, comm);
	fprintf(out, " (%" PRIu32 "/%" PRIu32 ")", pid, tid);
	return fclose(out) ? NULL : text;
}

int wall_find_idle_lives(struct wall *w)
{
	const struct stack_entry **idle = calloc(w->nr_keys + 1, sizeof(*idle));
	size_t nr = 0;

	w->idle = calloc(w->nr_lives + 1, sizeof(*w->idle));
	if (!idle || !w->idle) {
		free(idle);
		return -ENOMEM;
	}
	for (size_t i = 0; i < w->nr_keys; i++)
		if (w->keys[i] && w->keys[i]->idle)
			idle[nr++] = w->keys[i];
	qsort(idle, nr, sizeof(*idle), stack_entries_by_thread);
	for (size_t i = 0; i < w->nr_lives; i++) {
		const struct stack_entry thread = { .key.pid = w->lives[i].pid,
						    .key.tid = w->lives[i].tid },
					 *wanted = &thread;

		w->idle[i] = bsearch(&wanted, idle, nr, sizeof(*idle), stack_entries_by_thread);
	}
	free(idle);
	return 0;
}

void wall_count_ends(struct wall *w, const struct wall_sums *sums)
{
	static const struct measure time = { .is_time = true, .value_ns = 1 };

	w->ends = (struct stack_summary){ .tool = program_invocation_short_name, .measure = &time };
	for (uint32_t number = 1; number <= w->nr_keys; number++) {
		const struct stack_entry *key = wall_key(w, number);

		if (!key || key->key.end >= NR_END_REASONS)
			continue;
		w->ends.ended[key->key.end] += sums->keys[number].nr;
		for (enum wall_state state = 0; state < NR_WALL_STATES; state++)
			w->ends.ended_value[key->key.end] += sums->keys[number].ns[state];
	}
}

void wall_summary(FILE *out, const struct wall *w)
{
	uint64_t periods = 0, samples = 0, of_machine = losses_of_machine(w->losses, w->nr_losses);

	if (w->said) {
		fputs(w->said, out);
		return;
	}
	for (size_t i = 0; i < w->nr_lives; i++) {
		periods += w->lives[i].nr_periods;
		samples += w->lives[i].nr_samples;
	}
	fprintf(out, "%s: %s, %s off the CPU and %s on it in %.1f s", program_invocation_short_name,
		counted(w->nr_lives, "threads").text, counted(periods, "periods").text,
		counted(samples, "samples").text, (w->to_ns - w->from_ns) / 1e9);
	stack_summary_say_complete(out, &w->ends);
	fprintf(out, ", %" PRIu64 " lost", losses_total(w->losses, w->nr_losses) - of_machine);
	if (of_machine)
		fprintf(out, ", and %" PRIu64 " on the whole machine", of_machine);
	putc('\n', out);
	if (w->only) {
		fprintf(out, "%s: these are only the threads with stacks that match \"",
			program_invocation_short_name);
		print_message(out, w->only);
		fputs("\"\n", out);
	}
	idle_print(out, program_invocation_short_name, w->idle_threads, w->idle_ns);
	stack_summary_print_ends(out, &w->ends);
	losses_print(out, program_invocation_short_name, w->losses, w->nr_losses,
		     periods + samples);
}

/* ---- sums ---- */

struct summing {
	const struct wall *wall;
	struct wall_sums *sums;
	struct life_sums *life;
	uint64_t nr_samples; /* of this life, so far */
};

static int add_interval(void *arg, const struct life *life, const struct interval *i)
{
	struct summing *s = arg;
	const struct stack_entry *key = wall_key(s->wall, i->key);
	uint64_t ns = i->to_ns - i->from_ns;

	(void)life;
	s->life->ns[i->state] += ns;
	if (i->state == WALL_BLOCKED)
		s->life->blocked_ns[key ? STACK_STATE(key->key.flags) : THREAD_SLEEPING] += ns;
	if (key && key->idle)
		return 0;
	s->sums->keys[i->key].nr_blocked += i->state == WALL_BLOCKED;
	if (i->key) {
		s->sums->keys[i->key].ns[i->state] += ns;
		s->sums->keys[i->key].nr++;
	}
	if (i->waker) {
		s->sums->keys[i->waker].waited_for_ns += i->state == WALL_BLOCKED ? ns : 0;
		s->sums->keys[i->waker].nr_woken += i->state == WALL_BLOCKED;
	}
	return 0;
}

static int add_sample(void *arg, const struct life *life, uint64_t time_ns, uint32_t key)
{
	struct summing *s = arg;
	uint64_t run = s->life->ns[WALL_RUNNING];
	/* the shares add up */
	uint64_t ns = run / life->nr_samples + (s->nr_samples++ < run % life->nr_samples);

	(void)time_ns;
	s->sums->keys[key].ns[WALL_RUNNING] += ns;
	s->sums->keys[key].nr++;
	s->life->unsampled_ns -= ns;
	return 0;
}

int wall_sums_make(struct wall_sums *sums, const struct wall *wall)
{
	struct summing s = { .wall = wall, .sums = sums };
	const struct timeline_visitor intervals = { .interval = add_interval, .arg = &s };
	const struct timeline_visitor samples = { .sample = add_sample, .arg = &s };
	int error = 0;

	sums->keys = calloc(wall->nr_keys + 1, sizeof(*sums->keys));
	sums->lives = calloc(wall->nr_lives + 1, sizeof(*sums->lives));
	if (!sums->keys || !sums->lives)
		error = -ENOMEM;
	for (size_t i = 0; i < wall->nr_lives && !error; i++) {
		s.life = &sums->lives[i];
		s.nr_samples = 0;
		error = timeline_visit(&wall->lives[i], &intervals);
		s.life->unsampled_ns = s.life->ns[WALL_RUNNING];
		if (!error && wall->lives[i].nr_samples)
			error = timeline_visit(&wall->lives[i], &samples);
	}
	if (error)
		wall_sums_free(sums);
	return error;
}

void wall_sums_free(struct wall_sums *sums)
{
	free(sums->keys);
	free(sums->lives);
	*sums = (struct wall_sums){};
}

/* ---- labels ---- */

static int take(struct wall_stack *stack, const struct stack_labels *of)
{
	stack->numbers = malloc((of->nr + 1) * sizeof(*stack->numbers));
	if (!stack->numbers)
		return -ENOMEM;
	memcpy(stack->numbers, of->numbers, of->nr * sizeof(*stack->numbers));
	stack->nr = of->nr;
	return 0;
}

/* what a stack's root is called: interrupts have no thread's name */
static struct stack_entry named(const struct stack_entry *key)
{
	struct stack_entry entry = *key;

	if (entry.key.flags & STACK_INTERRUPT)
		strcpy(entry.key.comm, "[interrupt]");
	return entry;
}

int wall_labels_make(struct wall_labels *l, const struct wall *w)
{
	struct stack_labels stacks = { .writer = &w->writer };
	int error = 0;

	*l = (struct wall_labels){ .nr = w->nr_keys + 1 };
	l->labels = stacks.labels = labels_new();
	l->stacks = calloc(l->nr, sizeof(*l->stacks));
	if (!l->labels || !l->stacks)
		error = -ENOMEM;
	for (uint32_t number = 1; number < l->nr && !error; number++) {
		struct stack_entry entry;

		if (!wall_key(w, number) || (w->ids && !w->ids[number - 1]))
			continue;
		entry = named(wall_key(w, number));
		error = stack_labels_of(&stacks, &entry);
		if (!error)
			error = take(&l->stacks[number], &stacks);
	}
	stack_labels_free(&stacks);
	if (error)
		wall_labels_free(l);
	return error;
}

void wall_labels_free(struct wall_labels *l)
{
	for (size_t i = 0; l->stacks && i < l->nr; i++)
		free(l->stacks[i].numbers);
	free(l->stacks);
	if (l->labels)
		labels_free(l->labels);
	*l = (struct wall_labels){};
}
