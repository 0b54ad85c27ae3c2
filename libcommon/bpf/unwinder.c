// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/unwinder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/links.h"
#include "bpf/load.h"
#include "bpf/object.h"
#include "bpf/slab_maps.h"
#include "bpf/tasks.h"
#include "process/clock.h"
#include "process/perf_records.h"
#include "unwind/event_queue.h"
#include "unwind/processes.h"
#include "unwind/publisher.h"
#include "unwind/raw_samples.h"
#include "unwind/tables.h"

/* what a run waits for tables before it begins, and when it is over */
#define FIRST_TABLES_MS	1000
#define LAST_TABLES_MS	700

/* Records from different CPUs and buffers may arrive out of order by up to this much, we assume. */
#define DISORDER_NS	1000000

struct unwinder {
	struct unwinder_options options;
	/* the kernel's side */
	struct links links;
	const struct bpf_program *list_tasks;
	int procs_fd, changes_fd;
	struct bpf_slabs *source;
	/* what arrives */
	struct stack_store *store;
	struct perf_records *records;	/* NULL: no user stacks are wanted */
	struct event_queue queue;
	uint64_t changes_lost;		/* the kernel's counter, summed over the CPUs, when last read */
	/* what is known of processes, and what is made of that */
	struct processes processes;
	struct slabs *slabs;
	struct modules *modules;
	struct tables *tables;
	struct publisher *publisher;
	struct raw_samples raw_samples;
	struct host_stack stack;	/* of the raw sample that is being unwound */
	/* a published process had an event since publisher_publish_changed() */
	bool published_changed;
	struct unwinder_counts counts;
};

/* ---- which programs are loaded ---- */

/* of bpf/processes.bpf.h: one of them is enough */
static const char by_tracepoint[] = "mappings_locked", by_kprobe[] = "mappings_called";

int unwinder_configure(struct bpf_object *object, bool user_stacks)
{
	bool kprobe = kernel_is_older_than(6, 14) && !access("/sys/bus/event_source/devices/kprobe", F_OK);

	return user_stacks ? object_autoload(object, kprobe ? by_kprobe : by_tracepoint) : 0;
}

/* ---- the kernel's side of publishing, struct publisher_target ---- */

static int settle(void *arg)
{
	const struct unwinder *u = arg;

	return bpf_slabs_settle(u->source);
}

static int set_handle(void *arg, uint32_t tgid, uint64_t handle)
{
	const struct unwinder *u = arg;

	return bpf_map_update_elem(u->procs_fd, &tgid, &handle, BPF_ANY) ? -errno : 0;
}

static void remove_handle(void *arg, uint32_t tgid)
{
	const struct unwinder *u = arg;

	bpf_map_delete_elem(u->procs_fd, &tgid);
}

/* ---- and of reading processes, struct raw_samples_source ---- */

static int read_image(void *arg, pid_t pid, struct eh_image *image)
{
	const struct unwinder *u = arg;

	return bpf_tasks_image(u->list_tasks, pid, image);
}

/*
 * Reads the count of changes before the mappings: a change that happens in between makes the list stale,
 * whether or not the mappings reflect it.
 */
static int read_mappings(void *arg, pid_t pid, uint32_t tgid, struct process_reading *reading)
{
	const struct unwinder *u = arg;

	if (bpf_map_lookup_elem(u->changes_fd, &tgid, &reading->changes)) {
		if (errno != ENOENT)
			return -errno;
		reading->changes = 0;
	}
	return process_read(modules_foreign(u->modules), pid, reading);
}

static int take_record(void *arg, const void *record, size_t bytes)
{
	struct unwinder *u = arg;

	return event_queue_add_record(&u->queue, record, bytes);
}

static int take_event(void *arg, const struct process_event *event)
{
	struct unwinder *u = arg;

	return event_queue_add(&u->queue, event);
}

/*
 * Drains the ring buffer before perf's buffers: the record of a mapping that a raw sample depends on was
 * written to perf's buffers before the sample was sent, so that it is read now.
 */
static int drain(void *arg)
{
	struct unwinder *u = arg;
	int error = stack_store_drain(u->store);

	if (!error && u->records)
		error = perf_records_read(u->records, take_event, u);
	return error;
}

