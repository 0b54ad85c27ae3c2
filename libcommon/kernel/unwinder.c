// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/unwinder.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory_limit.h"
#include "kernel/links.h"
#include "kernel/load.h"
#include "kernel/object.h"
#include "kernel/unwinder_parts.h"

#define DRAIN_MS 50  /* at a time: what comes faster must not keep the run from its end */
#define LAST_MS  700 /* what a run waits for processes and tables when it is over */

#define DEFAULT_BYTES (512 << 20)

/* Records from different CPUs and buffers may arrive out of order by up to this much, we assume. */
#define DISORDER_NS 1000000

/* ---- which programs are loaded ---- */

/* of bpf/processes.bpf.h: one of them is enough */
static const char by_tracepoint[] = "mappings_locked", by_kprobe[] = "mappings_called";

int unwinder_configure(struct bpf_object *object, bool user_stacks)
{
	bool kprobe = kernel_is_older_than(6, 14) &&
		      !access("/sys/bus/event_source/devices/kprobe", F_OK) && kernel_ftrace() != 0;

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

/* a worker's time is not ours, but others' */
#define SHARE_OF_COMPILING 8

static void compiled(void *arg, pid_t tid, uint64_t ns)
{
	struct unwinder *u = arg;
	struct process *process = processes_find(&u->processes, tid);

	if (process)
		process_charge(&u->processes, process, ns / SHARE_OF_COMPILING);
}

/* ---- reading processes ---- */

static int read_image(void *arg, pid_t pid, struct process_image *image)
{
	const struct unwinder *u = arg;

	return bpf_tasks_image(u->list_tasks, pid, image);
}

int unwinder_ask(void *arg, struct process *process, uint32_t tgid, uint32_t uid)
{
	struct unwinder *u = arg;
	uint32_t changes = 0;
	int error;

	if (bpf_map_lookup_elem(u->changes_fd, &tgid, &changes) && errno != ENOENT)
		return -errno;
	process->uid = uid;
	error = foreign_ask_maps(modules_foreign(u->modules), process->pid, uid,
				 process_asked(&u->processes, process, changes));
	if (error)
		process->asked = 0;
	return error;
}

/*
 * The lock of its mappings was held for long: that happens to any process of a busy machine. False:
 * it has had that chance
 */
static bool ask_again(struct unwinder *u, uint64_t tag)
{
	struct process *process = processes_find(&u->processes, (pid_t)tag);

	if (!process || process->asked != tag || process->asked_again)
		return false;
	process->asked_again = true;
	return !foreign_ask_maps(modules_foreign(u->modules), process->pid, process->uid, tag);
}

static void take_reading(struct unwinder *u, uint64_t tag, int error, struct proc_maps *maps,
			 bool for_samples)
{
	struct process_image image = {};

	if (error == -ETIMEDOUT && ask_again(u, tag))
		return;
	if (!error && for_samples)
		error = read_image(u, (pid_t)tag, &image);
	processes_read(&u->processes, tag, error, maps, &image);
}

unsigned unwinder_take_readings(struct unwinder *u, bool for_samples)
{
	uint64_t tag, began = clock_cpu_ns();
	struct process *process;
	struct proc_maps maps;
	unsigned nr = 0;
	int error;

	for (; (tag = foreign_take_maps(modules_foreign(u->modules), &error, &maps)); nr++) {
		uint64_t now;

		take_reading(u, tag, error, &maps, for_samples);
		now = clock_cpu_ns();
		process = processes_find(&u->processes, (pid_t)tag);
		if (process)
			process_charge(&u->processes, process, now - began);
		began = now;
	}
	return nr;
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
 * Drains the ring buffer before perf's buffers: the record of a mapping that a raw sample depends
 * on was written to perf's buffers before the sample was sent, so that it is read now.
 */
static int drain(struct unwinder *u, bool last)
{
	uint64_t began = clock_ns();
	int error = stack_store_drain(u->store, last ? 0 : DRAIN_MS);

	u->behind = stack_store_drained_ns(u->store) < began;
	return !error && u->records ? perf_records_read(u->records, take_event, u) : error;
}

/* ---- following ---- */

/* Once a record was lost, what is known of any process may be wrong. */
static int note_losses(struct unwinder *u)
{
	struct process_event event = { .kind = PROCESS_EVENTS_LOST, .time_ns = clock_ns() };
	struct stack_stats stats;
	int error = stack_store_sum_stats(u->store, &stats);

	if (error || stats.changes_lost == u->changes_lost)
		return error;
	u->changes_lost = stats.changes_lost;
	/*
	 * now, and again after the events that are queued: one of them may have been before the
	 * loss
	 */
	return processes_apply(&u->processes, &event) ?: event_queue_add(&u->queue, &event);
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
	return stack_store_add(u->store, &raw->key, &raw->value, raw->token, stack->frames,
			       stack->nr);
}

/* *raw becomes NULL if it is kept. */
static int unwind_raw(struct unwinder *u, struct raw_record **raw)
{
	int error = raw_samples_unwind(&u->raw_samples, *raw, &u->stack);

	u->counts.raw_samples++;
	if (error && error != -EINPROGRESS)
		return error;
	if ((error || u->stack.wants_table) &&
	    raw_samples_keep(&u->raw_samples, *raw, error ? 0 : u->stack.wants_table)) {
		*raw = NULL;
		return 0;
	}
	if (error)
		raw_samples_leaf(&u->raw_samples, *raw, &u->stack);
	return store_raw(u, *raw, &u->stack);
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

/* Drains the buffers and applies what is in them. last: all of it */
static int handle_events(struct unwinder *u, bool last)
{
	int error;

	do {
		error = drain(u, last);
		if (!error)
			error = note_losses(u);
		if (!error)
			error = handle_batch(u,
					     last ? UINT64_MAX
						  : stack_store_drained_ns(u->store) - DISORDER_NS);
		if (!error && u->published_changed) {
			u->published_changed = false;
			publisher_publish_changed(u->publisher, &u->processes);
		}
	} while (!error && last && !event_queue_is_empty(&u->queue));
	return error;
}

/*
 * Samples wait for tables that are being made, and for processes that are being read. What was read
 * is taken first, since a reading holds for a sample if no event up to now says otherwise: so they
 * wait for the buffers to be drained, too.
 */
static int follow(struct unwinder *u, bool last)
{
	unsigned taken = unwinder_take_readings(u, true), tables = tables_take(u->tables, 0);
	int error = handle_events(u, last);

	processes_limit_memory(&u->processes, u->options.user_bytes + stack_store_bytes(u->store) +
						      user_room_taken(&memory_room));
	unwinder_give_back(u);
	if (tables)
		publisher_find_compiled(u->publisher, &u->processes);
	publisher_resume_regions(u->publisher);
	u->resumable |= taken || tables;
	if (error || !u->resumable)
		return error;
	u->resumable = u->behind;
	return raw_samples_resume(&u->raw_samples, &u->stack, stack_store_drained_ns(u->store),
				  store_raw, u);
}

int unwinder_follow(struct unwinder *u, bool last)
{
	uint64_t end = clock_ns() + LAST_MS * 1000000ULL, now;
	int error = follow(u, last);

	while (!error && last && u->raw_samples.nr_waiting && (now = clock_ns()) < end) {
		foreign_wait(modules_foreign(u->modules), (end - now) / 1000000 + 1);
		error = follow(u, true);
	}
	if (error || !last)
		return error;
	tables_give_up(u->tables);
	return raw_samples_resume(&u->raw_samples, &u->stack, UINT64_MAX, store_raw, u);
}

bool unwinder_is_behind(const struct unwinder *u)
{
	return u->behind;
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
	process->read_ns = clock_ns(); /* its fork is older, so that its record is ignored */
	return 0;
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
	int error = links_attach_named(&u->links, object, "thread_exiting");

	if (!error)
		error = links_attach_named(&u->links, object, "process_exited");
	if (!error && u->options.children)
		error = links_attach_named(&u->links, object, "command_executes");
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
	u->listed_fd = bpf_object__find_map_fd_by_name(object, "listed_pids");
	return u->list_tasks && u->procs_fd >= 0 && u->changes_fd >= 0 && u->listed_fd >= 0
		       ? 0
		       : -ENOENT;
}

/* what is left for slabs */
static uint64_t slab_bytes(const struct unwinder *u, const struct bpf_object *object)
{
	uint64_t taken = object_map_bytes(object);

	return u->options.kernel_bytes > taken ? u->options.kernel_bytes - taken : 0;
}

static int make_publisher(struct unwinder *u, struct bpf_object *object)
{
	struct publisher_target target = {
		.settle = settle,
		.set_handle = set_handle,
		.remove_handle = remove_handle,
		.arg = u,
	};
	int error = bpf_slabs_new(&u->source, bpf_object__find_map_fd_by_name(object, "slabs"),
				  slab_bytes(u, object));

	if (!error)
		error = slabs_new(&u->slabs, bpf_slabs_source(u->source));
	if (!error)
		error = tables_new(&u->tables, u->slabs, u->modules);
	if (!error)
		error = publisher_new(&u->publisher, u->tables, target);
	return error;
}

static bool is_named(void *arg, pid_t pid)
{
	const struct unwinder *u = arg;
	uint32_t id = pid;
	uint8_t value;

	return unwinder_is_chosen(u, pid) ||
	       /* a command's, and what it has forked */
	       !bpf_map_lookup_elem(u->listed_fd, &id, &value);
}

static void connect_parts(struct unwinder *u)
{
	u->processes = (struct processes){
		.all = u->options.all,
		.children = u->options.children,
		.is_named = is_named,
		.named_arg = u,
		.observer = publisher_observer(u->publisher),
	};
	u->raw_samples = (struct raw_samples){
		.processes = &u->processes,
		.publisher = u->publisher,
		.tables = u->tables,
		.queue = &u->queue,
		.ask = unwinder_ask,
		.arg = u,
		.max_depth = u->options.max_depth,
	};
	tables_on_made(u->tables, compiled, u);
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
	if (!u->options.kernel_bytes)
		u->options.kernel_bytes = DEFAULT_BYTES;
	if (!u->options.user_bytes)
		u->options.user_bytes = DEFAULT_BYTES;
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

const struct runtime_process *unwinder_runtimes(const struct unwinder *u, pid_t pid)
{
	const struct publication *publication = publisher_find(u->publisher, pid);

	return publication ? publication->runtimes : NULL;
}

const struct processes *unwinder_processes(const struct unwinder *u)
{
	return &u->processes;
}

struct unwinder_counts unwinder_counts(const struct unwinder *u)
{
	struct unwinder_counts counts = u->counts;
	struct bpf_slabs_counts slabs = bpf_slabs_counts(u->source);
	struct publisher_counts published = publisher_counts(u->publisher);
	struct tables_counts tables = tables_counts(u->tables);

	counts.publications = published.publications;
	counts.unpublished = published.unpublished;
	counts.regions_given_up = published.regions_given_up;
	counts.refused = processes_nr_refused(&u->processes);
	counts.evicted = tables.evicted;
	counts.files = modules_nr_seen(u->modules);
	counts.files_without_table = tables.files_without_table;
	counts.rows = tables.rows;
	counts.table_bytes = tables.bytes;
	counts.slab_bytes = slabs.slabs * (uint64_t)SLAB_VALUE_SIZE;
	counts.slab_waits = slabs.waits;
	return counts;
}
