// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The timeline as a page for a browser, in one file. report/page/timeline.js describes the data.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "page/controls.css.h"
#include "page/flame.css.h"
#include "page/flame.js.h"
#include "page/timeline-page.js.h"
#include "page/timeline.css.h"
#include "page/timeline.js.h"
#include "report/json.h"
#include "report/page_text.h"
#include "stacks_abi.h"
#include "wallprof/wall.h"

/* ---- the lives: numbers in groups of seven bits, deflated, in base64 ---- */

struct packer {
	uint8_t *bytes;
	size_t used, room;
	uint64_t sampled_ns; /* the last sample of this life */
	size_t nr_intervals, nr_samples;
};

static int put_number(struct packer *p, uint64_t number)
{
	if (array_reserve(&p->bytes, &p->room, p->used + 10))
		return -ENOMEM;
	for (; number >= 128; number >>= 7)
		p->bytes[p->used++] = number | 128;
	p->bytes[p->used++] = number;
	return 0;
}

static int pack_interval(void *arg, const struct life *life, const struct interval *i)
{
	struct packer *p = arg;
	int error = put_number(p, i->state);

	(void)life;
	p->nr_intervals++;
	if (!error)
		error = put_number(p, i->to_ns - i->from_ns);
	if (error || i->state == WALL_RUNNING)
		return error;
	error = put_number(p, i->key);
	if (!error)
		error = put_number(p, i->waker);
	if (!error)
		error = put_number(p, i->state == WALL_LOST ? i->nr_lost : i->cpu);
	return error;
}

#define PACKED_SAMPLE NR_WALL_STATES

static int pack_sample(void *arg, const struct life *life, uint64_t time_ns, uint32_t key)
{
	struct packer *p = arg;
	int error = put_number(p, PACKED_SAMPLE);

	(void)life;
	p->nr_samples++;
	if (!error)
		error = put_number(p, time_ns - p->sampled_ns);
	p->sampled_ns = time_ns;
	return error ? error : put_number(p, key);
}

static void put_base64(FILE *out, const uint8_t *bytes, size_t nr)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < nr; i += 3) {
		uint32_t word = bytes[i] << 16 | (i + 1 < nr ? bytes[i + 1] << 8 : 0) |
				(i + 2 < nr ? bytes[i + 2] : 0);

		putc(digits[word >> 18], out);
		putc(digits[word >> 12 & 63], out);
		putc(i + 1 < nr ? digits[word >> 6 & 63] : '=', out);
		putc(i + 2 < nr ? digits[word & 63] : '=', out);
	}
}

static int put_packed(FILE *out, const struct packer *p)
{
	uLongf size = compressBound(p->used);
	uint8_t *packed = malloc(size);
	int error = packed && compress2(packed, &size, p->bytes, p->used, 6) == Z_OK ? 0 : -ENOMEM;

	if (!error)
		put_base64(out, packed, size);
	free(packed);
	return error;
}

/* ---- the rest, as JSON ---- */

static struct json_object *json_lives(const struct wall *w, struct packer *p, int *error)
{
	const struct timeline_visitor visitor = { pack_interval, pack_sample, p };
	struct json_object *lives = json_object_new_array();

	for (size_t i = 0; i < w->nr_lives && !*error; i++) {
		const struct life *life = &w->lives[i];
		const struct process_note *note =
			process_notes_find(w->writer.processes, life->pid);
		struct json_object *one = json_object_new_array();

		p->nr_intervals = p->nr_samples = 0;
		p->sampled_ns = life->from_ns;
		*error = wall_visit(w, life, &visitor);
		json_object_array_add(one, json_object_new_int64(life->pid));
		json_object_array_add(one, json_object_new_int64(life->tid));
		json_object_array_add(one, page_json(life->comm));
		json_object_array_add(one, json_number(life->from_ns - w->from_ns));
		json_object_array_add(one, json_number(p->nr_intervals));
		json_object_array_add(one, json_number(p->nr_samples));
		json_object_array_add(one, page_json(note && note->cmdline ? note->cmdline : ""));
		json_object_array_add(lives, one);
	}
	return lives;
}

