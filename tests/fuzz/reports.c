// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks with any names, in every format: readers of the format find what was to be written, the
 * sums are the stacks', and no byte that a name has gets out as something else than text.
 */
#include <ctype.h>
#include <regex.h>
#include <sys/mman.h>
#include <unistr.h>
#include <unistd.h>
#include <zlib.h>

#include "flame/folded.h"
#include "fuzz.h"
#include "report/pprof.pb-c.h"
#include "report/stack_report.h"

#define NR_MODULES  4
#define MAX_ENTRIES 32
#define MAX_FRAMES  24

/* ---- stacks of the input's bytes ---- */

struct input {
	const uint8_t *at, *end;
};

static uint8_t take(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

/* up to a 0, or as many bytes as there is room for */
static void take_name(struct input *in, char *name, size_t room)
{
	size_t length = 0;
	uint8_t c;

	while (length + 1 < room && (c = take(in)))
		name[length++] = c;
	name[length] = 0;
}

struct stacks {
	struct modules *modules;
	struct stack_entry entries[MAX_ENTRIES];
	size_t nr;
	char command_line[256];
	uint64_t sum;
};

static char root_name[256];

static const char *root_of(const struct stack_entry *entry)
{
	(void)entry;
	return root_name;
}

static uint64_t take_frame(struct input *in)
{
	uint8_t b = take(in);
	uint64_t bits = (b & 8 ? FRAME_CALL : 0) | (b & 16 ? FRAME_BY_FP : 0);

	switch (b & 7) {
	case 0:
		return FRAME_CUT(1 + (b >> 3));
	case 1:
		return FRAME_ADDRESS | (b & 8 ? FRAME_CALL : 0) | 0x7f0000001000 | take(in);
	case 2:
		return FRAME_PYTHON | take(in);
	default: /* beyond NR_MODULES, there is none of that number */
		return (uint64_t)(1 + (b >> 5) % (NR_MODULES + 1)) << FRAME_OFFSET_BITS | bits |
		       (b & 7) << 8;
	}
}

static struct stack_frames *take_stack(struct input *in, bool kernel)
{
	uint32_t nr = take(in) % MAX_FRAMES;
	struct stack_frames *stack;

	if (!nr)
		return NULL;
	stack = calloc(1, sizeof(*stack) + nr * sizeof(stack->frames[0]));
	stack->nr = nr;
	for (uint32_t i = 0; i < nr; i++)
		stack->frames[i] = kernel ? 0xffffffff81000000 + take(in) : take_frame(in);
	stack->own = !kernel && any_frame_in_no_file(stack->frames, nr);
	return stack;
}

static void take_entry(struct input *in, struct stacks *s)
{
	struct stack_entry *e = &s->entries[s->nr];
	const struct stack_entry *waker =
		s->nr && take(in) % 4 == 1 ? &s->entries[s->nr - 1] : NULL;

	e->user = take_stack(in, false);
	e->kernel = take_stack(in, true);
	e->key.end = take(in) % NR_END_REASONS;
	e->key.pid = e->key.tid = 1 + take(in);
	e->key.flags = take(in);
	e->value.count = 1 + take(in) % 8;
	e->value.blocked_ns = e->value.count * 1000000;
	take_name(in, e->key.comm, sizeof(e->key.comm));
	e->waker = waker;
	s->sum += e->value.count;
	s->nr++;
}

static void take_stacks(struct input *in, struct stacks *s)
{
	static const struct file_key key;
	char path[512];

	s->modules = modules_new();
	take_name(in, s->command_line, sizeof(s->command_line));
	take_name(in, root_name, sizeof(root_name));
	for (uint32_t id = 1; id <= NR_MODULES; id++) {
		take_name(in, path, sizeof(path));
		must(!modules_adopt(s->modules, id, &(struct mapped_file){ .path = path }, &key),
		     "a module");
		modules_get(s->modules, id)->symbols_tried = true; /* its file is not looked for */
	}
	while (s->nr < MAX_ENTRIES && in->at < in->end)
		take_entry(in, s);
}

static void free_stacks(struct stacks *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		free((void *)s->entries[i].user);
		free((void *)s->entries[i].kernel);
	}
	modules_free(s->modules);
}

/* ---- what is written ---- */

struct written {
	char *text;
	size_t bytes;
};

