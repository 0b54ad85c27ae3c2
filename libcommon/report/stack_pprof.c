// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks in pprof's format: a gzipped Profile message (pprof.proto). Messages that follow each
 * other merge into one, so it is written piece by piece, and only what differs from sample to
 * sample is kept in memory: strings, functions, locations.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "process/thread_state.h"
#include "report/frame_names.h"
#include "report/labels.h"
#include "report/page_text.h"
#include "report/pprof.pb-c.h"
#include "report/stack_report.h"

/* frames with equal keys have equal addresses and names */
struct location_key {
	/* of the call site, without flags; BY_NAMES: a hash of its functions and lines */
	uint64_t frame;
	uint32_t pid; /* of frames in no file; else 0 */
	enum { IN_USER, IN_KERNEL, BY_NAMES } where;
};

struct location {
	struct location_key key;
	uint64_t id;
	UT_hash_handle hh;
};

struct mapping {
	uint32_t module; /* its ID; 0: the kernel */
	uint64_t id, limit;
	UT_hash_handle hh;
};

struct pprof {
	const struct stack_writer *writer;
	const struct measure *measure;
	z_stream gzip;
	uint8_t *packed;
	size_t packed_room;
	uint64_t *stack; /* of the sample at hand: locations, leaf first */
	size_t nr_stack, stack_room;
	struct labels *strings, *functions;
	struct location *locations; /* several may have one ID */
	uint64_t nr_locations;
	struct mapping *mappings;
	int error; /* the first one; after it, nothing is done */
};

/* Files' addresses begin here, each at its own: processes map them elsewhere each. */
#define FILE_START(id)  ((id) << FRAME_OFFSET_BITS)
#define KERNEL_START    0xffff800000000000
#define MAX_SYSTEM_NAME 4096

static void fail(struct pprof *p, int error)
{
	if (!p->error)
		p->error = error;
}

/* flush: Z_FINISH at the end. Errors of writing stay with the stream */
static void compress_to(struct pprof *p, uint8_t *bytes, unsigned nr, int flush)
{
	uint8_t out[16384];

	p->gzip.next_in = bytes;
	p->gzip.avail_in = nr;
	do {
		p->gzip.next_out = out;
		p->gzip.avail_out = sizeof(out);
		deflate(&p->gzip, flush);
		fwrite(out, 1, sizeof(out) - p->gzip.avail_out, p->writer->out);
	} while (!p->gzip.avail_out);
}

/* writes these parts of the profile */
static void emit(struct pprof *p, const Pprof__Profile *part)
{
	size_t bytes = pprof__profile__get_packed_size(part);

	if (p->error)
		return;
	if (bytes > UINT32_MAX || array_reserve(&p->packed, &p->packed_room, bytes)) {
		fail(p, -ENOMEM);
		return;
	}
	pprof__profile__pack(part, p->packed);
	compress_to(p, p->packed, bytes, Z_NO_FLUSH);
}

/* ---- strings ---- */

static int64_t add_to(struct pprof *p, struct labels *table, const char *text)
{
	struct label label = { .text = page_text(text) };
	uint32_t number = 0;

	if (!label.text || labels_add(table, &label, &number))
		fail(p, -ENOMEM);
	free(label.text);
	return number;
}

static int64_t string(struct pprof *p, const char *text)
{
	return add_to(p, p->strings, text);
}

static void emit_strings(struct pprof *p)
{
	for (size_t i = 0; i < labels_count(p->strings); i++) {
		char *text = labels_get(p->strings, i)->text;
		Pprof__Profile part = PPROF__PROFILE__INIT;

		part.n_string_table = 1;
		part.string_table = &text;
		emit(p, &part);
	}
}

/* ---- mappings: one for each file, and one for the kernel ---- */

static uint64_t mapping_of(struct pprof *p, uint32_t module, uint64_t limit)
{
	struct mapping *mapping;

	HASH_FIND(hh, p->mappings, &module, sizeof(module), mapping);
	if (!mapping) {
		mapping = calloc(1, sizeof(*mapping));
		if (!mapping) {
			fail(p, -ENOMEM);
			return 0;
		}
		mapping->module = module;
		mapping->id = HASH_COUNT(p->mappings) + 1;
		HASH_ADD(hh, p->mappings, module, sizeof(mapping->module), mapping);
	}
	if (limit > mapping->limit)
		mapping->limit = limit;
	return mapping->id;
}

