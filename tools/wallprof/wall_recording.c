// SPDX-License-Identifier: GPL-2.0-or-later
#include "wallprof/wall_recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct wall_recording {
	struct recording *recording;
	struct wall *wall;
	struct json_lines again; /* reads the file once more */
	struct life *lives;
	size_t nr_lives, lives_room;
	struct stack_entry **keys;
	size_t nr_keys, keys_room;
};

/* ---- lines of one life ---- */

/* what its lines have told so far */
struct told {
	uint64_t at_ns;                  /* intervals reach up to here, */
	uint64_t sampled_ns, nr_samples; /* and samples */
};

static uint32_t take_key(const struct wall_recording *w, struct json_lines *l,
			 struct json_object *object)
{
	uint64_t number = 0;

	json_lines_get_number(l, object, "stack", w->nr_keys, &number);
	return number;
}

static enum wall_state take_state(struct json_lines *l, struct json_object *line)
{
	const char *name = json_lines_string(l, line, "state");

	for (enum wall_state state = 0; state < NR_WALL_STATES; state++)
		if (!strcmp(name, wall_state_name(state)))
			return state;
	json_lines_wrong(l, "'state' is not a period's state");
	return WALL_LOST;
}

static struct interval take_interval(const struct wall_recording *w, struct json_lines *l,
				     const struct life *life, struct told *told,
				     struct json_object *line)
{
	struct interval i = { .state = take_state(l, line), .key = take_key(w, l, line) };
	struct json_object *waker = json_lines_get(l, line, "woken_by", json_type_object);
	uint64_t cpu = i.state == WALL_RUNNING ? NO_CPU : 0, nr_lost = 0;

	i.from_ns = json_lines_number(l, line, "from_ns", JSON_MAX_NUMBER);
	i.to_ns = json_lines_number(l, line, "to_ns", JSON_MAX_NUMBER);
	i.waker = waker ? take_key(w, l, waker) : 0;
	json_lines_get_number(l, line, "cpu", UINT32_MAX - 1, &cpu);
	json_lines_get_number(l, line, "lost", UINT32_MAX, &nr_lost);
	i.cpu = cpu;
	i.nr_lost = nr_lost;
	i.open = json_lines_get_bool(l, line, "open");
	if (i.from_ns != told->at_ns || i.to_ns < i.from_ns || i.to_ns > life->to_ns)
		json_lines_wrong(
			l,
			"the period does not begin where the previous one ended, or is outside the thread's life");
	told->at_ns = i.to_ns;
	return i;
}

static uint64_t take_sample(struct json_lines *l, const struct life *life, struct told *told,
			    struct json_object *line)
{
	uint64_t time_ns = json_lines_number(l, line, "time_ns", JSON_MAX_NUMBER);

	if (time_ns < told->sampled_ns || time_ns > life->to_ns)
		json_lines_wrong(
			l,
			"the sample is earlier than the previous one, or outside the thread's life");
	told->sampled_ns = time_ns;
	told->nr_samples++;
	return time_ns;
}

static struct told told_of(const struct life *life)
{
	return (struct told){ .at_ns = life->from_ns, .sampled_ns = life->from_ns };
}

int wall_recording_visit(struct wall_recording *w, const struct life *life,
			 const struct timeline_visitor *visitor)
{
	struct told told = told_of(life);
	struct json_object *line;
	bool over = false;
	int error = 0;

	if (fseeko(w->again.in, life->place, SEEK_SET))
		return -errno;
	w->again.number = life->place_line;
	while (!error && !over && (line = json_lines_next(&w->again))) {
		const char *type = json_lines_string(&w->again, line, "type");

		if (!strcmp(type, "period")) {
			struct interval i = take_interval(w, &w->again, life, &told, line);

			if (visitor->interval && !*w->again.wrong)
				error = visitor->interval(visitor->arg, life, &i);
		} else if (!strcmp(type, "sample")) {
			uint64_t time_ns = take_sample(&w->again, life, &told, line);

			if (visitor->sample && !*w->again.wrong &&
			    told.nr_samples <= life->nr_samples)
				error = visitor->sample(visitor->arg, life, time_ns,
							take_key(w, &w->again, line));
		} else {
			over = true;
		}
		json_object_put(line);
	}
	if (!error && *w->again.wrong)
		error = -EIO; /* it was read once: another has changed it since */
	return error;
}

/* ---- the whole ---- */

static void take_key_line(struct wall_recording *w, struct json_object *line)
{
	struct recording *r = w->recording;
	struct stack_entry *entry = calloc(1, sizeof(*entry));

	if (!entry || array_reserve(&w->keys, &w->keys_room, w->nr_keys + 1)) {
		json_lines_wrong(&r->lines, "not enough memory for it");
		free(entry);
		return;
	}
	recording_take_stacks(r, line, entry);
	recording_take_bytes(r, sizeof(*entry));
	if (json_lines_number(&r->lines, line, "id", UINT32_MAX - 1) != w->nr_keys + 1)
		json_lines_wrong(&r->lines, "'id' is not the next number");
	w->keys[w->nr_keys] = entry;
	if (json_lines_get_bool(&r->lines, line, "lost")) {
		recording_free_stacks(entry);
		free(entry);
		w->keys[w->nr_keys] = NULL;
	}
	w->nr_keys++;
}

