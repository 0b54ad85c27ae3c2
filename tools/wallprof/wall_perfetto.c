// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The timeline in Perfetto's packets. The scheduler's events are ftrace events. Stacks are perf
 * samples, in two sequences of packets: of running threads, and of each thread that left the CPU.
 * The reader sorts all packets by time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"
#include "report/page_text.h"
#include "report/perfetto.pb-c.h"
#include "stacks_abi.h"
#include "wallprof/wall.h"

enum { SEQUENCE_SAMPLES = 1, SEQUENCE_SWITCHES, SEQUENCE_SCHED };
enum { FLAG_BEGINS_ANEW = 1, FLAG_NEEDS_INTERNED = 2 };
enum { MAPPING_USER = 1, MAPPING_KERNEL };
#define BUNDLE             256  /* events in a packet */
#define INTERNED           1024 /* of a kind, in a packet */
#define TRACE_FLAG_HARDIRQ 8
#define COUNTER_CPU_CLOCK  1
#define NORMAL_PRIO        120
#define DEAD               0x10 /* in sched_switch's prev_state */
#define NOT_MEASURED       "[not measured]"

#define SET(message, field, value) ((message).has_##field = true, (message).field = (value))

/* a thread has run; state: how it left the CPU, as sched_switch has it */
struct run {
	uint64_t from_ns, to_ns;
	uint32_t cpu, life, state;
};

struct sample {
	uint64_t time_ns;
	uint32_t key;
};

struct writer {
	const struct wall *wall;
	struct wall_labels labels;
	uint8_t *bytes; /* a packet */
	size_t room;
	struct run *runs;
	size_t nr_runs, run_room;
	struct sample *samples; /* of the run that comes next */
	size_t nr_samples, sample_room;
	bool ran;     /* the last interval of this life, its run, is the last of runs */
	char **names; /* of the lives, in valid UTF-8 */
};

/* a packet is a field of the file's message: its number and type, its size, its bytes */
static int put_packet(struct writer *w, Perfetto__TracePacket *packet, uint32_t sequence)
{
	size_t size, head = 0;
	uint8_t prefix[16];

	SET(*packet, trusted_packet_sequence_id, sequence);
	size = perfetto__trace_packet__get_packed_size(packet);
	if (array_reserve(&w->bytes, &w->room, size + 1))
		return -ENOMEM;
	perfetto__trace_packet__pack(packet, w->bytes);
	prefix[head++] = 1 << 3 | 2;
	for (; size >= 128; size >>= 7)
		prefix[head++] = size | 128;
	prefix[head++] = size;
	fwrite(prefix, 1, head, w->wall->writer.out);
	fwrite(w->bytes, 1, perfetto__trace_packet__get_packed_size(packet), w->wall->writer.out);
	return 0;
}

/* ---- processes and threads ---- */

static int put_process(struct writer *w, const struct life *life, char *name)
{
	const struct process_note *note = process_notes_find(w->wall->writer.processes, life->pid);
	char *cmdline = note && note->cmdline ? page_text(note->cmdline) : NULL;
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ProcessTree tree = PERFETTO__PROCESS_TREE__INIT;
	Perfetto__Process process = PERFETTO__PROCESS__INIT, *processes[] = { &process };
	Perfetto__Thread thread = PERFETTO__THREAD__INIT, *threads[] = { &thread };
	int error;

	SET(process, pid, life->pid);
	process.cmdline = cmdline ? &cmdline : &name;
	process.n_cmdline = 1;
	SET(thread, tid, life->tid);
	SET(thread, tgid, life->pid);
	thread.name = name;
	tree.threads = threads;
	tree.n_threads = 1;
	if (life->tid == life->pid) {
		tree.processes = processes;
		tree.n_processes = 1;
	}
	packet.process_tree = &tree;
	SET(packet, timestamp, life->from_ns + w->wall->boot_ns);
	error = put_packet(w, &packet, SEQUENCE_SCHED);
	free(cmdline);
	return error;
}

