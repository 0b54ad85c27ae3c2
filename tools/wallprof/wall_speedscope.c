// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The timeline for speedscope: a profile for each thread, in order of time (its
 * file-format-schema.json).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/order.h"
#include "process/thread_state.h"
#include "report/page_text.h"
#include "stacks_abi.h"
#include "wallprof/wall.h"

/* frames of our own, before those of the labels: what the time was spent with */
enum {
	FRAME_WAITING,
	FRAME_LOST,
	FRAME_RUNNING,
	FRAME_BLOCKED,
	NR_FRAMES = FRAME_BLOCKED + NR_THREAD_STATES
};

struct slice {
	uint32_t key;
	int frame; /* one of ours, -1: none */
	uint64_t ns;
};

struct sample {
	uint64_t time_ns;
	uint32_t key;
};

/* a profile: its slices, and the samples of the interval that comes next */
struct profile {
	const struct wall *wall;
	struct slice *slices;
	size_t nr, room;
	struct sample *samples;
	size_t nr_samples, sample_room;
};

static int add_slice(struct profile *p, uint32_t key, int frame, uint64_t ns)
{
	if (!ns)
		return 0;
	if (array_reserve(&p->slices, &p->room, p->nr + 1))
		return -ENOMEM;
	p->slices[p->nr++] = (struct slice){ key, frame, ns };
	return 0;
}

static int add_sample(void *arg, const struct life *life, uint64_t time_ns, uint32_t key)
{
	struct profile *p = arg;

	(void)life;
	if (array_reserve(&p->samples, &p->sample_room, p->nr_samples + 1))
		return -ENOMEM;
	p->samples[p->nr_samples++] = (struct sample){ time_ns, key };
	return 0;
}

/* each moment is its nearest sample's */
static int add_running(struct profile *p, const struct interval *i)
{
	uint64_t at = i->from_ns;
	int error = p->nr_samples ? 0 : add_slice(p, 0, FRAME_RUNNING, i->to_ns - i->from_ns);

	for (size_t s = 0; s < p->nr_samples && !error; s++) {
		uint64_t until = s + 1 < p->nr_samples
					 ? (p->samples[s].time_ns + p->samples[s + 1].time_ns) / 2
					 : i->to_ns;

		until = clamped(until, at, i->to_ns);
		error = add_slice(p, p->samples[s].key, -1, until - at);
		at = until;
	}
	p->nr_samples = 0;
	return error;
}

static int add_interval(void *arg, const struct life *life, const struct interval *i)
{
	struct profile *p = arg;
	const struct stack_entry *key = wall_key(p->wall, i->key);

	(void)life;
	if (i->state == WALL_RUNNING)
		return add_running(p, i);
	return add_slice(p, i->key,
			 i->state == WALL_WAITING ? FRAME_WAITING
			 : i->state == WALL_LOST
				 ? FRAME_LOST
				 : FRAME_BLOCKED +
					   (key ? STACK_STATE(key->key.flags) : THREAD_SLEEPING),
			 i->to_ns - i->from_ns);
}

static void put_frames(FILE *out, const struct labels *labels)
{
	fputs("{\"name\":\"[waiting]\"},{\"name\":\"[lost]\"},{\"name\":\"[running]\"}", out);
	for (int state = 0; state < NR_THREAD_STATES; state++)
		fprintf(out, ",{\"name\":\"[blocked %c]\"}", thread_state_letter(state));
	for (size_t i = 0; i < labels_count(labels); i++) {
		fputs(",{\"name\":", out);
		page_put_json(out, page_json(labels_get(labels, i)->text));
		putc('}', out);
	}
}

static void put_slice(FILE *out, const struct wall_labels *labels, const struct slice *slice)
{
	const struct wall_stack *stack = &labels->stacks[slice->key];
	const char *comma = "";

	putc('[', out);
	for (uint32_t i = 0; i < stack->nr; i++, comma = ",")
		fprintf(out, "%s%u", comma, NR_FRAMES + stack->numbers[i]);
	if (slice->frame >= 0)
		fprintf(out, "%s%d", comma, slice->frame);
	putc(']', out);
}

static void put_profile(FILE *out, const struct wall *w, const struct wall_labels *labels,
			const struct life *life, const struct profile *p)
{
	char *name = wall_thread_name(life->comm, life->pid, life->tid);

	fputs("{\"type\":\"sampled\",\"name\":", out);
	page_put_json(out, page_json(name ? name : ""));
	free(name);
	fprintf(out,
		",\"unit\":\"nanoseconds\",\"startValue\":%" PRIu64 ",\"endValue\":%" PRIu64
		",\"samples\":[",
		life->from_ns - w->from_ns, life->to_ns - w->from_ns);
	for (size_t i = 0; i < p->nr; i++) {
		if (i)
			putc(',', out);
		put_slice(out, labels, &p->slices[i]);
	}
	fputs("],\"weights\":[", out);
	for (size_t i = 0; i < p->nr; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", p->slices[i].ns);
	fputs("]}", out);
}

int wall_speedscope(const struct wall *w)
{
	struct profile p = { .wall = w };
	const struct timeline_visitor visitor = { add_interval, add_sample, &p };
	struct wall_labels labels;
	int error = wall_labels_make(&labels, w);

	if (error)
		return error;
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"ehperf wallprof\",\"name\":",
	      w->writer.out);
	page_put_json(w->writer.out, page_json(w->command));
	fputs(",\"shared\":{\"frames\":[", w->writer.out);
	put_frames(w->writer.out, labels.labels);
	fputs("]},\"profiles\":[", w->writer.out);
	for (size_t i = 0; i < w->nr_lives && !error; i++) {
		p.nr = p.nr_samples = 0;
		error = wall_visit(w, &w->lives[i], &visitor);
		if (i)
			putc(',', w->writer.out);
		put_profile(w->writer.out, w, &labels, &w->lives[i], &p);
	}
	fputs("]}\n", w->writer.out);
	free(p.slices);
	free(p.samples);
	wall_labels_free(&labels);
	return error;
}
