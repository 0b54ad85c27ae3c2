// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/recording.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "process/thread_state.h"
#include "report/json.h"
#include "runtimes/runtimes.h"
#include "unwind/end_reason.h"

/* by path and build ID: what the recording knows of a file */
struct recorded_module {
	uint32_t id;
	UT_hash_handle hh;
	char key[];
};

struct recorded_event {
	uint32_t number;
	UT_hash_handle hh;
	char name[];
};

#define MAX_EVENTS   (1 << 24)    /* STACK_EVENT() */
#define MAX_RECORDED (1ULL << 62) /* the sum of all values */

static void no_memory(struct recording *r)
{
	json_lines_wrong(&r->lines, "not enough memory for it");
}

void recording_take_bytes(struct recording *r, size_t bytes)
{
	r->bytes += bytes;
	if (r->bytes + recorded_names_bytes(r->recorded) > RECORDING_BYTES)
		json_lines_wrong(
			&r->lines,
			"up to this line, the recording takes more than %llu MiB of memory",
			RECORDING_BYTES >> 20);
}

/* ---- frames ---- */

static void take_build_id(struct recording *r, struct module *module, const char *hex)
{
	size_t digits = strlen(hex);

	if (digits % 2 || digits / 2 > sizeof(module->build_id) ||
	    hex[strspn(hex, "0123456789abcdef")]) {
		json_lines_wrong(&r->lines, "'build_id' is not a build ID");
		return;
	}
	for (size_t i = 0; i < digits / 2; i++)
		sscanf(hex + 2 * i, "%2hhx", &module->build_id[i]);
	module->build_id_bytes = digits / 2;
}

static struct module *add_module(struct recording *r, struct recorded_module *m, const char *path,
				 const char *build_id)
{
	static const struct file_key unknown;
	struct module *module;

	m->id = HASH_COUNT(r->modules) + 1;
	if (m->id >= MAX_MODULES ||
	    modules_adopt(r->names.modules, m->id, &(struct mapped_file){ .path = (char *)path },
			  &unknown))
		return NULL;
	module = modules_get(r->names.modules, m->id);
	module->symbols_tried = true; /* nothing is looked for in a file of this machine */
	take_build_id(r, module, build_id);
	return module;
}

static struct module *module_of(struct recording *r, const char *path, const char *build_id)
{
	size_t bytes = strlen(path) + 1 + strlen(build_id);
	struct recorded_module *m, *known;
	struct module *module;

	m = calloc(1, sizeof(*m) + bytes + 1);
	if (!m) {
		no_memory(r);
		return NULL;
	}
	stpcpy(stpcpy(m->key, path) + 1, build_id);
	HASH_FIND(hh, r->modules, m->key, bytes, known);
	if (known) {
		free(m);
		return modules_get(r->names.modules, known->id);
	}
	module = add_module(r, m, path, build_id);
	if (!module) {
		no_memory(r);
		free(m);
		return NULL;
	}
	HASH_ADD_KEYPTR(hh, r->modules, m->key, bytes, m);
	recording_take_bytes(r, sizeof(*m) + sizeof(*module) + 2 * bytes);
	return module;
}