/* The life before must have been told to its end. */
static void end_life(struct wall_recording *w, const struct told *told)
{
	struct life *life = w->nr_lives ? &w->lives[w->nr_lives - 1] : NULL;

	if (life)
		life->nr_samples = told->nr_samples;
	if (life && told->at_ns != life->to_ns)
		json_lines_wrong(
			&w->recording->lines,
			"before this line, the last period of a thread does not reach its end");
}

static void take_life(struct wall_recording *w, struct told *told, struct json_object *line)
{
	struct json_lines *l = &w->recording->lines;
	struct stack_entry thread;
	struct life life = { .recording = w, .place = ftello(l->in), .place_line = l->number };

	end_life(w, told);
	if (array_reserve(&w->lives, &w->lives_room, w->nr_lives + 1)) {
		json_lines_wrong(l, "not enough memory for it");
		return;
	}
	recording_take_stacks(w->recording, line, &thread);
	recording_free_stacks(&thread); /* it has none */
	life.pid = thread.key.pid;
	life.tid = thread.key.tid;
	memcpy(life.comm, thread.key.comm, sizeof(life.comm));
	life.from_ns = json_lines_number(l, line, "from_ns", JSON_MAX_NUMBER);
	life.to_ns = json_lines_number(l, line, "to_ns", JSON_MAX_NUMBER);
	life.nr_periods = json_lines_number(l, line, "periods", JSON_MAX_NUMBER);
	life.nr_lost = json_lines_number(l, line, "lost", JSON_MAX_NUMBER);
	if (life.to_ns < life.from_ns)
		json_lines_wrong(l, "the thread's life ends before it begins");
	recording_take_bytes(w->recording, sizeof(life));
	w->lives[w->nr_lives++] = life;
	*told = told_of(&life);
}

static void take_summary(struct wall_recording *w, struct json_object *line)
{
	json_lines_get_number(&w->recording->lines, line, "boot_ns", JSON_MAX_NUMBER,
			      &w->wall->boot_ns);
	recording_take_summary(w->recording, line);
}

/* True: it was the last line. */
static bool take_line(struct wall_recording *w, struct told *told, struct json_object *line)
{
	struct json_lines *l = &w->recording->lines;
	const char *type = json_lines_string(l, line, "type");
	struct life *life = w->nr_lives ? &w->lives[w->nr_lives - 1] : NULL;

	if (!strcmp(type, "period") && life) {
		take_interval(w, l, life, told, line);
	} else if (!strcmp(type, "sample") && life) {
		take_sample(l, life, told, line);
		take_key(w, l, line);
	} else if (!strcmp(type, "stacks") && !life) {
		take_key_line(w, line);
	} else if (!strcmp(type, "process")) {
		recording_take_process(w->recording, line);
	} else if (!strcmp(type, "thread")) {
		take_life(w, told, line);
	} else if (!strcmp(type, "summary")) {
		if (life && json_lines_get_bool(l, line, "ended_early"))
			life->to_ns = told->at_ns =
				told->at_ns > told->sampled_ns ? told->at_ns : told->sampled_ns;
		end_life(w, told);
		take_summary(w, line);
		return true;
	} else {
		json_lines_wrong(
			l,
			"a line of this 'type' is not part of a timeline, or stands at the wrong place");
	}
	return false;
}

static void fill(struct wall_recording *w)
{
	struct wall *wall = w->wall;
	const struct recording *r = w->recording;

	wall->lives = w->lives;
	wall->nr_lives = w->nr_lives;
	wall->keys = (const struct stack_entry **)w->keys;
	wall->nr_keys = w->nr_keys;
	wall->period_ns = r->period_ns;
	wall->started_ns = r->summary.started_ns;
	wall->command = r->summary.command_line;
	wall->said = r->summary.said;
	wall->writer = recording_writer(r, NULL);
	wall_find_range(wall);
	if (wall_find_idle_lives(wall))
		json_lines_wrong(&w->recording->lines, "not enough memory for it");
}

int wall_recording_read(struct wall_recording **read, struct wall *wall, struct recording *r)
{
	struct wall_recording *w = *read = calloc(1, sizeof(*w));
	struct told told = {};
	struct json_object *line;
	bool whole = false;

	if (!w || json_lines_init(&w->again, r->lines.in))
		return -ENOMEM;
	*w = (struct wall_recording){ .recording = r, .wall = wall, .again = w->again };
	if (!r->period_ns)
		json_lines_wrong(&r->lines, "'sample_ns' is missing, or 0");
	while ((line = json_lines_next(&r->lines))) {
		if (whole)
			json_lines_wrong(&r->lines, "it comes after the summary");
		else
			whole = take_line(w, &told, line);
		json_object_put(line);
	}
	if (!whole)
		json_lines_wrong(&r->lines, "the recording ends without a summary");
	fill(w);
	return *r->lines.wrong ? -EBADMSG : 0;
}

void wall_recording_free(struct wall_recording *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->nr_keys; i++) {
		if (w->keys[i])
			recording_free_stacks(w->keys[i]);
		free(w->keys[i]);
	}
	free(w->keys);
	free(w->wall->idle);
	free(w->lives);
	json_lines_free(&w->again);
	free(w);
}
