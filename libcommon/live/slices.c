// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/slices.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "live/lanes.h"
#include "report/escape.h"
#include "report/frame_names.h"
#include "report/json.h"
#include "report/page_text.h"
#include "report/stack_labels.h"

#define ANEW_NS          20000000000 /* after which numbers begin anew, */
#define ANEW_BYTES       (8 << 20)   /* or after so many bytes of what is known */
#define LANES_BYTES      (1 << 20)   /* of a document */
#define MAX_ESCAPED_COMM 128
/* names of one frame are cut to this if there is no room even for them */
#define CUT_BYTES 256

struct known_frame {
	struct frame_key key;
	UT_hash_handle hh;
	/* numbers of its names, root first: functions inlined in it have their own */
	uint32_t first, nr;
};

struct node_key {
	uint32_t caller, frame;
};

struct known_node {
	struct node_key key;
	UT_hash_handle hh;
	uint32_t number;
};

struct known_stack {
	struct stack_key key;
	UT_hash_handle hh;
	uint32_t number;
};

struct known_process {
	uint32_t pid;
	UT_hash_handle hh;
};

/* an array of the document */
struct part {
	FILE *out;
	char *text;
	size_t bytes;
	bool any;
};

enum { PROCESSES, FRAMES, NODES, STACKS, VALUES, IDLE, LANES, NR_PARTS };
static const char *const part_names[NR_PARTS] = { "processes", "frames", "nodes", "stacks",
						  "values",    "idle",   "lanes" };

struct slices {
	struct known_frame *frames;
	struct known_node *nodes;
	struct known_stack *stacks;
	struct known_process *processes;
	uint32_t nr_frames, nr_nodes, nr_stacks;
	uint64_t began_ns;
	size_t bytes; /* printed since */
	/* of the document: */
	const struct live_shown *shown;
	struct part parts[NR_PARTS];
	size_t max_bytes, defined; /* bytes of frames, stacks and processes, about */
	size_t lanes_bytes, lanes_left;
};

struct slices *slices_new(void)
{
	return calloc(1, sizeof(struct slices));
}

void slices_forget(struct slices *s)
{
	hash_free_all(s->frames);
	hash_free_all(s->nodes);
	hash_free_all(s->stacks);
	hash_free_all(s->processes);
	*s = (struct slices){};
}

void slices_free(struct slices *s)
{
	if (!s)
		return;
	slices_forget(s);
	free(s);
}

/* ---- JSON ---- */

/* Prints the object, and frees it. How many bytes it has */
static size_t put_json(FILE *out, struct json_object *object)
{
	const char *text = json_text(object);
	size_t bytes = strlen(text);

	fwrite(text, 1, bytes, out);
	json_object_put(object);
	return bytes;
}

/* the part's stream, with a comma if something is there already */
static FILE *more(struct slices *s, int part)
{
	if (s->parts[part].any)
		putc(',', s->parts[part].out);
	s->parts[part].any = true;
	return s->parts[part].out;
}

void slices_print_start(FILE *out, struct json_object *start, const struct measure *measure)
{
	fprintf(out, "{\"unit\":\"%s\",\"counted\":\"%s\",\"value_ns\":%" PRIu64 ",\"start\":%s}",
		measure->is_time ? "ns" : measure_unit(measure), measure->counted,
		measure->value_ns, json_text(start));
}

/* ---- frames ---- */

/* a name as it is shown; NULL: no memory */
static char *text_of(const struct frame_name *name, const char *plain)
{
	struct text *text = text_begin();

	if (!text)
		return NULL;
	if (plain)
		print_escaped(text->out, plain);
	else
		frame_name_print(text->out, name);
	if (!plain && name->inlined)
		fputs("_[i]", text->out);
	return text_end(text);
}

struct cut_name {
	char text[MAX_LABEL_BYTES + sizeof("…")];
};

static const char *cut(const char *text, size_t bytes, struct cut_name *name)
{
	if (!text || strnlen(text, bytes + 1) <= bytes)
		return text;
	snprintf(name->text, sizeof(name->text), "%.*s…", (int)bytes, text);
	return name->text;
}

