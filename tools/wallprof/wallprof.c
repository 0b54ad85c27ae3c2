// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * wallprof: where the time of each thread goes, running or waiting, on one timeline; and what ends
 * each wait.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "kernel/object.h"
#include "kernel/off_cpu.h"
#include "kernel/tasks.h"
#include "live/lanes.h"
#include "off_cpu_abi.h"
#include "report/counted.h"
#include "report/idle.h"
#include "report/json.h"
#include "report/namer.h"
#include "run/kernel.h"
#include "run/off_cpu_run.h"
#include "run/sampling.h"
#include "run/stack_session.h"
#include "wallprof.skel.h"
#include "wallprof/timeline.h"
#include "wallprof/wall.h"
#include "wallprof/wallprof_abi.h"

struct options {
	struct stack_options stacks;
	uint64_t period_ns, buffer_kib;
};

enum { OPTION_BUFFER = 0x200 }; /* OPTION_IDLE is as in off_cpu_run.h */

static const char doc[] =
	"Show where the time of each thread goes, running or waiting, on one timeline, with its stacks and with "
	"what ends each wait. DURATION is in seconds; the default is until Ctrl-C or SIGTERM, or COMMAND's "
	"end."
	"\vExamples:\n"
	"  wallprof -p 812 10                # the time of process 812's threads\n"
	"  wallprof -o wall.html -- make     # of a command, as a page\n";

#define SERVED_DRAIN_MS 50 /* at most so long at a time */
#define MAX_CROWDED     4096
#define ENDINGS         ".txt, .folded, .jsonl, .html, .svg, .json or .pftrace"