static int put_processes(struct writer *w)
{
	const struct wall *wall = w->wall;
	int error = 0;

	w->names = calloc(wall->nr_lives + 1, sizeof(*w->names));
	if (!w->names)
		return -ENOMEM;
	for (size_t i = 0; i < wall->nr_lives && !error; i++) {
		w->names[i] = page_text(wall->lives[i].comm);
		error = w->names[i] ? put_process(w, &wall->lives[i], w->names[i]) : -ENOMEM;
	}
	return error;
}

/* ---- interned data: each label is a function's name and a frame, each key a callstack ---- */

struct interned {
	Perfetto__InternedString names[INTERNED], *name_list[INTERNED];
	Perfetto__Frame frames[INTERNED], *frame_list[INTERNED];
	Perfetto__Callstack stacks[INTERNED], *stack_list[INTERNED];
};

static int put_interned(struct writer *w, Perfetto__InternedData *data, uint32_t sequence)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	packet.interned_data = data;
	SET(packet, sequence_flags, FLAG_NEEDS_INTERNED);
	return put_packet(w, &packet, sequence);
}

/* the packet that a sequence begins with: where its samples come from */
static int put_defaults(struct writer *w, uint32_t sequence)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Perfetto__PerfSampleDefaults samples = PERFETTO__PERF_SAMPLE_DEFAULTS__INIT;
	Perfetto__Timebase timebase = PERFETTO__TIMEBASE__INIT;
	Perfetto__Tracepoint tracepoint = PERFETTO__TRACEPOINT__INIT;
	static char *const paths[] = { "[user]", "[kernel]" };
	Perfetto__InternedString strings[2], *string_list[2];
	Perfetto__Mapping mappings[2], *mapping_list[2];
	Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
	uint64_t ids[] = { MAPPING_USER, MAPPING_KERNEL };

	for (int i = 0; i < 2; i++) {
		strings[i] = (Perfetto__InternedString)PERFETTO__INTERNED_STRING__INIT;
		SET(strings[i], iid, ids[i]);
		SET(strings[i], str,
		    ((ProtobufCBinaryData){ strlen(paths[i]), (uint8_t *)paths[i] }));
		mappings[i] = (Perfetto__Mapping)PERFETTO__MAPPING__INIT;
		SET(mappings[i], iid, ids[i]);
		mappings[i].path_string_ids = &ids[i];
		mappings[i].n_path_string_ids = 1;
		string_list[i] = &strings[i];
		mapping_list[i] = &mappings[i];
	}
	data.mapping_paths = string_list;
	data.mappings = mapping_list;
	data.n_mapping_paths = data.n_mappings = 2;
	if (sequence == SEQUENCE_SAMPLES) {
		SET(timebase, frequency, 1000000000 / w->wall->period_ns);
		SET(timebase, counter, COUNTER_CPU_CLOCK);
		timebase.name = "running";
	} else {
		SET(timebase, period, 1);
		tracepoint.name = "sched:sched_switch";
		timebase.tracepoint = &tracepoint;
		timebase.name = "left the CPU";
	}
	samples.timebase = &timebase;
	defaults.perf_sample_defaults = &samples;
	packet.trace_packet_defaults = &defaults;
	packet.interned_data = &data;
	SET(packet, sequence_flags, FLAG_BEGINS_ANEW | FLAG_NEEDS_INTERNED);
	SET(packet, timestamp, w->wall->from_ns + w->wall->boot_ns);
	return put_packet(w, &packet, sequence);
}