static int put_frame(struct slices *s, const struct frame_name *full, const struct frame_key *key)
{
	enum frame_kind kind = key->kernel ? KIND_KERNEL : stack_labels_kind(full, key->frame);
	size_t bytes = s->defined < s->max_bytes ? MAX_LABEL_BYTES : CUT_BYTES;
	struct cut_name symbol, module, region, source;
	struct frame_name cut_name = *full, *name = &cut_name;
	FILE *out = more(s, FRAMES);
	char *text;

	name->symbol = cut(full->symbol, bytes, &symbol);
	/* a long one is left out anyhow */
	name->raw_symbol = bytes < MAX_LABEL_BYTES ? NULL : full->raw_symbol;
	name->module = cut(full->module, bytes, &module);
	name->region = cut(full->region, bytes, &region);
	name->source = cut(full->source, bytes, &source);
	text = text_of(name, NULL);
	if (!text)
		return -ENOMEM;
	fprintf(out, "[\"%c\",", frame_kind_letters[kind]);
	if (name->symbol && !strcmp(name->symbol, text))
		putc('0', out);
	else
		s->defined += put_json(out, page_json(text));
	putc(',', out);
	s->defined += put_json(out, stack_json_frame(name, key->kernel ? 0 : key->frame));
	putc(']', out);
	s->nr_frames++;
	free(text);
	return 0;
}

/* NULL: no memory */
static const struct known_frame *frame_of(struct slices *s, uint64_t frame, uint32_t pid,
					  bool kernel)
{
	struct frame_key key = frame_key_of(pid, frame, kernel);
	struct frame_name all[MAX_FRAME_NAMES];
	struct known_frame *known;
	size_t nr;

	HASH_FIND(hh, s->frames, &key, sizeof(key), known);
	if (known)
		return known;
	nr = frame_names_of(&s->shown->writer.names, pid, frame, kernel, all);
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	*known = (struct known_frame){ .key = key, .first = s->nr_frames, .nr = nr };
	HASH_ADD(hh, s->frames, key, sizeof(known->key), known);
	while (nr-- > 0)
		if (put_frame(s, &all[nr], &key))
			return NULL;
	return known;
}

/* The node of this frame below the caller's: 0 or -ENOMEM */
static int add_node(struct slices *s, uint32_t *node, uint32_t frame)
{
	struct node_key key = { *node, frame };
	struct known_node *known;

	HASH_FIND(hh, s->nodes, &key, sizeof(key), known);
	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known)
			return -ENOMEM;
		*known = (struct known_node){ .key = key, .number = ++s->nr_nodes };
		HASH_ADD(hh, s->nodes, key, sizeof(known->key), known);
		s->defined +=
			fprintf(more(s, NODES), "%" PRIu32 ",%" PRIu32, key.caller, key.frame);
	}
	*node = known->number;
	return 0;
}

/*
 * *leaf: its node, 0: no frames. 0, -ENOMEM, or -ENOSPC: the document has no room for all of them
 */
static int add_frames(struct slices *s, const struct stack_frames *frames, uint32_t pid,
		      bool kernel, uint32_t *leaf)
{
	uint32_t first = frames && kernel ? stack_first_kernel_frame(&s->shown->writer, frames) : 0;

	*leaf = 0;
	for (uint32_t i = frames ? frames->nr : 0; i-- > first;) {
		const struct known_frame *frame;

		if (s->defined > s->max_bytes)
			return -ENOSPC;
		frame = frame_of(s, frames->frames[i], pid, kernel);
		for (uint32_t name = 0; frame && name < frame->nr; name++)
			if (add_node(s, leaf, frame->first + name))
				return -ENOMEM;
		if (!frame)
			return -ENOMEM;
	}
	return 0;
}

/* ---- stacks ---- */

static int put_text(FILE *out, const char *text)
{
	char *escaped = text_of(NULL, text);

	if (!escaped)
		return -ENOMEM;
	put_json(out, page_json(escaped));
	free(escaped);
	return 0;
}

/* the leaves of a stack's sides */
struct leaves {
	uint32_t user, kernel;
};

/* as add_frames() */
static int add_sides(struct slices *s, const struct stack_entry *entry, struct leaves *leaves)
{
	return add_frames(s, entry->user, entry->key.pid, false, &leaves->user)
		       ?: add_frames(s, entry->kernel, entry->key.pid, true, &leaves->kernel);
}