static const struct argp_option option_list[] = {
	{ "frequency", 'F', "HZ", 0, "samples a second on each CPU, default 999", OF_MEASURE },
	{ "buffer", OPTION_BUFFER, "KIB", 0, "the kernel's buffer, a power of 2; default 16384",
	  OF_LIMITS },
	{ "idle", OPTION_IDLE, NULL, 0, "show idle threads' waits, too", OF_OUTPUT },
	{ "output", 'o', "FILE", 0, "write to FILE; format by ending: .html, .pftrace", OF_OUTPUT },
	{},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'F':
		o->period_ns = 1000000000 / sampling_parse_hz(arg, state);
		break;
	case OPTION_BUFFER:
		if (!cli_parse_number(arg, 4, 1 << 20, &o->buffer_kib) ||
		    o->buffer_kib & (o->buffer_kib - 1))
			argp_failure(state, EXIT_USAGE, 0,
				     "not a power of 2 from 4 to 1048576: '%s'", arg);
		break;
	case OPTION_IDLE:
		o->stacks.idle = true;
		break;
	case 'o':
		run_take_output(state, &o->stacks.run, arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* A sample's line is shorter. */
#define JSON_RECORD_BYTES 250

static struct wall_format format_of(const struct stack_output *output)
{
	for (size_t i = 0; i < NR_WALL_FORMATS && output->ending; i++)
		if (!strcmp(output->ending, wall_formats[i].ending))
			return wall_formats[i];
	if (output->format == stack_format_json)
		return (struct wall_format){ .print = wall_json,
					     .record_bytes = JSON_RECORD_BYTES,
					     .frame_bytes = stack_format_json->frame_bytes };
	return (struct wall_format){ .print = output->format == stack_format_folded ? wall_folded
										    : wall_text };
}

static int print(struct wall *wall, const struct stack_output *output, uint64_t max_bytes)
{
	const struct wall_format format = format_of(output);
	uint64_t left_out;
	int error = 0;

	if (format.frame_bytes) /* half is for the stacks */
		error = wall_limit_stacks(wall, (max_bytes /= 2) / format.frame_bytes,
					  format.stack_each_record);
	if (!error && format.record_bytes)
		error = wall_limit(wall, max_bytes / format.record_bytes);
	if (!error)
		error = format.print(wall);
	left_out = wall->limits ? wall->limits->left_out : 0;
	if (left_out || wall->stacks_left_out)
		cli_warn("%s and %s left out of a report: no room, see --max-report",
			 counted(left_out, "records").text,
			 counted(wall->stacks_left_out, "stacks").text);
	wall_unlimit(wall);
	return error;
}

static void configure(struct wallprof_bpf *bpf, const struct options *o)
{
	bpf->rodata->keys_apart = true;
	bpf_program__set_autoload(bpf->progs.list_open, o->stacks.run.live || o->stacks.run.serve);
	stack_session_configure(bpf->obj, &o->stacks.run, &o->stacks.wanted);
	kernel_check(object_resize(bpf->obj, "lives", o->buffer_kib << 10),
		     "load the BPF programs");
	/* its keys are by thread: there are more of them */
	kernel_check(object_resize(bpf->obj, "sent", 4 * o->stacks.wanted.max_stacks),
		     "load the BPF programs");
	kernel_check(object_resize(bpf->obj, "crowded", MAX_CROWDED), "load the BPF programs");
}

/* Takes what an iterator outputs, records of one size. */
static void take_listed(struct timeline *timeline, const void *records, size_t size,
			size_t record_size)
{
	for (size_t at = 0; at + record_size <= size; at += record_size)
		cli_check(timeline_take(timeline, (const char *)records + at, record_size),
			  "store the timeline");
}

static void begin_lives(struct wallprof_bpf *bpf, struct stack_session *session,
			struct timeline *timeline, bool command)
{
	struct off_cpu_begun begun;
	void *records;
	size_t size;

	cli_check(off_cpu_begin(bpf->obj, command, &begun), "list the threads");
	cli_check(bpf_tasks_read(bpf->progs.list_lives, 0, &records, &size), "list the threads");
	take_listed(timeline, records, size, sizeof(struct life_name));
	free(records);
	cli_check(off_cpu_take_stacks(&begun, bpf->obj, session->store, session->foreign,
				      session->unwinder),
		  "take the threads' stacks");
}

/* What was sent before is taken before. */
static void end_lives(struct wallprof_bpf *bpf, struct stack_session *session,
		      struct timeline *timeline)
{
	void *records;
	size_t size;

	cli_check(bpf_tasks_read(bpf->progs.end_lives, 0, &records, &size), "list the threads");
	stack_session_drain(session);
	take_listed(timeline, records, size, sizeof(struct life_period));
	free(records);
}

#define NR_LOSSES 5
struct lost {
	const struct wallprof_bpf *bpf;
	const struct stack_session *session;
	const struct links *links;
	struct perf_events *clock;
	struct loss losses[NR_LOSSES];
};

static void count_lost(void *arg)
{
	struct lost *lost = arg;
	const struct loss losses[NR_LOSSES] = {
		off_cpu_missed(lost->session, lost->links),
		{ "lost_unseen_samples", stack_session_lost(lost->session, lost->clock),
		  "samples lost by the kernel, on all CPUs together: interrupts were late, or a CPU was inside bpf(2)",
		  .lost = true, .of_machine = true },
		{ "lost_periods", lost->bpf->bss->periods_lost,
		  "periods lost: the buffer was full, see --buffer", .lost = true },
		{ "lost_samples", lost->bpf->bss->samples_lost, "samples lost: the buffer was full",
		  .lost = true },
		{ "lost_names", lost->bpf->bss->names_lost,
		  "records of a thread's beginning or end lost: the buffer was full",
		  .lost = true },
	};

	memcpy(lost->losses, losses, sizeof(losses));
}

/* ---- the views ---- */

/* what they show is made of it */
struct served {
	struct wallprof_bpf *bpf;
	struct stack_session *session;
	const struct options *options;
	struct timeline *timeline;
	struct stack_entry *entries;
	size_t room;
};

/* beside the thread's state in a key's flags, for this view: the time is that of samples */
#define KEY_ON_CPU (1 << 12)

/* The state of the thread in this time, as in folded output */
static const char *state_of(const struct stack_entry *entry)
{
	static char blocked[] = "[blocked ?]";

	if (entry->key.flags & KEY_ON_CPU)
		return "[running]";
	if (STACK_STATE(entry->key.flags) == THREAD_RUNNABLE)
		return "[waiting]";
	blocked[sizeof(blocked) - 3] = wall_why(entry);
	return blocked;
}

static void put_state(struct json_object *stack, const struct stack_entry *entry)
{
	json_object_object_add(stack, "event", json_object_new_string(state_of(entry)));
	if (entry->key.flags & KEY_ON_CPU)
		json_object_object_add(stack, "running", json_object_new_boolean(true));
	else
		off_cpu_measures[OFF_CPU_ALL].stack_json(stack, entry);
}

/*
 * Takes the parts of open periods, and what was sent before. *until_ns: now; after the
 * measurement's end, as it was
 */
static int take_open(const struct served *s, uint64_t *until_ns)
{
	void *records;
	size_t size;
	bool drained;
	int error = stack_store_drain(s->session->store, SERVED_DRAIN_MS);

	if (error)
		return error;
	if (!s->bpf->bss->ended_ns)
		*until_ns = s->bpf->bss->listed_ns = clock_ns();
	error = bpf_tasks_read(s->bpf->progs.list_open, 0, &records, &size);
	if (error)
		return error;
	/* keys of open periods, and what came before them */
	error = stack_store_drain(s->session->store, SERVED_DRAIN_MS);
	drained = stack_store_drained_ns(s->session->store) >= s->bpf->bss->listed_ns;
	for (size_t at = 0; at + sizeof(struct life_period) <= size && !error;
	     at += sizeof(struct life_period))
		error = timeline_take_open(s->timeline,
					   (const struct life_period *)((const char *)records + at),
					   drained);
	free(records);
	return error ? error : timeline_tell_runs(s->timeline);
}

static void put_entry(struct served *s, size_t *nr, const struct stack_entry *key, uint32_t state,
		      struct stack_value value)
{
	struct stack_entry *entry = &s->entries[*nr];

	if (!value.blocked_ns && !value.waiting_ns)
		return;
	*entry = *key;
	entry->value = value;
	entry->key.flags = (key->key.flags & ~(15U << STACK_STATE_SHIFT)) | state;
	++*nr;
}

/* The times of keys as entries, by state. A key that has not arrived keeps its times for later. */
static int take_served(void *arg, struct stack_entry **entries, size_t *nr, uint64_t *until_ns)
{
	struct served *s = arg;
	struct key_times *times;
	const uint32_t *keys;
	size_t nr_keys;
	int error = take_open(s, until_ns);

	*nr = 0;
	if (error)
		return error;
	keys = timeline_keys(s->timeline, &nr_keys);
	times = timeline_times(s->timeline);
	for (size_t i = 0; i < nr_keys; i++) {
		bool any = times[i].blocked_ns || times[i].waiting_ns || times[i].samples;
		const struct stack_entry *key =
			any ? stack_store_numbered(s->session->store, keys[i]) : NULL;
		uint32_t state;

		if (!key || key->key.flags & STACK_PENDING)
			continue;
		state = key->key.flags & 15U << STACK_STATE_SHIFT;
		if (array_reserve(&s->entries, &s->room, *nr + 3))
			return -ENOMEM;
		put_entry(s, nr, key, state,
			  (struct stack_value){ .count = times[i].periods,
						.blocked_ns = times[i].blocked_ns });
		put_entry(s, nr, key, THREAD_RUNNABLE,
			  (struct stack_value){ .count = times[i].blocked_ns ? 0 : times[i].periods,
						.waiting_ns = times[i].waiting_ns });
		put_entry(s, nr, key, KEY_ON_CPU,
			  (struct stack_value){ .count = times[i].samples,
						.waiting_ns =
							times[i].samples * s->options->period_ns });
		times[i] = (struct key_times){};
	}
	*entries = s->entries;
	return 0;
}

/* ---- the report ---- */

/* what wall.keys point to */
struct key_entries {
	struct stack_entry *all;
	size_t nr;
	struct placed_stacks placed;
};

/* measuring: stacks that have not arrived yet, but may later, are left out. 0 or -ENOMEM */
static int find_keys(struct wall *wall, struct key_entries *entries,
		     const struct stack_session *session, bool measuring)
{
	const uint32_t *numbers = timeline_keys(wall->timeline, &wall->nr_keys);

	wall->keys = calloc(wall->nr_keys + 1, sizeof(*wall->keys));
	entries->all = calloc(wall->nr_keys + 1, sizeof(*entries->all));
	if (!wall->keys || !entries->all)
		return -ENOMEM;
	for (size_t i = 0; i < wall->nr_keys; i++) {
		const struct stack_entry *entry = stack_store_numbered(session->store, numbers[i]);

		if (!entry || (measuring && entry->key.flags & STACK_PENDING))
			continue;
		entries->all[entries->nr] = *entry;
		wall->keys[i] = &entries->all[entries->nr++];
	}
	return 0;
}

/* the entry that the key is; NULL: the key was lost */
static struct stack_entry *entry_of(const struct wall *wall, const struct key_entries *entries,
				    size_t key)
{
	return wall->keys[key] ? &entries->all[wall->keys[key] - entries->all] : NULL;
}

/* Leaves out the keys that a part of the timeline does not have. */
static void leave_unused(struct wall *wall, struct key_entries *entries,
			 const struct wall_sums *sums)
{
	entries->nr = 0;
	for (size_t i = 0; i < wall->nr_keys; i++) {
		const struct stack_entry *key = wall->keys[i];

		if (!key)
			continue;
		wall->keys[i] = NULL;
		if (!sums->keys[i + 1].nr && !sums->keys[i + 1].nr_woken)
			continue;
		entries->all[entries->nr] = *key;
		wall->keys[i] = &entries->all[entries->nr++];
	}
}

/*
 * The times of the keys, by which their stacks' ends are counted and idle threads found. 0 or
 * -errno
 */
static int sum_up_keys(struct wall *wall, struct key_entries *entries, struct wall_sums *sums)
{
	int error = wall_sums_make(sums, wall);

	if (error)
		return error;
	leave_unused(wall, entries, sums);
	wall_count_ends(wall, sums);
	for (size_t i = 0; i < wall->nr_keys; i++) {
		const struct key_sums *of = &sums->keys[i + 1];

		if (wall->keys[i])
			entry_of(wall, entries, i)->value = (struct stack_value){
				.count = of->nr_blocked,
				.blocked_ns = of->ns[WALL_BLOCKED],
				.waiting_ns = of->ns[WALL_WAITING] + of->ns[WALL_RUNNING],
			};
	}
	return 0;
}

/* Says why stacks are not whole. Counts samples and periods, as wall_summary() does. */
static void explain(const struct wall *wall, struct key_entries *entries,
		    const struct wall_sums *sums, const struct stack_session *session)
{
	for (size_t i = 0; i < wall->nr_keys; i++)
		if (wall->keys[i])
			entry_of(wall, entries, i)->value.count = sums->keys[i + 1].nr;
	stack_session_explain(session, entries->all, entries->nr);
}

/* the time of idle threads' waits, which later sums lack */
static uint64_t sum_idle(const struct key_entries *entries)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < entries->nr; i++)
		if (entries->all[i].idle)
			ns += stack_entry_ns(&entries->all[i]);
	return ns;
}