static int put_frames(struct writer *w, struct interned *to, uint32_t sequence)
{
	const struct labels *labels = w->labels.labels;
	char *texts[INTERNED];
	int error = 0;

	for (size_t first = 0; first < labels_count(labels) && !error; first += INTERNED) {
		Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
		size_t nr = 0;

		for (; nr < INTERNED && first + nr < labels_count(labels); nr++) {
			const struct label *label = labels_get(labels, first + nr);
			uint64_t id = first + nr + 1;

			texts[nr] = page_text(label->text);
			if (!texts[nr]) {
				error = -ENOMEM;
				break;
			}
			to->names[nr] = (Perfetto__InternedString)PERFETTO__INTERNED_STRING__INIT;
			SET(to->names[nr], iid, id);
			SET(to->names[nr], str,
			    ((ProtobufCBinaryData){ strlen(texts[nr]), (uint8_t *)texts[nr] }));
			to->frames[nr] = (Perfetto__Frame)PERFETTO__FRAME__INIT;
			SET(to->frames[nr], iid, id);
			SET(to->frames[nr], function_name_id, id);
			SET(to->frames[nr], mapping_id,
			    label->kind == KIND_KERNEL ? MAPPING_KERNEL : MAPPING_USER);
			SET(to->frames[nr], rel_pc, 0);
			to->name_list[nr] = &to->names[nr];
			to->frame_list[nr] = &to->frames[nr];
		}
		data.function_names = to->name_list;
		data.frames = to->frame_list;
		data.n_function_names = data.n_frames = nr;
		if (!error)
			error = put_interned(w, &data, sequence);
		while (nr)
			free(texts[--nr]);
	}
	return error;
}

/* the frames of a key, root first, but not the thread, which the root of labels is: their IDs */
static uint64_t *frames_of(const struct writer *w, uint32_t key, size_t *nr)
{
	const struct wall_stack *stack = &w->labels.stacks[key];
	uint64_t *ids = calloc(stack->nr + 1, sizeof(*ids));

	*nr = 0;
	for (uint32_t i = 0; i < stack->nr && ids; i++)
		if (labels_get(w->labels.labels, stack->numbers[i])->kind != KIND_THREAD)
			ids[(*nr)++] = stack->numbers[i] + 1;
	return ids;
}

static int put_stacks(struct writer *w, struct interned *to, uint32_t sequence)
{
	int error = 0;

	for (size_t first = 1; first < w->labels.nr && !error; first += INTERNED) {
		Perfetto__InternedData data = PERFETTO__INTERNED_DATA__INIT;
		size_t nr = 0;

		for (; nr < INTERNED && first + nr < w->labels.nr && !error; nr++) {
			Perfetto__Callstack *stack = &to->stacks[nr];

			*stack = (Perfetto__Callstack)PERFETTO__CALLSTACK__INIT;
			SET(*stack, iid, first + nr);
			stack->frame_ids = frames_of(w, first + nr, &stack->n_frame_ids);
			to->stack_list[nr] = stack;
			error = stack->frame_ids ? 0 : -ENOMEM;
		}
		data.callstacks = to->stack_list;
		data.n_callstacks = nr;
		if (!error)
			error = put_interned(w, &data, sequence);
		while (nr)
			free(to->stacks[--nr].frame_ids);
	}
	return error;
}

static int put_sequences(struct writer *w)
{
	struct interned *interned = calloc(1, sizeof(*interned));
	int error = interned ? 0 : -ENOMEM;

	for (uint32_t sequence = SEQUENCE_SAMPLES; sequence <= SEQUENCE_SWITCHES && !error;
	     sequence++) {
		error = put_defaults(w, sequence);
		if (!error)
			error = put_frames(w, interned, sequence);
		if (!error)
			error = put_stacks(w, interned, sequence);
	}
	free(interned);
	return error;
}

/* ---- samples, and wake-ups ---- */

static int put_sample(struct writer *w, const struct life *life, uint64_t time_ns, uint32_t key,
		      uint32_t cpu, uint32_t sequence)
{
	const struct stack_entry *entry = wall_key(w->wall, key);
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__PerfSample sample = PERFETTO__PERF_SAMPLE__INIT;

	if (!entry || cpu == NO_CPU)
		return 0;
	SET(sample, cpu, cpu);
	SET(sample, pid, life->pid);
	SET(sample, tid, life->tid);
	SET(sample, callstack_iid, key);
	SET(sample, cpu_mode, entry->kernel ? 1 : 2);
	packet.perf_sample = &sample;
	SET(packet, timestamp, time_ns + w->wall->boot_ns);
	SET(packet, sequence_flags, FLAG_NEEDS_INTERNED);
	return put_packet(w, &packet, sequence);
}