static struct written write_report(const struct stacks *s, stack_report *report,
				   const struct measure *measure)
{
	struct stack_summary summary = {
		.tool = "fuzz",
		.command_line = s->command_line,
		.measure = measure,
		.seconds = 1,
		.started_ns = 1,
	};
	int fd = memfd_create("report", MFD_CLOEXEC);
	struct stack_writer writer = {
		.out = fdopen(fd, "w+"),
		.names = { .modules = s->modules },
		.delimiter = s->nr & 1,
		.annotate = s->nr & 2,
		.traced = measure->is_time,
		.root = s->nr & 4 ? root_of : NULL,
	};
	struct written written;

	must(writer.out, "a file");
	stack_summary_count(&summary, s->entries, s->nr);
	must(!report(&writer, &summary, s->entries, s->nr) && !fflush(writer.out), "it is written");
	written.bytes = lseek(fd, 0, SEEK_END);
	written.text = calloc(1, written.bytes + 1);
	must(pread(fd, written.text, written.bytes, 0) == (ssize_t)written.bytes, "and read");
	fclose(writer.out);
	return written;
}

/* no control characters, of C1 neither; UTF-8 */
static void must_be_text(const struct written *w)
{
	must(!u8_check((uint8_t *)w->text, w->bytes), "UTF-8");
	for (size_t i = 0; i < w->bytes; i++) {
		uint8_t c = w->text[i];

		must((c >= ' ' && c != 0x7f) || c == '\n' || c == '\t', "no control characters");
		must(c != 0xc2 || (uint8_t)w->text[i + 1] >= 0xa0, "none of C1");
	}
}

static uint64_t in_unit(const struct measure *measure, uint64_t count)
{
	return measure->is_time ? count * 1000 : count; /* microseconds */
}

static void check_folded(const struct stacks *s, const struct measure *measure)
{
	struct written w = write_report(s, stack_report_folded, measure);
	FILE *in = fmemopen(w.text, w.bytes + 1, "r");
	struct folded_count count = {};
	struct flame_tree tree;

	must_be_text(&w);
	w.text[w.bytes] = '\n';
	must(!flame_tree_init(&tree) && in && !folded_read(in, &tree, FLAME_NOW, 1, &count),
	     "it is read");
	must(!count.bad_lines && count.value == in_unit(measure, s->sum), "folded: the same sum");
	flame_tree_free(&tree);
	fclose(in);
	free(w.text);
}

static void check_text(const struct stacks *s, const struct measure *measure)
{
	struct written w = write_report(s, stack_report_text, measure);

	must_be_text(&w);
	free(w.text);
}

static void check_json_lines(const struct stacks *s, const struct measure *measure)
{
	struct written w = write_report(s, stack_report_json, measure);
	uint64_t sum = 0;

	must_be_text(&w);
	for (char *line, *rest = w.text; (line = strsep(&rest, "\n")) && *line;) {
		struct json_object *object = json_tokener_parse(line), *count;

		must(object, "a line of JSON");
		if (json_object_object_get_ex(object, "count", &count))
			sum += json_object_get_uint64(count);
		json_object_put(object);
	}
	must(sum == s->sum, "JSON: the same sum");
	free(w.text);
}

static void check_speedscope(const struct stacks *s, const struct measure *measure)
{
	struct written w = write_report(s, stack_report_speedscope, measure);
	struct json_object *object = json_tokener_parse(w.text), *profiles, *weights;
	uint64_t sum = 0;

	must_be_text(&w);
	must(object && json_object_object_get_ex(object, "profiles", &profiles) &&
		     json_object_object_get_ex(json_object_array_get_idx(profiles, 0), "weights",
					       &weights),
	     "speedscope's JSON");
	for (size_t i = 0; i < json_object_array_length(weights); i++)
		sum += json_object_get_uint64(json_object_array_get_idx(weights, i));
	must(sum == (measure->is_time ? s->sum * 1000000 : s->sum), "speedscope: the same sum");
	json_object_put(object);
	free(w.text);
}

/*
 * each sample's first line begins with the thread's name, each frame's with a tab, "ADDRESS NAME
 * (MODULE)"
 */
static void check_perf(const struct stacks *s, const struct measure *measure)
{
	static regex_t head; /* stackcollapse-perf.pl's */
	struct written w = write_report(s, stack_report_perf, measure);
	uint64_t samples = 0;

	must_be_text(&w);
	must(head.re_nsub ||
		     !regcomp(&head, "^([^[:space:]].+)[[:space:]]+[0-9]+/*[0-9]*[[:space:]]+",
			      REG_EXTENDED),
	     "a pattern");
	for (char *line, *rest = w.text; (line = strsep(&rest, "\n"));) {
		size_t length = strlen(line);

		if (!length)
			continue;
		if (*line != '\t') {
			must(*line != '#' && line[length - 1] == ':' &&
				     !regexec(&head, line, 0, NULL, 0),
			     "a sample's first line");
			samples++;
		} else {
			must(isxdigit((unsigned char)line[strspn(line, "\t ")]) &&
				     line[length - 1] == ')' && strstr(line, " ("),
			     "a frame");
		}
	}
	must(samples == (measure->is_time ? s->nr : s->sum), "perf: a sample for each");
	free(w.text);
}