/* Marks the keys of idle threads' waits. 0 or -ENOMEM */
static int find_idle(struct wall *wall, struct key_entries *entries,
		     const struct stack_session *session)
{
	struct idle_asked asked = stack_session_asked(session);
	int error = idle_mark(entries->all, entries->nr, wall->to_ns - wall->from_ns, &asked,
			      &wall->writer.names, &wall->idle_threads);

	if (!error)
		wall->idle_ns = sum_idle(entries);
	return error;
}

static void find_lives(struct wall *wall)
{
	struct timespec boot, mono;

	wall->lives = timeline_lives(wall->timeline, &wall->nr_lives);
	wall_find_range(wall);
	clock_gettime(CLOCK_MONOTONIC, &mono); /* the one that is never ahead */
	clock_gettime(CLOCK_BOOTTIME, &boot);
	wall->boot_ns = (boot.tv_sec - mono.tv_sec) * 1000000000LL + boot.tv_nsec - mono.tv_nsec;
	wall->started_ns = clock_realtime_ns(wall->from_ns);
}

static void note_processes(struct wall *wall, struct process_notes *notes,
			   const struct stack_session *session)
{
	uint32_t *pids = calloc(wall->nr_lives + 1, sizeof(*pids));

	cli_check(pids ? 0 : -ENOMEM, "record the processes");
	for (size_t i = 0; i < wall->nr_lives; i++)
		pids[i] = wall->lives[i].pid;
	stack_session_note(session, notes, pids, wall->nr_lives);
	free(pids);
	wall->writer.processes = notes;
}