static int put_bundle(struct writer *w, uint32_t cpu, Perfetto__FtraceEvent **events, size_t nr)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__FtraceEventBundle bundle = PERFETTO__FTRACE_EVENT_BUNDLE__INIT;

	SET(bundle, cpu, cpu);
	bundle.event = events;
	bundle.n_event = nr;
	packet.ftrace_events = &bundle;
	return nr ? put_packet(w, &packet, SEQUENCE_SCHED) : 0;
}

/* on which CPU the waker ran is not known: it is put where the thread ran then */
static int put_waking(struct writer *w, const struct life *life, const struct interval *i)
{
	const struct stack_entry *waker = wall_key(w->wall, i->waker);
	Perfetto__FtraceEvent event = PERFETTO__FTRACE_EVENT__INIT, *events[] = { &event };
	Perfetto__SchedWaking waking = PERFETTO__SCHED_WAKING__INIT;

	if (!waker || i->open)
		return 0;
	waking.comm = w->names[life - w->wall->lives];
	SET(waking, pid, life->tid);
	SET(waking, prio, NORMAL_PRIO);
	SET(waking, success, 1);
	SET(waking, target_cpu, i->cpu);
	SET(event, timestamp, i->to_ns + w->wall->boot_ns);
	SET(event, pid, waker->key.tid);
	SET(event, common_flags, waker->key.flags & STACK_INTERRUPT ? TRACE_FLAG_HARDIRQ : 0);
	event.sched_waking = &waking;
	return put_bundle(w, i->cpu, events, 1);
}

/* as sched_switch's prev_state has it */
static uint32_t switch_state(const struct stack_entry *key)
{
	static const uint32_t states[NR_THREAD_STATES] = {
		[THREAD_RUNNABLE] = 0, [THREAD_SLEEPING] = 1, [THREAD_UNINTERRUPTIBLE] = 2,
		[THREAD_STOPPED] = 4,  [THREAD_TRACED] = 8,   [THREAD_PARKED] = 0x40,
		[THREAD_IDLE] = 0x80,
	};

	return key ? states[STACK_STATE(key->key.flags)] : 0;
}

static int take_sample(void *arg, const struct life *life, uint64_t time_ns, uint32_t key)
{
	struct writer *w = arg;

	(void)life;
	if (array_reserve(&w->samples, &w->sample_room, w->nr_samples + 1))
		return -ENOMEM;
	w->samples[w->nr_samples++] = (struct sample){ time_ns, key };
	return 0;
}

static int take_run(struct writer *w, const struct life *life, const struct interval *i)
{
	int error = 0;

	for (size_t s = 0; s < w->nr_samples && !error; s++)
		error = put_sample(w, life, w->samples[s].time_ns, w->samples[s].key, i->cpu,
				   SEQUENCE_SAMPLES);
	w->nr_samples = 0;
	w->ran = i->cpu != NO_CPU;
	if (error || !w->ran)
		return error;
	if (array_reserve(&w->runs, &w->run_room, w->nr_runs + 1))
		return -ENOMEM;
	w->runs[w->nr_runs++] =
		(struct run){ i->from_ns, i->to_ns, i->cpu, life - w->wall->lives, DEAD };
	return 0;
}

static int take_interval(void *arg, const struct life *life, const struct interval *i)
{
	struct writer *w = arg;
	int error = 0;

	if (i->state == WALL_RUNNING)
		return take_run(w, life, i);
	if (w->ran) {
		struct run *run = &w->runs[w->nr_runs - 1];

		run->state = i->state == WALL_BLOCKED ? switch_state(wall_key(w->wall, i->key)) : 0;
		error = put_sample(w, life, i->from_ns, i->key, run->cpu, SEQUENCE_SWITCHES);
		w->ran = false;
	}
	return error || i->state != WALL_BLOCKED ? error : put_waking(w, life, i);
}

/* ---- switches: each CPU's in order of time ---- */

static int by_cpu_and_time(const void *left, const void *right)
{
	const struct run *l = left, *r = right;

	return order_of(l->cpu, r->cpu) ?: order_of(l->from_ns, r->from_ns);
}