/* what a thread's outermost frame is in: of a process's first thread, that is its program */
static uint32_t root_module(const struct stack_entry *entry)
{
	uint64_t root = entry->user && entry->user->nr ? entry->user->frames[entry->user->nr - 1]
						       : FRAME_ADDRESS;

	return root & FRAME_ADDRESS ? 0 : FRAME_MODULE(root);
}

/* Readers take the first mapping for the program: that of the process with the most. */
static void map_program_first(struct pprof *p, const struct stack_entry *entries, size_t nr)
{
	const struct stack_entry *most = NULL;

	for (size_t i = 0; i < nr; i++) {
		const struct stack_entry *e = &entries[i];

		if (e->key.pid && e->key.pid == e->key.tid && e->key.end == END_COMPLETE &&
		    root_module(e) &&
		    (!most || p->measure->value(&e->value) > p->measure->value(&most->value)))
			most = e;
	}
	if (most)
		mapping_of(p, root_module(most), 0);
}

static void emit_mapping(struct pprof *p, const struct mapping *mapping)
{
	const struct module *module = modules_get(p->writer->names.modules, mapping->module);
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Mapping m = PPROF__MAPPING__INIT, *parts = &m;
	char hex[2 * sizeof(module->build_id) + 1] = "";

	m.id = mapping->id;
	m.has_functions = true;
	if (mapping->module) {
		for (size_t i = 0; module && i < module->build_id_bytes; i++)
			sprintf(hex + 2 * i, "%02x", module->build_id[i]);
		m.memory_start = FILE_START(m.id);
		m.memory_limit = m.memory_start + (mapping->limit | 4095) + 1;
		m.filename = string(p, module ? module->path : "");
		m.build_id = string(p, hex);
	} else {
		m.memory_start = KERNEL_START;
		m.memory_limit = UINT64_MAX;
		m.filename = string(p, "[kernel.kallsyms]");
	}
	part.n_mapping = 1;
	part.mapping = &parts;
	emit(p, &part);
}

/* ---- locations and functions ---- */

static uint64_t emit_function(struct pprof *p, const struct frame_name *name)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Function function = PPROF__FUNCTION__INIT, *parts = &function;
	size_t known = labels_count(p->functions), bytes;
	struct frame_name plain = *name;
	char *key = NULL, *text;
	FILE *out = open_memstream(&key, &bytes);

	plain.source = NULL; /* pprof has a place for that */
	if (!out) {
		fail(p, -ENOMEM);
		return 0;
	}
	/* functions of several files may have one name */
	fprintf(out, "%s\n", name->source ? name->source : "");
	frame_name_print(out, &plain);
	if (fclose(out)) {
		fail(p, -ENOMEM);
		return 0;
	}
	text = strrchr(key, '\n') + 1;
	function.id = add_to(p, p->functions, key) + 1;
	if (labels_count(p->functions) > known) {
		function.name = function.system_name = string(p, text);
		if (name->raw_symbol &&
		    strnlen(name->raw_symbol, MAX_SYSTEM_NAME) < MAX_SYSTEM_NAME)
			function.system_name = string(p, name->raw_symbol);
		if (name->source)
			function.filename = string(p, name->source);
		part.n_function = 1;
		part.function = &parts;
		emit(p, &part);
	}
	free(key);
	return function.id;
}

/* NULL: no memory */
static struct location *add_location_key(struct pprof *p, const struct location_key *key,
					 uint64_t id)
{
	struct location *location = calloc(1, sizeof(*location));

	if (!location) {
		fail(p, -ENOMEM);
		return NULL;
	}
	location->key = *key;
	location->id = id;
	HASH_ADD(hh, p->locations, key, sizeof(location->key), location);
	return location;
}

/*
 * A runtime's frames have no addresses: those with equal functions and lines are one location.
 * True: there is one already
 */
static bool find_by_names(struct pprof *p, struct location *location, const Pprof__Line *line,
			  size_t nr)
{
	struct location_key key = { .frame = 0xcbf29ce484222325, .where = BY_NAMES }; /* FNV-1a */
	struct location *known;

	for (size_t i = 0; i < nr; i++)
		key.frame = ((key.frame ^ line[i].function_id) * 0x100000001b3 ^ line[i].line) *
			    0x100000001b3;
	HASH_FIND(hh, p->locations, &key, sizeof(key), known);
	if (known)
		location->id = known->id;
	else
		add_location_key(p, &key, location->id);
	return known;
}