static void end_view(const struct wall *wall, struct stack_session *session)
{
	char *said = NULL;
	size_t bytes;
	FILE *out = open_memstream(&said, &bytes);

	if (out)
		wall_summary(out, wall);
	stack_session_end_view(session, out && !fclose(out) ? said : "");
	free(said);
}

struct made_wall {
	struct wall wall;
	struct loss losses[MAX_LOSSES];
	struct process_notes processes;
	struct key_entries entries;
	struct wall_sums sums;
};

static bool is_shown(void *arg, const struct life *life)
{
	return live_threads_has(arg, life->pid, life->tid);
}

/*
 * Leaves only these threads. Idle waits are marked already: whether all threads are idle, all
 * threads tell. 0 or -errno
 */
static int keep_threads(struct made_wall *made, struct timeline *timeline,
			const struct live_threads *of)
{
	struct wall *wall = &made->wall;
	bool *idle = calloc(wall->nr_keys + 1, sizeof(*idle));
	int error;

	if (!idle)
		return -ENOMEM;
	for (size_t i = 0; i < wall->nr_keys; i++)
		if (wall->keys[i]) {
			idle[i] = wall->keys[i]->idle;
			entry_of(wall, &made->entries, i)->idle = false;
		}
	timeline_keep(timeline, is_shown, (void *)of);
	find_lives(wall);
	wall_sums_free(&made->sums);
	error = sum_up_keys(wall, &made->entries, &made->sums);
	for (size_t i = 0; i < wall->nr_keys && !error; i++)
		if (wall->keys[i])
			entry_of(wall, &made->entries, i)->idle = idle[i];
	free(idle);
	wall->idle_ns = sum_idle(&made->entries);
	error = error ? error : wall_find_idle_lives(wall);
	wall->idle_threads = 0;
	for (size_t i = 0; i < wall->nr_lives && !error; i++)
		wall->idle_threads += wall->idle[i];
	return error;
}