/* A name in one of the objects of a frame; *bits gets its part of the frame. */
static struct frame_name take_name(struct recording *r, struct json_object *object, bool kernel,
				   uint64_t *bits)
{
	struct json_lines *l = &r->lines;
	const char *build_id = json_lines_get_string(l, object, "build_id"),
		   *by = json_lines_get_string(l, object, "by");
	struct frame_name name = {
		.symbol = json_lines_get_string(l, object, "symbol"),
		.raw_symbol = json_lines_get_string(l, object, "raw_symbol"),
		.module = json_lines_get_string(l, object, "module"),
		.region = json_lines_get_string(l, object, "region"),
		.source = json_lines_get_string(l, object, "source"),
		.runtime = json_lines_get_string(l, object, "runtime"),
		.inlined = json_lines_get_bool(l, object, "inlined"),
		.schedules = json_lines_get_bool(l, object, "schedules"),
	};
	uint64_t line = 0;

	json_lines_get_number(l, object, "line", UINT32_MAX, &line);
	name.line = line;
	json_lines_get_number(l, object, "offset", JSON_MAX_NUMBER, &name.offset);
	name.has_vaddr = json_lines_get_address(l, object, "vaddr", &name.vaddr);
	name.has_function =
		json_lines_get_address(l, object, "function_vaddr", &name.function_vaddr);
	json_lines_get_address(l, object, "address", &name.address);
	json_lines_get_number(l, object, "cut", (1ULL << 39) - 1, &name.cut);
	if (name.runtime && !strcmp(name.runtime, "jit")) {
		name.is_jit = true;
		name.runtime = NULL;
	}
	if (name.runtime) {
		const struct runtime *runtime = runtime_named(name.runtime);

		name.brief = !r->names.lines && runtime && runtime->shows_files;
		name.unsaid = !r->names.lines && runtime && !runtime->shows_files;
		*bits = 0;
		return name;
	}
	if (json_lines_get_number(l, object, "file_offset", (1ULL << FRAME_OFFSET_BITS) - 1,
				  &name.file_offset) &&
	    !kernel)
		name.file = module_of(r, name.module ? name.module : "", build_id ? build_id : "");
	*bits = name.file ? (uint64_t)name.file->id << FRAME_OFFSET_BITS | name.file_offset
			  : FRAME_ADDRESS | name.address;
	if (!name.file && !kernel && name.address != FRAME_ADDR(name.address))
		json_lines_wrong(l, "'address' is not a user address");
	if (json_lines_get_bool(l, object, "call"))
		*bits |= FRAME_CALL;
	else if (by && !strcmp(by, "fp") && !name.file)
		/* as a runtime's */
		json_lines_wrong(l, "a frame in no file is 'by' the frame pointer, but no 'call'");
	if (by && !strcmp(by, "fp"))
		*bits |= FRAME_BY_FP;
	return name;
}

/* what stands in place of frames or stacks that are left out */
static uint64_t mark_of(const struct frame_name *name)
{
	unsigned uid;

	if (name->symbol && !strcmp(name->symbol, "[other stacks]"))
		return FRAME_SUMMED(name->cut);
	if (name->symbol && sscanf(name->symbol, "[stacks of uid %u: no room]", &uid) == 1)
		return FRAME_NO_ROOM(uid);
	return FRAME_CUT(name->cut);
}

/*
 * An object of an array, and those before it that are inlined in it; *i: the next one. The frame,
 * or 0
 */
static uint64_t take_user_frame(struct recording *r, struct json_object *array, size_t *i,
				pid_t pid)
{
	struct frame_name all[MAX_FRAME_NAMES];
	uint64_t frame = 0;
	size_t nr = 0;

	do {
		struct json_object *object = json_object_array_get_idx(array, (*i)++);

		if (nr == MAX_FRAME_NAMES || !json_object_is_type(object, json_type_object)) {
			json_lines_wrong(&r->lines, "'user' is not an array of frames");
			return 0;
		}
		all[nr] = take_name(r, object, false, &frame);
	} while (all[nr++].inlined && *i < json_object_array_length(array));
	if (*r->lines.wrong)
		return 0;
	if (all[0].cut)
		return mark_of(&all[0]);
	for (size_t k = 0; k < nr; k++)
		if (!all[k].runtime != !all[nr - 1].runtime) {
			json_lines_wrong(&r->lines, "'inlined' in a frame of another 'runtime'");
			return 0;
		}
	if (recorded_names_add(r->recorded, pid, &frame, all, nr))
		no_memory(r);
	return frame;
}

static uint64_t take_kernel_frame(struct recording *r, struct json_object *array, size_t *i)
{
	struct json_object *object = json_object_array_get_idx(array, (*i)++);
	struct frame_name name;
	uint64_t bits;

	if (!json_object_is_type(object, json_type_object)) {
		json_lines_wrong(&r->lines, "'kernel' is not an array of frames");
		return 0;
	}
	name = take_name(r, object, true, &bits);
	if (!*r->lines.wrong && recorded_names_add_kernel(r->recorded, name.address, &name))
		no_memory(r);
	return name.address;
}

static struct stack_frames *take_frames(struct recording *r, struct json_object *object,
					const char *name, pid_t pid, bool kernel)
{
	struct json_object *array = json_lines_get(&r->lines, object, name, json_type_array);
	size_t nr = array ? json_object_array_length(array) : 0;
	struct stack_frames *frames;

	if (!nr)
		return NULL;
	frames = calloc(1, sizeof(*frames) + nr * sizeof(frames->frames[0]));
	if (!frames) {
		no_memory(r);
		return NULL;
	}
	for (size_t i = 0; i < nr && !*r->lines.wrong; frames->nr++)
		frames->frames[frames->nr] = kernel ? take_kernel_frame(r, array, &i)
						    : take_user_frame(r, array, &i, pid);
	frames->own = !kernel && any_frame_in_no_file(frames->frames, frames->nr);
	recording_take_bytes(r, sizeof(*frames) + nr * sizeof(frames->frames[0]));
	return frames;
}