/* "THREAD,[ROOT,]USER,KERNEL,{…}" */
static int put_side(struct slices *s, FILE *out, const struct leaves *leaves, const char *thread,
		    const char *root, struct json_object *object)
{
	int error = put_text(out, thread);

	if (error) {
		json_object_put(object);
		return error;
	}
	putc(',', out);
	if (root && *root)
		error = put_text(out, root);
	else if (root)
		putc('0', out);
	fprintf(out, "%s%" PRIu32 ",%" PRIu32 ",", root ? "," : "", leaves->user, leaves->kernel);
	s->defined += put_json(out, object);
	return error;
}

/*
 * 0, -ENOMEM, or -ENOSPC: nothing of it is there but frames and nodes, which a later document need
 * not have. about: its JSON without frames, which is freed
 */
static int put_sides(struct slices *s, const struct stack_entry *entry, const char *root,
		     struct json_object *about)
{
	const struct stack_entry *waker = entry->waker;
	struct leaves own, of_waker;
	int error = add_sides(s, entry, &own) ?: waker ? add_sides(s, waker, &of_waker) : 0;
	FILE *out;

	if (error) {
		json_object_put(about);
		return error;
	}
	out = more(s, STACKS);
	putc('[', out);
	error = put_side(s, out, &own, stack_entry_thread(entry), root, about);
	if (!error && waker) {
		putc(',', out);
		error = put_side(s, out, &of_waker,
				 waker->key.flags & STACK_INTERRUPT ? "[interrupt]"
								    : stack_entry_thread(waker),
				 NULL, stack_json_waker(waker));
	}
	putc(']', out);
	return error;
}

static int put_stack(struct slices *s, const struct stack_entry *entry)
{
	struct stack_entry plain = *entry;

	plain.idle = false; /* it may be in another document */
	return put_sides(s, entry, s->shown->writer.root ? s->shown->writer.root(entry) : "",
			 stack_json_begin(s->shown->summary.measure, &plain));
}

/* stack 0 is the sum of those for which a document had no room: of all states and events */
static int put_others(struct slices *s)
{
	struct {
		struct stack_frames frames;
		uint64_t frame;
	} mark = { .frames.nr = 1 };
	struct stack_entry others = { .key = { .end = END_LOST, .comm = "[others]" },
				      .user = &mark.frames };
	struct measure plain = *s->shown->summary.measure;
	struct json_object *about;

	mark.frames.frames[0] = FRAME_SUMMED(1);
	plain.stack_json = NULL;
	about = stack_json_begin(&plain, &others);
	if (s->shown->writer.root)
		json_add_name(about, "event", others.key.comm);
	if (plain.is_time) {
		json_object_object_add(about, "blocked_ns", json_number(0));
		json_object_object_add(about, "waiting_ns", json_number(0));
	}
	s->nr_stacks = 1;
	return put_sides(s, &others, "", about);
}

static int number_of(struct slices *s, const struct stack_entry *entry, uint32_t *number)
{
	struct known_stack *known;
	int error;

	HASH_FIND(hh, s->stacks, &entry->key, sizeof(entry->key), known);
	*number = known ? known->number : 0;
	if (known || s->defined > s->max_bytes)
		return 0;
	error = put_stack(s, entry);
	if (error)
		return error == -ENOSPC ? 0 : error;
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->key = entry->key;
	*number = known->number = s->nr_stacks++;
	HASH_ADD(hh, s->stacks, key, sizeof(known->key), known);
	return 0;
}

static int put_process(struct slices *s, uint32_t pid)
{
	const struct process_note *note = process_notes_find(s->shown->writer.processes, pid);
	struct json_object *object;
	struct known_process *known;

	HASH_FIND(hh, s->processes, &pid, sizeof(pid), known);
	if (known || !note || s->defined > s->max_bytes)
		return 0;
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->pid = pid;
	HASH_ADD(hh, s->processes, pid, sizeof(known->pid), known);
	object = stack_json_note(note);
	if (object)
		s->defined += put_json(more(s, PROCESSES), object);
	return 0;
}

/* ---- a document ---- */

static int put_entry(struct slices *s, const struct stack_entry *entry)
{
	const struct stack_value *value = &entry->value;
	uint32_t number;
	int error = number_of(s, entry, &number);

	if (!error && number)
		error = put_process(s, entry->key.pid);
	if (!error && number && entry->waker)
		error = put_process(s, entry->waker->key.pid);
	fprintf(more(s, VALUES), "%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, number,
		(uint64_t)value->count, s->shown->summary.measure->value(value),
		(uint64_t)value->blocked_ns, (uint64_t)value->waiting_ns);
	return error;
}