/* names: the leaf first, as pprof wants them */
static void emit_location(struct pprof *p, struct location *location, uint64_t frame,
			  const struct frame_name *names, size_t nr)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Location l = PPROF__LOCATION__INIT, *locations = &l;
	Pprof__Line line[MAX_FRAME_NAMES], *lines[MAX_FRAME_NAMES];
	const struct location_key *key = &location->key;

	l.address = key->frame;
	if (key->where == IN_KERNEL) {
		l.mapping_id = mapping_of(p, 0, 0);
	} else if (FRAME_IS_RUNTIME(frame)) {
		l.address = 0; /* it has none */
	} else if (frame_in_no_file(frame) && names[nr - 1].address) {
		l.address = names[nr - 1].address - !!(frame & FRAME_CALL);
	} else if (!key->pid && FRAME_MODULE(key->frame)) {
		l.mapping_id = mapping_of(p, FRAME_MODULE(key->frame), FRAME_OFFSET(key->frame));
		l.address = FILE_START(l.mapping_id) + FRAME_OFFSET(key->frame);
	}
	for (size_t i = 0; i < nr; i++) {
		pprof__line__init(&line[i]);
		line[i].function_id = emit_function(p, &names[i]);
		line[i].line = names[i].line;
		lines[i] = &line[i];
	}
	location->id = p->nr_locations + 1;
	if (FRAME_IS_RUNTIME(frame) && find_by_names(p, location, line, nr))
		return;
	p->nr_locations++;
	l.id = location->id;
	l.n_line = nr;
	l.line = lines;
	part.n_location = 1;
	part.location = &locations;
	emit(p, &part);
}

static uint64_t location_of(struct pprof *p, uint32_t pid, uint64_t frame, bool kernel)
{
	bool jit = !kernel && frame & FRAME_ADDRESS, by_call = !kernel && frame & FRAME_CALL;
	struct location_key key = {
		.frame = (kernel ? frame : FRAME_ADDR(frame)) - by_call,
		.pid = jit ? pid : 0,
		.where = kernel ? IN_KERNEL : IN_USER,
	};
	const struct frame_names *names = &p->writer->names;
	struct location *location;
	struct frame_name all[MAX_FRAME_NAMES];
	size_t nr;

	HASH_FIND(hh, p->locations, &key, sizeof(key), location);
	if (location)
		return location->id;
	location = add_location_key(p, &key, 0);
	if (!location)
		return 0;
	nr = frame_names_of(names, pid, frame, kernel, all);
	emit_location(p, location, frame, all, nr);
	return location->id;
}

/* ---- samples ---- */

#define MAX_SAMPLE_LABELS 8

static void add_label(struct pprof *p, Pprof__Sample *sample, const char *key, int64_t str,
		      int64_t num)
{
	Pprof__Label *label = sample->label[sample->n_label++];

	pprof__label__init(label);
	label->key = string(p, key);
	label->str = str;
	label->num = num;
}

static void add_labels(struct pprof *p, Pprof__Sample *sample, const struct stack_entry *entry)
{
	char state[] = { thread_state_letter(STACK_STATE(entry->key.flags)), 0 };
	const struct process_note *process =
		process_notes_find(p->writer->processes, entry->key.pid);

	add_label(p, sample, "pid", 0, entry->key.pid);
	add_label(p, sample, "tid", 0, entry->key.tid);
	add_label(p, sample, "comm", string(p, entry->key.comm), 0);
	if (p->measure->is_time)
		add_label(p, sample, "state", string(p, state), 0);
	if (process && process->cmdline)
		add_label(p, sample, "cmdline", string(p, process->cmdline), 0);
	if (process && process->cgroup)
		add_label(p, sample, "cgroup", string(p, process->cgroup), 0);
	if (p->writer->root)
		add_label(p, sample, "event", string(p, p->writer->root(entry)), 0);
	if (entry->waker)
		add_label(p, sample, "waker",
			  string(p, entry->waker->key.flags & STACK_INTERRUPT
					    ? "[interrupt]"
					    : entry->waker->key.comm),
			  0);
}

/* appends the frame to the sample's locations */
static void add_location(struct pprof *p, uint32_t pid, uint64_t frame, bool kernel)
{
	if (array_reserve(&p->stack, &p->stack_room, p->nr_stack + 1))
		fail(p, -ENOMEM);
	else
		p->stack[p->nr_stack++] = location_of(p, pid, frame, kernel);
}