/*
 * part: what it is of; NULL: all of the measurement. of: the threads that a view shows while it is
 * measured; NULL: it is over, and these are all threads. 0 or -errno
 */
static int make_wall(struct made_wall *made, struct stack_session *session,
		     struct timeline *timeline, const struct options *o,
		     const struct history_part *part, const struct live_threads *of)
{
	struct wall *wall = &made->wall;
	int error;

	*made = (struct made_wall){
		.wall = { .timeline = timeline, .period_ns = o->period_ns, .losses = made->losses }
	};
	wall->command = o->stacks.run.command_line;
	wall->writer = stack_session_named_writer(session, &o->stacks);
	wall->nr_losses =
		stack_session_losses(session, part ? part->lost_since_first : NULL, made->losses);
	error = find_keys(wall, &made->entries, session, of != NULL);
	find_lives(wall);
	if (!error)
		error = sum_up_keys(wall, &made->entries, &made->sums);
	if (!error)
		error = namer_learn(session->namer, made->entries.all, made->entries.nr);
	if (error)
		return error;
	stack_session_place(session, &made->entries.placed, made->entries.all, made->entries.nr);
	if (!o->stacks.idle)
		error = find_idle(wall, &made->entries, session);
	if (!error && of && !of->all)
		error = keep_threads(made, timeline, of);
	else if (!error)
		error = wall_find_idle_lives(wall);
	if (!error)
		note_processes(wall, &made->processes, session);
	return error;
}

static void free_wall(struct made_wall *made)
{
	wall_sums_free(&made->sums);
	process_notes_free(&made->processes);
	free(made->wall.keys);
	free(made->wall.idle);
	free(made->entries.all);
	placed_stacks_free(&made->entries.placed);
}

static void report(struct stack_session *session, struct timeline *timeline,
		   const struct options *o)
{
	const struct history_part *shown;
	int full = timeline_finish(timeline), error;
	struct made_wall made;

	shown = stack_session_shown(session);
	if (shown)
		cli_check(timeline_cut(timeline, shown->first_ns, shown->until_ns),
			  "print the timeline");
	cli_check(make_wall(&made, session, timeline, o, shown, NULL), "print the timeline");
	for (size_t i = run_nr_outputs(&o->stacks.run); i-- > 0;) {
		run_use_output(&session->run, i);
		made.wall.writer.out = session->run.out;
		error = print(&made.wall, &o->stacks.outputs[i], o->stacks.max_report);
		cli_check(ferror(session->run.out) ? 0 : error, "print the timeline");
		run_finish_output(&session->run);
	}
	wall_summary(stderr, &made.wall);
	explain(&made.wall, &made.entries, &made.sums, session);
	end_view(&made.wall, session);
	free_wall(&made);
	cli_check(full, "store the whole timeline in a file");
}

/* ---- saved from a view ---- */

static int save(void *arg, FILE *out, const struct stack_output *output,
		const struct history_part *part, const struct live_shown *shown)
{
	const struct served *s = arg;
	struct live_threads threads;
	struct timeline *copy;
	struct made_wall made;
	int error = live_threads_find(&threads, shown);

	if (error)
		return error;
	error = timeline_copy(&copy, s->timeline, part->first_ns, part->until_ns);
	if (error) {
		live_threads_free(&threads);
		return error;
	}
	error = make_wall(&made, s->session, copy, s->options, part, &threads);
	made.wall.writer.out = out;
	made.wall.only = shown->summary.only;
	if (!error)
		error = print(&made.wall, output, s->options->stacks.max_report);
	free_wall(&made);
	timeline_free(copy);
	live_threads_free(&threads);
	return error;
}