/* ---- following ---- */

/* Sums up how many process records found no room in the ring buffer. 0 or -errno */
static int count_changes_lost(struct unwinder *u, uint64_t *lost)
{
	struct stack_stats *stats;
	size_t nr;
	int error = stack_store_stats(u->store, &stats, &nr);

	if (error)
		return error;
	*lost = 0;
	for (size_t cpu = 0; cpu < nr; cpu++)
		*lost += stats[cpu].changes_lost;
	free(stats);
	return 0;
}

/* Once a record was lost, what is known of any process may be wrong. */
static int note_losses(struct unwinder *u)
{
	struct process_event event = { .kind = PROCESS_EVENTS_LOST, .time_ns = clock_ns() };
	uint64_t lost;
	int error = count_changes_lost(u, &lost);

	if (error || lost == u->changes_lost)
		return error;
	u->changes_lost = lost;
	return processes_apply(&u->processes, &event);
}

static int apply_event(struct unwinder *u, const struct process_event *event)
{
	const struct publication *published = publisher_find(u->publisher, event->pid);
	const struct process *process;
	int error;

	u->counts.events++;
	u->published_changed |= published != NULL;
	error = processes_apply(&u->processes, event);
	process = processes_find(&u->processes, event->pid);
	published = publisher_find(u->publisher, event->pid);
	if (process && published && published->version == process->version)
		publisher_set_changes(u->publisher, process->pid, process->changes);
	return error;
}

static int store_raw(void *arg, struct raw_record *raw, const struct host_stack *stack)
{
	struct unwinder *u = arg;

	raw->key.user_stack = stack->id;
	raw->key.end = stack->end;
	return stack_store_add(u->store, &raw->key, &raw->value, raw->token, stack->frames, stack->nr);
}

/* *raw becomes NULL if it is kept. */
static int unwind_raw(struct unwinder *u, struct raw_record **raw)
{
	int error = raw_samples_unwind(&u->raw_samples, *raw, &u->stack);

	u->counts.raw_samples++;
	if (error)
		return error;
	if (u->stack.wants_table && raw_samples_keep(&u->raw_samples, *raw, u->stack.wants_table)) {
		*raw = NULL;
		return 0;
	}
	return store_raw(u, *raw, &u->stack);
}

/* Samples wait for tables that are being made. last: only for so long, and what is not made then is given up */
static int resume_waiting(struct unwinder *u, bool last)
{
	uint64_t end = clock_ns() + LAST_TABLES_MS * 1000000ULL;
	bool waits, taken;
	int error = 0;

	do {
		waits = last && u->raw_samples.nr_waiting && clock_ns() < end;
		if (last && !waits)
			tables_give_up(u->tables);
		taken = tables_take(u->tables, waits ? LAST_TABLES_MS : 0);
		if (taken)
			publisher_find_pythons(u->publisher, &u->processes);
		if (taken || last)
			error = raw_samples_resume(&u->raw_samples, &u->stack, store_raw, u);
	} while (!error && waits);
	return error;
}

static int handle_batch(struct unwinder *u, uint64_t horizon_ns)
{
	struct queued_event next;
	int error = 0;

	event_queue_begin(&u->queue, horizon_ns);
	while (!error && event_queue_next(&u->queue, &next)) {
		error = next.raw ? unwind_raw(u, &next.raw) : apply_event(u, &next.event);
		queued_event_free(&next);
	}
	return error;
}

int unwinder_follow(struct unwinder *u, bool last)
{
	uint64_t horizon = last ? UINT64_MAX : clock_ns() - DISORDER_NS;
	int error;

	do {
		error = drain(u);
		if (!error)
			error = note_losses(u);
		if (!error)
			error = handle_batch(u, horizon);
		if (!error && u->published_changed) {
			u->published_changed = false;
			publisher_publish_changed(u->publisher, &u->processes);
		}
	} while (!error && last && !event_queue_is_empty(&u->queue));
	return error ? error : resume_waiting(u, last);
}