struct bundle {
	uint32_t cpu;
	size_t nr;
	Perfetto__FtraceEvent events[BUNDLE], *list[BUNDLE];
	Perfetto__SchedSwitch switches[BUNDLE];
};

/*
 * from one run to another, either of which may be NULL: of a thread that is not measured, or of
 * none
 */
static int add_switch(struct writer *w, struct bundle *b, uint64_t time_ns, const struct run *prev,
		      const struct run *next)
{
	Perfetto__FtraceEvent *event = &b->events[b->nr];
	Perfetto__SchedSwitch *change = &b->switches[b->nr];
	int error = 0;

	*event = (Perfetto__FtraceEvent)PERFETTO__FTRACE_EVENT__INIT;
	*change = (Perfetto__SchedSwitch)PERFETTO__SCHED_SWITCH__INIT;
	change->prev_comm = prev ? w->names[prev->life] : NOT_MEASURED;
	change->next_comm = next ? w->names[next->life] : NOT_MEASURED;
	SET(*change, prev_pid, prev ? w->wall->lives[prev->life].tid : 0);
	SET(*change, next_pid, next ? w->wall->lives[next->life].tid : 0);
	SET(*change, prev_prio, NORMAL_PRIO);
	SET(*change, next_prio, NORMAL_PRIO);
	SET(*change, prev_state, prev ? prev->state : 0);
	SET(*event, timestamp, time_ns + w->wall->boot_ns);
	SET(*event, pid, change->prev_pid);
	event->sched_switch = change;
	b->list[b->nr++] = event;
	if (b->nr == BUNDLE) {
		error = put_bundle(w, b->cpu, b->list, b->nr);
		b->nr = 0;
	}
	return error;
}

/*
 * A run may have begun a little before the end of the one before it, as the scheduler counts: here
 * they meet.
 */
static int put_switches(struct writer *w)
{
	struct bundle *b = calloc(1, sizeof(*b));
	int error = b ? 0 : -ENOMEM;

	qsort(w->runs, w->nr_runs, sizeof(*w->runs), by_cpu_and_time);
	for (size_t i = 0; i < w->nr_runs && !error; i++) {
		const struct run *run = &w->runs[i], *prev = i ? run - 1 : NULL,
				 *next = i + 1 < w->nr_runs ? run + 1 : NULL;
		bool begins = !prev || prev->cpu != run->cpu || prev->to_ns < run->from_ns;

		if (!prev || prev->cpu != run->cpu) {
			error = b->nr ? put_bundle(w, b->cpu, b->list, b->nr) : 0;
			b->nr = 0;
			b->cpu = run->cpu;
		}
		if (!error && begins)
			error = add_switch(w, b, run->from_ns, NULL, run);
		if (!error)
			error = add_switch(w, b, run->to_ns, run,
					   next && next->cpu == run->cpu &&
							   next->from_ns <= run->to_ns
						   ? next
						   : NULL);
	}
	if (!error)
		error = put_bundle(w, b->cpu, b->list, b->nr);
	free(b);
	return error;
}

static int put_all(struct writer *w)
{
	const struct timeline_visitor visitor = { take_interval, take_sample, w };
	int error = put_processes(w);

	if (!error)
		error = put_sequences(w);
	for (size_t i = 0; i < w->wall->nr_lives && !error; i++) {
		w->nr_samples = 0;
		w->ran = false;
		error = wall_visit(w->wall, &w->wall->lives[i], &visitor);
	}
	return error ? error : put_switches(w);
}

int wall_perfetto(const struct wall *wall)
{
	struct writer w = { .wall = wall };
	int error = wall_labels_make(&w.labels, wall);

	if (error)
		return error;
	error = put_all(&w);
	for (size_t i = 0; w.names && i < wall->nr_lives; i++)
		free(w.names[i]);
	free(w.names);
	free(w.bytes);
	free(w.runs);
	free(w.samples);
	wall_labels_free(&w.labels);
	return error;
}