int main(int argc, char **argv)
{
	const struct measure measure = {
		.value = off_cpu_measures[OFF_CPU_ALL].value,
		.of_waits = true,
		.is_time = true,
		.value_ns = 1,
		.counted = "records",
		.unfollowed = "threads not measured: too many at a time, or no memory",
		.root = state_of,
		.stack_json = put_state,
	};
	const struct argp argp = { option_list, parse, STACK_ARGS_DOC, doc };
	const char *endings[NR_WALL_FORMATS + 1] = {};
	struct options o = {
		.stacks = STACK_OPTIONS_DEFAULT,
		.period_ns = 1000000000 / 999,
		.buffer_kib = 16384,
	};
	struct stack_session session;
	struct wallprof_bpf *bpf;
	struct timeline *timeline;
	struct links links = {};
	struct perf_events clock;
	struct served served;
	struct stack_source source = { .take = take_served, .save = save, .arg = &served };
	struct lost lost = { .session = &session, .links = &links, .clock = &clock };
	const struct own_losses own = { lost.losses, NR_LOSSES, count_lost, &lost };

	for (size_t i = 0; i < NR_WALL_FORMATS; i++)
		endings[i] = wall_formats[i].ending;
	o.stacks.endings = endings;
	o.stacks.endings_named = ENDINGS;
	o.stacks.wanted.others = true; /* any process may be a waker */
	stack_options_parse(&o.stacks, &argp, &o, argc, argv);

	for (size_t i = 0; o.stacks.top && i < run_nr_outputs(&o.stacks.run); i++)
		if (o.stacks.outputs[i].format != stack_format_text)
			cli_die(EXIT_USAGE, "--top is for text: the other formats keep all");

	lost.bpf = bpf = kernel_opened(wallprof_bpf__open());
	configure(bpf, &o);
	kernel_loaded(bpf->skeleton, wallprof_bpf__load(bpf));
	stack_session_open(&session, bpf->obj, &o.stacks.run, &o.stacks.wanted);
	cli_check(timeline_new(&timeline), "store the timeline in a file");
	if (o.stacks.run.live || o.stacks.run.serve) {
		source.lanes = lanes_new(clock_ns(), o.stacks.wanted.memory.user / 64);
		cli_check(source.lanes ? 0 : -ENOMEM, "begin the view");
		timeline_tell(timeline, source.lanes);
	}
	cli_check(stack_store_add_ring(session.store, bpf->obj, "lives", timeline_take, timeline),
		  "set up");
	clock = sampling_attach(bpf->progs.sample_thread, &o.stacks.run.tasks.cpus, o.period_ns);
	sampling_follow(&session.run, &clock, bpf->progs.sample_thread, &o.stacks.run.tasks.cpus);
	kernel_check(off_cpu_find_kernel(bpf->obj), "find the kernel's tables");
	/*
	 * New threads first: those that exist already get their storages later, in off_cpu_begin().
	 */
	kernel_attach(&links, "the scheduler's tracepoints", bpf->progs.thread_begins,
		      bpf->progs.worker_begins, bpf->progs.command_begins, bpf->progs.thread_starts,
		      bpf->progs.thread_renamed, bpf->progs.thread_exits, bpf->progs.thread_waking,
		      bpf->progs.thread_wakes, bpf->progs.thread_switches);
	begin_lives(bpf, &session, timeline, o.stacks.run.command);

	served = (struct served){
		.bpf = bpf, .session = &session, .options = &o, .timeline = timeline
	};
	session.source = &source;
	run_doing(&session.run, "Measuring the time of threads");
	json_object_object_add(session.run.start, "sample_ns", json_number(o.period_ns));
	sampling_begin(&clock);
	stack_session_measure(&session, &o.stacks, &measure, &own);
	sampling_end(&clock);
	end_lives(bpf, &session, timeline);
	count_lost(&lost);
	links_detach(&links);

	report(&session, timeline, &o);
	free(served.entries);
	timeline_free(timeline);
	lanes_free(source.lanes);
	return stack_session_close(&session);
}