/* As text: an object for each number takes ten times the memory. */
static struct json_object *json_numbers(const struct wall_stack *stack)
{
	struct json_object *numbers = json_object_new_array();
	char *text = NULL;
	size_t size;
	FILE *out = stack->nr ? open_memstream(&text, &size) : NULL;

	if (!out)
		return numbers;
	for (uint32_t i = 0; i < stack->nr; i++)
		fprintf(out, "%c%u", i ? ',' : '[', stack->numbers[i]);
	putc(']', out);
	if (!fclose(out) && text)
		json_object_set_serializer(numbers, json_object_userdata_to_json_string, text,
					   json_object_free_userdata);
	return numbers;
}

static struct json_object *json_stacks(const struct wall_labels *labels)
{
	struct json_object *stacks = json_object_new_array();

	for (size_t i = 0; i < labels->nr; i++)
		json_object_array_add(stacks, json_numbers(&labels->stacks[i]));
	return stacks;
}

static void add_labels(struct json_object *data, const struct labels *labels)
{
	struct json_object *texts = json_object_new_array(), *kinds = json_object_new_array();

	for (size_t i = 0; i < labels_count(labels); i++) {
		char kind[] = { frame_kind_letters[labels_get(labels, i)->kind], 0 };

		json_object_array_add(texts, page_json(labels_get(labels, i)->text));
		json_object_array_add(kinds, json_object_new_string(kind));
	}
	json_object_object_add(data, "labels", texts);
	json_object_object_add(data, "kinds", kinds);
}

/* the keys' numbers */
static struct json_object *json_idle(const struct wall *w)
{
	struct json_object *idle = json_object_new_array();

	for (uint32_t number = 1; number <= w->nr_keys; number++)
		if (wall_key(w, number) && wall_key(w, number)->idle)
			json_object_array_add(idle, json_object_new_int64(number));
	return idle;
}

/* by the keys' numbers: why a thread left the CPU, whose it is, and what it is called as a waker */
static void add_keys(struct json_object *data, const struct wall *w)
{
	struct json_object *why = json_object_new_array(), *tids = json_object_new_array(),
			   *names = json_object_new_array();

	for (uint32_t number = 0; number <= w->nr_keys; number++) {
		const struct stack_entry *key = wall_key(w, number);
		char letter[] = { wall_why(key), 0 }, *name = NULL;

		if (key && key->key.flags & STACK_INTERRUPT)
			name = strdup("an interrupt");
		else if (key)
			name = wall_thread_name(key->key.comm, key->key.pid, key->key.tid);
		json_object_array_add(why, json_object_new_string(letter));
		json_object_array_add(tids, json_object_new_int64(key ? key->key.tid : 0));
		json_object_array_add(names, page_json(name ? name : ""));
		free(name);
	}
	json_object_object_add(data, "why", why);
	json_object_object_add(data, "tids", tids);
	json_object_object_add(data, "names", names);
}

/* ---- the page ---- */

/* each line by itself: a newline within a name would be shown as what it is */
static void put_lines(FILE *out, char *text)
{
	char *line;

	while (text && (line = strsep(&text, "\n"))) {
		page_put_xml(out, line);
		putc('\n', out);
	}
}

static void put_head(const struct wall *w)
{
	FILE *out = w->writer.out;
	char *notes = NULL;
	size_t bytes;
	FILE *memory = open_memstream(&notes, &bytes);

	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>",
	      out);
	page_put_xml(out, w->command);
	fprintf(out, "</title>\n<style>\n%s%s%s</style></head>\n<body>\n<header><h1>",
		page_flame_css, page_controls_css, page_timeline_css);
	page_put_xml(out, w->command);
	fputs("</h1></header>\n<pre class=\"notes\">", out);
	if (memory) {
		wall_summary(memory, w);
		fclose(memory);
		put_lines(out, notes);
	}
	free(notes);
	fputs("</pre>\n", out);
}