/* ---- stacks ---- */

static uint32_t take_end(struct recording *r, struct json_object *object)
{
	const char *name = json_lines_get_string(&r->lines, object, "ended_by");

	for (uint32_t end = 0; name && end < NR_END_REASONS; end++)
		if (!strcmp(name, end_reason_name(end)))
			return end;
	if (name)
		json_lines_wrong(&r->lines, "'ended_by' is not an end reason");
	return END_COMPLETE;
}

static uint32_t take_state(struct recording *r, struct json_object *object)
{
	const char *name = json_lines_get_string(&r->lines, object, "state");

	for (uint32_t state = 0; name && state < NR_THREAD_STATES; state++)
		if (name[0] == thread_state_letter(state) && !name[1])
			return state << STACK_STATE_SHIFT;
	if (name)
		json_lines_wrong(&r->lines, "'state' is not a thread's state");
	return 0;
}

/*
 * A name that was no text may be longer than a thread's by now: it is cut, but not in a character.
 */
static void take_comm(struct recording *r, struct json_object *object, char comm[16])
{
	const char *name = json_lines_get_string(&r->lines, object, "comm");
	size_t length = name ? strnlen(name, 15) : 0;

	if (!name)
		return;
	while (length && ((unsigned char)name[length] & 0xc0) == 0x80)
		length--;
	memcpy(comm, name, length);
}

void recording_take_stacks(struct recording *r, struct json_object *object,
			   struct stack_entry *entry)
{
	uint64_t pid = 0, tid = 0, user = 0, kernel = 0;

	*entry = (struct stack_entry){};
	json_lines_get_number(&r->lines, object, "pid", UINT32_MAX, &pid);
	json_lines_get_number(&r->lines, object, "tid", UINT32_MAX, &tid);
	entry->key.pid = pid;
	entry->key.tid = tid;
	take_comm(r, object, entry->key.comm);
	json_lines_get_address(&r->lines, object, "user_stack", &user);
	json_lines_get_address(&r->lines, object, "kernel_stack", &kernel);
	entry->key.user_stack = user;
	entry->key.kernel_stack = kernel;
	entry->key.end = take_end(r, object);
	entry->idle = json_lines_get_bool(&r->lines, object, "idle") && !r->idle_as_others;
	entry->key.flags = take_state(r, object);
	if (json_lines_get_bool(&r->lines, object, "interrupt"))
		entry->key.flags |= STACK_INTERRUPT;
	entry->user = take_frames(r, object, "user", pid, false);
	entry->kernel = take_frames(r, object, "kernel", pid, true);
}

void recording_free_stacks(struct stack_entry *entry)
{
	free((void *)entry->user);
	free((void *)entry->kernel);
}

/* stack_entry has no room for the name of an event, and a measure's root has no other argument */
static const char *const *all_events;

static const char *event_of(const struct stack_entry *entry)
{
	return all_events[STACK_EVENT(entry->key.flags)];
}

static uint32_t take_event(struct recording *r, struct json_object *line)
{
	const char *name = json_lines_string(&r->lines, line, "event");
	size_t length = strlen(name);
	struct recorded_event *event;

	HASH_FIND(hh, r->events, name, length, event);
	if (event)
		return event->number;
	event = calloc(1, sizeof(*event) + length + 1);
	if (!event || HASH_COUNT(r->events) == MAX_EVENTS ||
	    array_reserve(&r->event_names, &r->event_room, HASH_COUNT(r->events) + 1)) {
		free(event);
		no_memory(r);
		return 0;
	}
	event->number = HASH_COUNT(r->events);
	memcpy(event->name, name, length);
	HASH_ADD_KEYPTR(hh, r->events, event->name, length, event);
	r->event_names[event->number] = event->name;
	all_events = r->event_names;
	recording_take_bytes(r, sizeof(*event) + length);
	return event->number;
}

static void take_waker(struct recording *r, struct json_object *line, struct stack_entry *entry)
{
	struct json_object *object = json_lines_get(&r->lines, line, "waker", json_type_object);
	struct stack_entry *waker = object ? calloc(1, sizeof(*waker)) : NULL;

	if (!object)
		return;
	if (!waker) {
		no_memory(r);
		return;
	}
	recording_take_stacks(r, object, waker);
	recording_take_bytes(r, sizeof(*waker));
	entry->waker = waker;
}