static void put_idle(struct slices *s, const struct stack_entry *entry)
{
	struct known_stack *known = NULL;

	if (entry->idle)
		HASH_FIND(hh, s->stacks, &entry->key, sizeof(entry->key), known);
	if (known)
		fprintf(more(s, IDLE), "%" PRIu32, known->number);
}

static int put_lane(void *arg, const struct lane_thread *thread, const struct lane_piece *pieces,
		    size_t nr)
{
	struct slices *s = arg;
	FILE *out;
	int error;

	if (s->lanes_bytes > LANES_BYTES) {
		s->lanes_left++;
		return -ENOSPC;
	}
	out = more(s, LANES);
	s->lanes_bytes += fprintf(out, "[%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",", thread->id,
				  thread->pid, thread->tid);
	s->lanes_bytes += MAX_ESCAPED_COMM;
	error = put_text(out, thread->comm);
	for (size_t i = 0; i < nr && !error; i++) {
		/* slices that nothing is known of */
		uint32_t gap = i ? pieces[i].first - pieces[i - 1].first - pieces[i - 1].nr : 0;

		if (!i)
			fprintf(out, ",%" PRIu32, pieces[i].first);
		if (gap)
			s->lanes_bytes += fprintf(out, ",%" PRIu32 ",0,0,0,0", gap);
		s->lanes_bytes += fprintf(out, ",%" PRIu32, pieces[i].nr);
		for (int state = 0; state < NR_LANE_STATES; state++)
			s->lanes_bytes +=
				fprintf(out, ",%" PRIu32, (pieces[i].ns[state] + 50000) / 100000);
	}
	putc(']', out);
	return error;
}

/* The time of the lanes' first slice, and what is new. */
static int put_lanes(struct slices *s, FILE *out)
{
	const struct live_shown *shown = s->shown;
	int error;

	s->lanes_bytes = s->lanes_left = 0;
	error = lanes_visit_new(shown->lanes, put_lane, s);
	fputs(",\"lanes_began\":", out);
	put_json(out,
		 json_time(shown->summary.started_ns - shown->from_ns + lanes_from(shown->lanes)));
	fprintf(out, ",\"lanes_left\":%zu", s->lanes_left);
	return error;
}

static int begin_parts(struct slices *s)
{
	int error = 0;

	for (int i = 0; i < NR_PARTS; i++) {
		s->parts[i] = (struct part){};
		s->parts[i].out = open_memstream(&s->parts[i].text, &s->parts[i].bytes);
		if (!s->parts[i].out)
			error = -ENOMEM;
	}
	return error;
}

static int end_parts(struct slices *s, FILE *out, int error)
{
	for (int i = 0; i < NR_PARTS; i++) {
		struct part *part = &s->parts[i];

		if (part->out && fclose(part->out))
			error = -ENOMEM;
		if (!error && fprintf(out, ",\"%s\":[%s]", part_names[i], part->text) > 0 &&
		    i != LANES)
			s->bytes += part->bytes; /* lanes need no numbers that are known */
		free(part->text);
	}
	return error;
}

int slices_print(struct slices *s, FILE *out, const struct live_shown *shown,
		 const struct history_part *last, uint64_t now_ns, size_t max_bytes, bool *begins)
{
	int error;

	if (now_ns - s->began_ns > ANEW_NS || s->bytes > ANEW_BYTES)
		slices_forget(s);
	s->shown = shown;
	s->max_bytes = max_bytes;
	s->defined = 0;
	*begins = !s->nr_stacks;
	if (*begins)
		s->began_ns = now_ns;
	fprintf(out, "{\"begins\":%s,\"summary\":", *begins ? "true" : "false");
	put_json(out, stack_summary_object(&shown->summary));
	error = begin_parts(s);
	if (!error && *begins)
		error = put_others(s);
	for (size_t i = 0; i < shown->nr_all && !error; i++)
		error = put_entry(s, &shown->entries[i]);
	for (size_t i = 0; i < last->nr && !error; i++)
		put_idle(s, &last->entries[i]);
	if (!error && shown->lanes)
		error = put_lanes(s, out);
	error = end_parts(s, out, error);
	fputs("}", out);
	if (error)
		slices_forget(s);
	return error;
}
