// SPDX-License-Identifier: GPL-2.0-or-later
#include "wallprof/wall.h"

#include <errno.h>
#include <inttypes.h>

#include "process/thread_state.h"
#include "report/counted.h"
#include "report/idle.h"
#include "stacks_abi.h"
#include "wallprof/wall_sums.h"

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

static int by_thread(const void *left, const void *right)
{
	return stack_entry_by_thread(*(const struct stack_entry *const *)left,
				     *(const struct stack_entry *const *)right);
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
	qsort(idle, nr, sizeof(*idle), by_thread);
	for (size_t i = 0; i < w->nr_lives; i++) {
		const struct stack_entry thread = { .key.pid = w->lives[i].pid,
						    .key.tid = w->lives[i].tid },
					 *wanted = &thread;

		w->idle[i] = bsearch(&wanted, idle, nr, sizeof(*idle), by_thread);
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
	idle_print(out, program_invocation_short_name, w->idle_threads, w->idle_ns);
	stack_summary_print_ends(out, &w->ends);
	losses_print(out, program_invocation_short_name, w->losses, w->nr_losses,
		     periods + samples);
}