static void take_value(struct recording *r, struct json_object *line, struct stack_value *value)
{
	uint64_t blocked_ns = 0, waiting_ns = 0;

	value->count = json_lines_number(&r->lines, line, "count", JSON_MAX_NUMBER);
	json_lines_get_number(&r->lines, line, r->measure.sum_unit ? "sum" : "blocked_ns",
			      JSON_MAX_NUMBER, &blocked_ns);
	if (r->measure.is_time) /* of one that is neither blocked nor waiting */
		json_lines_get_number(&r->lines, line, "value_ns", JSON_MAX_NUMBER, &waiting_ns);
	json_lines_get_number(&r->lines, line, "waiting_ns", JSON_MAX_NUMBER, &waiting_ns);
	value->blocked_ns = blocked_ns;
	value->waiting_ns = waiting_ns;
	r->total += value->count + value->blocked_ns + value->waiting_ns;
	if (r->total > MAX_RECORDED)
		json_lines_wrong(&r->lines,
				 "up to this line, the sum of the values is out of range");
}

static void take_stack(struct recording *r, struct json_object *line)
{
	struct stack_entry entry;

	if (array_reserve(&r->entries, &r->room, r->nr + 1)) {
		no_memory(r);
		return;
	}
	json_lines_number(&r->lines, line, "pid", UINT32_MAX);
	json_lines_string(&r->lines, line, "comm");
	recording_take_stacks(r, line, &entry);
	take_value(r, line, &entry.value);
	if (r->measure.root) /* where others have their state, of which the event tells, too */
		entry.key.flags = (entry.key.flags & ~(~0U << STACK_EVENT_SHIFT)) |
				  take_event(r, line) << STACK_EVENT_SHIFT;
	take_waker(r, line, &entry);
	recording_take_bytes(r, sizeof(entry));
	r->entries[r->nr++] = entry;
}

void recording_take_process(struct recording *r, struct json_object *line)
{
	const char *cmdline = json_lines_get_string(&r->lines, line, "cmdline"),
		   *cgroup = json_lines_get_string(&r->lines, line, "cgroup");

	if (process_notes_add(&r->processes, json_lines_number(&r->lines, line, "pid", UINT32_MAX),
			      cmdline, cgroup))
		no_memory(r);
	recording_take_bytes(r, sizeof(struct process_note) + (cmdline ? strlen(cmdline) : 0) +
					(cgroup ? strlen(cgroup) : 0));
}

void recording_take_summary(struct recording *r, struct json_object *line)
{
	struct json_object *seconds = NULL;
	const char *said = json_lines_get_string(&r->lines, line, "said");
	uint64_t began_ns = json_lines_get_time(&r->lines, line, "began"), idle_threads = 0,
		 idle_ns = 0;
	char *joined;

	if (!r->summary.started_ns)
		r->summary.started_ns = began_ns;
	json_lines_get_number(&r->lines, line, "idle_threads", UINT32_MAX, &idle_threads);
	json_lines_get_number(&r->lines, line, "idle_ns", JSON_MAX_NUMBER, &idle_ns);
	/* in reports that follow each other, they may be the same */
	if (idle_threads > r->summary.idle_threads)
		r->summary.idle_threads = idle_threads;
	r->summary.idle_ns += idle_ns;
	if (!json_object_object_get_ex(line, "seconds", &seconds) ||
	    !isfinite(json_object_get_double(seconds)) || json_object_get_double(seconds) < 0 ||
	    json_object_get_double(seconds) > 1e9)
		json_lines_wrong(&r->lines, "'seconds' is missing, or not a duration");
	else
		r->summary.seconds += json_object_get_double(seconds);
	if (!said)
		return;
	if (asprintf(&joined, "%s%s", r->said ? r->said : "", said) < 0) {
		no_memory(r);
		return;
	}
	free(r->said);
	r->summary.said = r->said = joined;
	recording_take_bytes(r, strlen(said));
}

/* ---- the whole ---- */

/*
 * A word that is printed as it is: with nothing in it that a terminal or a format would take for
 * more.
 */