void unwinder_fds(const struct unwinder *u, int fds[UNWINDER_FDS])
{
	fds[0] = stack_store_fd(u->store);
	fds[1] = u->records ? perf_records_fd(u->records) : -1;
	fds[2] = tables_fd(u->tables);
}

int unwinder_expect(struct unwinder *u, pid_t pid)
{
	struct process *process = processes_get(&u->processes, pid);

	if (!process)
		return -ENOMEM;
	process->read_ns = clock_ns();	/* its fork is older, so that its record is ignored */
	return 0;
}

/* ---- start: list, read, compile, settle, publish ---- */

static int most_recent_first(const void *left, const void *right)
{
	const struct task_record *l = left, *r = right;

	return l->last_ran_ns == r->last_ran_ns ? 0 : l->last_ran_ns > r->last_ran_ns ? -1 : 1;
}

static bool is_asked_for(const struct unwinder *u, pid_t pid)
{
	for (size_t i = 0; i < u->options.nr_pids && u->options.user_stacks; i++)
		if (u->options.pids[i] == pid)
			return true;
	return u->processes.all;
}

/* Lists all threads, those that ran last first. */
static int list_threads(struct unwinder *u, struct task_list *list)
{
	int error = bpf_tasks_list(u->list_tasks, 0, list);

	if (!error)
		qsort(list->tasks, list->nr, sizeof(*list->tasks), most_recent_first);
	return error;
}

/* Reads the process, and finds its modules. -ESRCH or the like if it is gone or not accessible */
static int read_process(struct unwinder *u, const struct task_record *task)
{
	struct process_reading reading;
	struct process *process;
	int error = read_mappings(u, task->pid, task->image.tgid, &reading);

	if (error)
		return error;
	process = processes_get(&u->processes, task->pid);
	if (!process) {
		proc_maps_free(&reading.maps);
		return -ENOMEM;
	}
	process_take(&u->processes, process, &reading);
	return publisher_find_modules(u->publisher, process);
}

/* Reads the wanted processes. Keeps in the list those that could be read, each once. 0 or -ENOMEM */
static int read_processes(struct unwinder *u, struct task_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->nr; i++) {
		const struct task_record *task = &list->tasks[i];
		int error;

		if (task->kernel_thread || !is_asked_for(u, task->pid) ||
		    processes_find(&u->processes, task->pid))
			continue;
		error = read_process(u, task);
		if (error == -ENOMEM)
			return error;
		if (!error)
			list->tasks[kept++] = *task;
	}
	list->nr = kept;
	return 0;
}

static void publish_processes(struct unwinder *u, const struct task_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		const struct process *process = processes_find(&u->processes, list->tasks[i].pid);

		if (process)
			publisher_publish(u->publisher, process, &list->tasks[i].image);
	}
}

/* Returns the seconds since *began, and sets *began to now. */
static double since(double *began)
{
	double now = clock_seconds(), passed = now - *began;

	*began = now;
	return passed;
}

int unwinder_start(struct unwinder *u)
{
	double began = clock_seconds();
	struct task_list list;
	int error = list_threads(u, &list);

	if (error)
		return error;
	error = read_processes(u, &list);
	u->counts.processes = list.nr;
	u->counts.files_at_start = modules_count(u->modules);
	u->counts.read_s = since(&began);
	if (!error)
		error = tables_make_all(u->tables, FIRST_TABLES_MS);
	u->counts.compile_s = since(&began);
	if (!error)
		error = bpf_slabs_settle(u->source);
	u->counts.insert_s = since(&began);
	if (!error)
		publish_processes(u, &list);
	u->counts.publish_s = since(&began);
	free(list.tasks);
	return error;
}

/* ---- new, free ---- */

/* Attaches the program that notices changed mappings: the one that was loaded. */
static int attach_to_mappings(struct unwinder *u, struct bpf_object *object)
{
	static const char *const calls[] = { "munmap", "mremap", "mmap" };
	int error;

	if (object_is_loaded(object, by_tracepoint))
		return links_attach_named(&u->links, object, by_tracepoint);
	error = object_is_loaded(object, by_kprobe) ? 0 : -ENOENT;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !error; i++)
		error = links_attach_to_call(&u->links, object, by_kprobe, calls[i]);
	return error;
}