static size_t count_of(const char *text, const char *part)
{
	size_t nr = 0;

	for (; (text = strcasestr(text, part)); text += strlen(part))
		nr++;
	return nr;
}

static void check_page(const struct stacks *s, const struct measure *measure, stack_report *report)
{
	struct stacks none = { .modules = s->modules };
	struct written w = write_report(s, report, measure),
		       plain = write_report(&none, report, measure);

	must_be_text(&w);
	must(count_of(w.text, "<script") == count_of(plain.text, "<script") &&
		     count_of(w.text, "</script") == count_of(plain.text, "</script"),
	     "no other scripts");
	free(plain.text);
	free(w.text);
}

static uint8_t *unpacked_gzip(const struct written *w, size_t *bytes)
{
	uint8_t *all = malloc(8 << 20);
	z_stream z = { .next_in = (uint8_t *)w->text,
		       .avail_in = w->bytes,
		       .next_out = all,
		       .avail_out = 8 << 20 };

	must(inflateInit2(&z, 31) == Z_OK && inflate(&z, Z_FINISH) == Z_STREAM_END, "gzip");
	*bytes = z.total_out;
	inflateEnd(&z);
	return all;
}

static void check_locations(const Pprof__Profile *p)
{
	for (size_t i = 0; i < p->n_location; i++) {
		must(p->location[i]->id == i + 1 && p->location[i]->mapping_id <= p->n_mapping,
		     "a location");
		for (size_t k = 0; k < p->location[i]->n_line; k++)
			must(p->location[i]->line[k]->function_id - 1 < p->n_function,
			     "its function");
	}
	for (size_t i = 0; i < p->n_function; i++)
		must(p->function[i]->id == i + 1 &&
			     (size_t)p->function[i]->name < p->n_string_table,
		     "a function");
	for (size_t i = 0; i < p->n_mapping; i++)
		must(p->mapping[i]->id == i + 1 &&
			     p->mapping[i]->memory_start < p->mapping[i]->memory_limit,
		     "a mapping");
}

static void check_pprof(const struct stacks *s, const struct measure *measure)
{
	struct written w = write_report(s, stack_report_pprof, measure);
	size_t bytes;
	uint8_t *packed = unpacked_gzip(&w, &bytes);
	Pprof__Profile *p = pprof__profile__unpack(NULL, bytes, packed);
	uint64_t sum = 0, time = 0;

	must(p && p->n_sample == s->nr && p->n_string_table && !*p->string_table[0], "a profile");
	for (size_t i = 0; i < p->n_string_table; i++)
		must(!u8_check((uint8_t *)p->string_table[i], strlen(p->string_table[i])),
		     "strings in UTF-8");
	check_locations(p);
	for (size_t i = 0; i < p->n_sample; i++) {
		sum += p->sample[i]->value[0];
		time += p->sample[i]->value[1];
		for (size_t k = 0; k < p->sample[i]->n_location_id; k++)
			must(p->sample[i]->location_id[k] - 1 < p->n_location,
			     "a sample's location");
	}
	must(sum == s->sum && time == s->sum * 1000000, "pprof: the same sums");
	pprof__profile__free_unpacked(p, NULL);
	free(packed);
	free(w.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct measure sampled = { .value = measure_count,
						.value_ns = 1000000,
						.counted = "samples" };
	const struct measure *measures[] = { &sampled, &off_cpu_measures[OFF_CPU_BLOCKED] };
	struct input in = { bytes, bytes + size };
	struct stacks stacks = {};

	take_stacks(&in, &stacks);
	for (int i = 0; i < 2; i++) {
		check_text(&stacks, measures[i]);
		check_folded(&stacks, measures[i]);
		check_json_lines(&stacks, measures[i]);
		check_speedscope(&stacks, measures[i]);
		check_perf(&stacks, measures[i]);
		check_pprof(&stacks, measures[i]);
	}
	if (size % 8 == 0) { /* pages are large, and take most of the time */
		check_page(&stacks, measures[0], stack_report_svg);
		check_page(&stacks, measures[1], stack_report_html);
	}
	free_stacks(&stacks);
	return 0;
}