static void put_body(FILE *out)
{
	fputs("<div class=\"controls\"><button id=\"reset\" title=\"0\">All the time</button>"
	      "<input id=\"search\" type=\"search\" placeholder=\"Search (/)\" aria-label=\"search\"><output id=\"found\"></output>"
	      "<span class=\"legend\"><span><i style=\"background:var(--running)\"></i>running</span>"
	      "<span><i style=\"background:var(--waiting)\"></i>waiting to run</span>"
	      "<span><i style=\"background:var(--blocked)\"></i>blocked</span>"
	      "<span><i style=\"background:var(--sleeping)\"></i>sleeping</span>"
	      "<span><i style=\"background:var(--line)\"></i>idle</span>"
	      "<span><i style=\"background:var(--lost)\"></i>lost</span></span></div>\n"
	      "<div class=\"controls\"><button id=\"everyone\">All threads</button>"
	      "<input id=\"threads\" type=\"search\" placeholder=\"Only threads… (t)\" aria-label=\"threads\" "
	      "title=\"a name, a number, a part of the command line\">"
	      "<label><input id=\"active\" type=\"checkbox\">the most active first</label>"
	      "<label><input id=\"hide\" type=\"checkbox\">hide <span id=\"slept\"></span> that slept throughout</label></div>\n"
	      "<p class=\"notes\">Drag to select a range; + - or Ctrl and the wheel zoom, arrows or Shift and drag move; click for "
	      "stacks; n and p move from there to the next and the previous one. Click a name to select that thread or process, "
	      "also for the sums below.</p>\n"
	      "<div id=\"hover\" class=\"notes\" style=\"min-height:1.3em\"></div>\n"
	      "<div id=\"lanes\"><div><div id=\"labels\"></div><canvas></canvas></div></div>\n<div id=\"about\"></div>\n"
	      "<div class=\"part\"><h2>Wall-clock time of <span id=\"whose\"></span> from <span id=\"range\"></span> "
	      "<button id=\"turn\" aria-pressed=\"false\" title=\"merged by what the stacks end with (u)\">Bottom-up</button></h2>"
	      "<div id=\"frame\" class=\"notes\" style=\"min-height:1.3em\"></div><svg id=\"flame\" width=\"100%\"></svg></div>\n"
	      "<div class=\"part\"><h2>Functions: calls are estimated from the order of stacks on the timeline</h2>"
	      "<table id=\"functions\"></table></div>\n",
	      out);
}

int wall_html(const struct wall *w)
{
	struct json_object *data = json_object_new_object();
	struct packer packer = {};
	struct wall_labels labels;
	FILE *out = w->writer.out;
	int error = wall_labels_make(&labels, w);

	if (error) {
		json_object_put(data);
		return error;
	}
	json_object_object_add(data, "duration", json_number(w->to_ns - w->from_ns));
	json_object_object_add(data, "lives", json_lives(w, &packer, &error));
	json_object_object_add(data, "stacks", json_stacks(&labels));
	add_labels(data, labels.labels);
	add_keys(data, w);
	json_object_object_add(data, "idle", json_idle(w));
	put_head(w);
	put_body(out);
	fputs("<script id=\"data\" type=\"application/json\">", out);
	page_put_json(out, data);
	fputs("</script>\n<script id=\"lives\" type=\"text/plain\">", out);
	if (!error)
		error = put_packed(out, &packer);
	fprintf(out,
		"</script>\n<script>\n%s</script>\n<script>\n%s</script>\n<script>\n%s</script>\n</body></html>\n",
		page_flame_js, page_timeline_js, page_timeline_page_js);
	free(packer.bytes);
	wall_labels_free(&labels);
	return error;
}