static int attach(struct unwinder *u, struct bpf_object *object)
{
	int error = links_attach_named(&u->links, object, "process_exited");	/* PIDs are reused */

	if (!error && u->options.children)
		error = links_attach_named(&u->links, object, "process_forked");
	if (!error && u->options.user_stacks)
		u->counts.untraced_munmap = -attach_to_mappings(u, object);
	return error;
}

static int find_kernel_side(struct unwinder *u, struct bpf_object *object)
{
	u->list_tasks = bpf_object__find_program_by_name(object, "list_tasks");
	u->procs_fd = bpf_object__find_map_fd_by_name(object, "procs");
	u->changes_fd = bpf_object__find_map_fd_by_name(object, "changes");
	return u->list_tasks && u->procs_fd >= 0 && u->changes_fd >= 0 ? 0 : -ENOENT;
}

static int make_publisher(struct unwinder *u, struct bpf_object *object)
{
	struct publisher_target target = {
		.settle = settle, .set_handle = set_handle, .remove_handle = remove_handle, .arg = u,
	};
	int error = bpf_slabs_new(&u->source, bpf_object__find_map_fd_by_name(object, "slabs"));

	if (!error)
		error = slabs_new(&u->slabs, bpf_slabs_source(u->source));
	if (!error)
		error = tables_new(&u->tables, u->slabs, u->modules);
	if (!error)
		error = publisher_new(&u->publisher, u->tables, target);
	return error;
}

static void connect_parts(struct unwinder *u)
{
	u->processes = (struct processes){
		.all = u->options.all,
		.children = u->options.children,
		.observer = publisher_observer(u->publisher),
	};
	u->raw_samples = (struct raw_samples){
		.processes = &u->processes,
		.publisher = u->publisher,
		.tables = u->tables,
		.queue = &u->queue,
		.source = { .image = read_image, .read = read_mappings, .drain = drain, .arg = u },
		.max_depth = u->options.max_depth,
	};
	stack_store_pass_on(u->store, take_record, u);
}

int unwinder_new(struct unwinder **unwinder, struct bpf_object *object, struct modules *modules,
		 struct stack_store *store, const struct unwinder_options *options)
{
	struct unwinder *u = calloc(1, sizeof(*u));
	int error;

	if (!u)
		return -ENOMEM;
	u->options = *options;
	u->modules = modules;
	u->store = store;
	error = find_kernel_side(u, object);
	if (!error)
		error = make_publisher(u, object);
	if (!error)
		error = bpf_tasks_begin(object);
	if (!error && options->user_stacks)
		error = perf_records_open(&u->records);
	if (!error)
		error = attach(u, object);
	if (error) {
		unwinder_free(u);
		return error;
	}
	connect_parts(u);
	*unwinder = u;
	return 0;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	links_detach(&u->links);
	perf_records_close(u->records);
	event_queue_free(&u->queue);
	raw_samples_free(&u->raw_samples);
	processes_free(&u->processes);
	publisher_free(u->publisher);
	tables_free(u->tables);
	slabs_free(u->slabs);
	bpf_slabs_free(u->source);
	free(u);
}

const struct python_image *unwinder_python(const struct unwinder *u, pid_t pid)
{
	const struct publication *publication = publisher_find(u->publisher, pid);

	return publication ? publication->python : NULL;
}

struct unwinder_counts unwinder_counts(const struct unwinder *u)
{
	struct unwinder_counts counts = u->counts;
	struct bpf_slabs_counts slabs = bpf_slabs_counts(u->source);
	struct publisher_counts published = publisher_counts(u->publisher);
	struct tables_counts tables = tables_counts(u->tables);

	counts.publications = published.publications;
	counts.unpublished = published.unpublished;
	counts.given_up = foreign_given_up(modules_foreign(u->modules));
	counts.files = modules_count(u->modules);
	counts.files_without_table = tables.files_without_table;
	counts.rows = tables.rows;
	counts.table_bytes = tables.bytes;
	counts.slab_bytes = slabs.slabs * (uint64_t)SLAB_VALUE_SIZE;
	counts.slab_waits = slabs.waits;
	return counts;
}