static const char *take_word(struct recording *r, const char *name)
{
	const char *word = json_lines_get_string(&r->lines, r->start, name);

	if (word &&
	    (!*word ||
	     word[strspn(word,
			 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])) {
		json_lines_wrong(&r->lines, "'%s' is not a word", name);
		return NULL;
	}
	return word;
}

static void take_measure(struct recording *r)
{
	static const char *const parts[] = {
		[OFF_CPU_ALL] = "all", [OFF_CPU_BLOCKED] = "blocked", [OFF_CPU_WAITING] = "waiting"
	};
	struct json_object *filters =
		json_lines_get(&r->lines, r->start, "filters", json_type_object);
	const char *part = filters ? json_lines_get_string(&r->lines, filters, "part") : NULL;

	const char *counted = take_word(r, "counted");

	if (!counted)
		json_lines_wrong(&r->lines, "'%s' is missing", "counted");
	r->measure = (struct measure){
		.value = measure_count,
		.counted = counted ? counted : "",
		.sum_unit = take_word(r, "summed"),
		.value_ns = r->period_ns,
	};
	if (r->measure.sum_unit)
		r->measure.value = measure_sum;
	if (json_lines_get_bool(&r->lines, r->start, "is_time"))
		r->measure = off_cpu_measures[OFF_CPU_ALL];
	for (int i = 0; part && i < NR_OFF_CPU_PARTS; i++)
		if (!strcmp(part, parts[i]))
			r->measure = off_cpu_measures[i];
	if (json_lines_get_bool(&r->lines, r->start, "by_event"))
		r->measure.root = event_of;
}

static void take_start(struct recording *r)
{
	struct json_lines *l = &r->lines;

	if (strcmp(json_lines_string(l, r->start, "type"), "start"))
		json_lines_wrong(l, "it is not the first line of a recording");
	if (json_lines_number(l, r->start, "schema", UINT32_MAX) != JSON_SCHEMA)
		json_lines_wrong(
			l, "another version of ehperf wrote the recording: 'schema' is not %d",
			JSON_SCHEMA);
	r->report = json_lines_get_string(l, r->start, "report");
	json_lines_get_number(l, r->start, "sample_ns", 1000000000000, &r->period_ns);
	r->names.lines = json_lines_get_bool(l, r->start, "lines");
	r->summary.tool = json_lines_string(l, r->start, "tool");
	r->summary.command_line = json_lines_get_string(l, r->start, "command_line");
	r->summary.host = json_lines_string(l, r->start, "host");
	r->summary.kernel = json_lines_string(l, r->start, "kernel");
	if (!r->summary.command_line)
		r->summary.command_line = r->summary.tool;
	if (r->report && !strcmp(r->report, "stacks"))
		take_measure(r);
	r->summary.measure = &r->measure;
}

int recording_open(struct recording *r, FILE *in)
{
	*r = (struct recording){};
	r->recorded = recorded_names_new();
	r->names = (struct frame_names){ .modules = modules_new(), .recorded = r->recorded };
	if (json_lines_init(&r->lines, in) || !r->recorded || !r->names.modules)
		return -ENOMEM;
	r->start = json_lines_next(&r->lines);
	if (!r->start)
		json_lines_wrong(&r->lines, "it is empty");
	else
		take_start(r);
	return *r->lines.wrong ? -EBADMSG : 0;
}

int recording_read_stacks(struct recording *r)
{
	struct json_object *line;
	bool whole = false;

	while ((line = json_lines_next(&r->lines))) {
		const char *type = json_lines_string(&r->lines, line, "type");

		whole = !strcmp(type, "summary");
		if (whole)
			recording_take_summary(r, line);
		else if (!strcmp(type, "stack"))
			take_stack(r, line);
		else if (!strcmp(type, "process"))
			recording_take_process(r, line);
		else
			json_lines_wrong(
				&r->lines,
				strcmp(type, "start")
					? "a line of this 'type' is not part of a recording of stacks"
					: "another recording begins here");
		json_object_put(line);
	}
	if (!whole)
		json_lines_wrong(&r->lines, "the recording ends without a summary");
	if (*r->lines.wrong)
		return -EBADMSG;
	stack_summary_count(&r->summary, r->entries, r->nr);
	return 0;
}

struct stack_writer recording_writer(const struct recording *r, FILE *out)
{
	return (struct stack_writer){
		.out = out,
		.names = r->names,
		.processes = &r->processes,
		.root = r->measure.root,
	};
}

void recording_free(struct recording *r)
{
	for (size_t i = 0; i < r->nr; i++) {
		if (r->entries[i].waker)
			recording_free_stacks((struct stack_entry *)r->entries[i].waker);
		free((void *)r->entries[i].waker);
		recording_free_stacks(&r->entries[i]);
	}
	free(r->entries);
	free(r->said);
	hash_free_all(r->modules);
	hash_free_all(r->events);
	free(r->event_names);
	all_events = NULL;
	process_notes_free(&r->processes);
	recorded_names_free(r->recorded);
	modules_free(r->names.modules);
	json_object_put(r->start);
	json_lines_free(&r->lines);
}