static void add_stack(struct pprof *p, const struct stack_entry *entry)
{
	const struct stack_frames *user = entry->user, *kernel = entry->kernel;

	for (uint32_t i = kernel ? stack_first_kernel_frame(p->writer, kernel) : 0;
	     kernel && i < kernel->nr; i++)
		add_location(p, entry->key.pid, kernel->frames[i], true);
	for (uint32_t i = 0; user && i < user->nr; i++)
		add_location(p, entry->key.pid, user->frames[i], false);
}

/* as in folded output, upside down on the stack that it woke */
static void add_waker(struct pprof *p, const struct stack_entry *waker)
{
	size_t first = p->nr_stack;

	add_stack(p, waker);
	for (size_t i = first, j = p->nr_stack; i + 1 < j; i++) {
		uint64_t location = p->stack[i];

		p->stack[i] = p->stack[--j];
		p->stack[j] = location;
	}
}

static void emit_sample(struct pprof *p, const struct stack_entry *entry)
{
	int64_t values[] = { entry->value.count,
			     p->measure->value(&entry->value) *
				     (p->measure->value_ns ? p->measure->value_ns : 1) };
	Pprof__Label labels[MAX_SAMPLE_LABELS], *label_list[MAX_SAMPLE_LABELS];
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *samples = &sample;

	for (size_t i = 0; i < MAX_SAMPLE_LABELS; i++)
		label_list[i] = &labels[i];
	p->nr_stack = 0;
	if (entry->waker)
		add_waker(p, entry->waker);
	add_stack(p, entry);
	sample.location_id = p->stack;
	sample.n_location_id = p->nr_stack;
	sample.value = values;
	sample.n_value = p->measure->value_ns || p->measure->sum_unit ? 2 : 1;
	sample.label = label_list;
	add_labels(p, &sample, entry);
	part.n_sample = 1;
	part.sample = &samples;
	emit(p, &part);
}

/* ---- the whole ---- */

static void emit_head(struct pprof *p, const struct stack_summary *summary)
{
	const struct measure *measure = p->measure;
	Pprof__ValueType count = PPROF__VALUE_TYPE__INIT, value = PPROF__VALUE_TYPE__INIT;
	Pprof__ValueType *types[] = { &count, &value };
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int64_t comment;

	string(p, ""); /* the first one */
	count.type = string(p, measure->counted);
	count.unit = string(p, "count");
	if (measure->sum_unit) {
		value.type = string(p, "sum");
		value.unit = string(p, measure->sum_unit);
	} else {
		value.type = string(p, measure->is_time ? "off_cpu" : "cpu");
		value.unit = string(p, "nanoseconds");
	}
	comment = string(p, summary->command_line);
	part.n_sample_type = measure->value_ns || measure->sum_unit ? 2 : 1;
	part.sample_type = types;
	part.time_nanos = summary->started_ns;
	part.duration_nanos = summary->seconds * 1e9;
	part.period_type = measure->value_ns ? &value : &count;
	part.period = measure->value_ns ? measure->value_ns : 1;
	part.n_comment = 1;
	part.comment = &comment;
	emit(p, &part);
}

static void free_pprof(struct pprof *p)
{
	hash_free_all(p->locations);
	hash_free_all(p->mappings);
	labels_free(p->strings);
	labels_free(p->functions);
	free(p->packed);
	free(p->stack);
}

int stack_report_pprof(const struct stack_writer *w, const struct stack_summary *summary,
		       const struct stack_entry *entries, size_t nr)
{
	struct pprof p = {
		.writer = w,
		.measure = summary->measure,
		.strings = labels_new(),
		.functions = labels_new(),
	};
	struct mapping *mapping, *next;
	const int gzip_window = MAX_WBITS + 16; /* zlib.h: so it writes gzip's format */

	if (!p.strings || !p.functions ||
	    deflateInit2(&p.gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free_pprof(&p);
		return -ENOMEM;
	}
	emit_head(&p, summary);
	map_program_first(&p, entries, nr);
	for (size_t i = 0; i < nr && !p.error; i++)
		emit_sample(&p, &entries[i]);
	HASH_ITER(hh, p.mappings, mapping, next)
		emit_mapping(&p, mapping);
	emit_strings(&p);
	compress_to(&p, NULL, 0, Z_FINISH);
	deflateEnd(&p.gzip);
	free_pprof(&p);
	return p.error;
}
