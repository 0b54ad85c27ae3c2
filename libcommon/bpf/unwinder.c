// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/unwinder.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "bpf/slab_maps.h"
#include "bpf/tasks.h"
#include "bpf/tracepoint.h"
#include "process/clock.h"
#include "unwind/images.h"
#include "process/perf_records.h"
#include "unwind/processes.h"
#include "unwind/tables.h"
#include "records_abi.h"

/* records of one moment may come this much out of order, from different CPUs and buffers */
#define DISORDER_NS	1000000
/* a process's mappings are read again this often at most, and pcs outside them sent this often */
#define REREAD_NS	100000000
#define QUIET_NS	1000000000
#define MAX_COMPILERS	64
#define MAX_STACK_BYTES	(8 << 20)

/* bpf/processes.bpf.h: for which options; without tracefs we do not hear of memory given up */
enum { FOR_USER_STACKS = 1, FOR_CHILDREN = 2, ALWAYS = 4 };
static const struct {
	const char *program;
	int needed;
	bool on_tracefs;
} hooks[] = {
	{ "process_exited", ALWAYS, false },	/* the number of a process that is gone is not asked for any more */
	{ "process_forked", FOR_CHILDREN, false },
	{ "enters_munmap", FOR_USER_STACKS, true },
	{ "enters_mremap", FOR_USER_STACKS, true },
	{ "enters_mmap", FOR_USER_STACKS, true },
};
#define NR_HOOKS (sizeof(hooks) / sizeof(hooks[0]))

/* what is to be done in the order of time */
struct item {
	uint64_t time_ns, nr;		/* nr: in the order of arrival */
	struct process_event event;
	struct raw_record *raw;		/* instead of an event */
};

struct unwinder {
	struct modules *modules;
	struct stack_store *store;
	struct bpf_slabs *source;
	struct slabs *slabs;
	struct perf_records *records;
	struct bpf_link *links[NR_HOOKS];
	struct processes processes;
	const struct bpf_program *list_tasks;
	int procs_fd, changes_fd;
	uint32_t generation;
	struct unwinder_options options;
	struct item *items;
	size_t nr_items, max_items;
	uint64_t nr_taken, changes_lost;
	bool touched;			/* lists were changed that are to be published again */
	struct unwinder_counts counts;
};

/* ---- publishing ---- */

static bool same_image(const struct eh_image *left, const struct eh_image *right)
{
	return !memcmp(left, right, sizeof(*left));
}

/* its mappings go: processes.h calls this before they do */
static void unpublish(void *arg, struct process *process)
{
	struct unwinder *u = arg;

	if (process->live)
		bpf_map_delete_elem(u->procs_fd, &process->image.tgid);
	process->live = false;
	image_release(u->slabs, process->loc, process->bytes);
	process->loc = 0;
	process->written = 0;
}

/* writes the list of the process as it is known to be now, beside the one that is there */
static int write_list(struct unwinder *u, struct process *process, const struct eh_image *image)
{
	int error = image_make_tables(u->slabs, u->modules, &process->maps);

	if (!++u->generation)
		u->generation = 1;
	if (!error)
		error = image_write(u->slabs, u->modules, &process->maps, image, process->changes, u->generation,
				    &process->loc, &process->bytes);
	if (error)
		return error;
	process->image = *image;
	process->written = process->version;
	return bpf_slabs_settle(u->source);
}

/* the handle into the kernel: where there is no room for it, samples go on coming raw */
static int make_live(struct unwinder *u, struct process *process)
{
	const struct eh_process *list = slabs_at(u->slabs, process->loc);
	__u64 handle = HANDLE(process->loc, list->generation);

	process->live = !bpf_map_update_elem(u->procs_fd, &process->image.tgid, &handle, BPF_ANY);
	u->counts.publications += process->live;
	return process->live || errno == ENOMEM || errno == E2BIG || errno == EBUSY ? 0 : -errno;
}

static void publish(struct unwinder *u, struct process *process, const struct eh_image *image)
{
	struct process before = *process;
	int error = write_list(u, process, image);

	if (!error)
		error = make_live(u, process);
	if (process->loc != before.loc)		/* a walk that is on the old one notices */
		image_release(u->slabs, before.loc, before.bytes);
	if (error) {	/* its samples go on coming raw, and are nobody's: that is its own loss */
		unpublish(u, process);
		u->counts.unpublished++;
	}
}

/* ---- what is to be done ---- */

static struct item *new_item(struct unwinder *u)
{
	if (u->nr_items == u->max_items) {
		size_t max = u->max_items ? u->max_items * 2 : 256;
		struct item *more = reallocarray(u->items, max, sizeof(*more));

		if (!more)
			return NULL;
		u->items = more;
		u->max_items = max;
	}
	u->items[u->nr_items] = (struct item){ .nr = u->nr_taken++ };
	return &u->items[u->nr_items];
}

static int take_event(void *arg, const struct process_event *event)
{
	struct unwinder *u = arg;
	struct item *item = new_item(u);

	if (!item)
		return -ENOMEM;
	item->time_ns = event->time_ns;
	item->event = *event;
	if (event->mapping.path) {
		item->event.mapping.path = strdup(event->mapping.path);
		if (!item->event.mapping.path)
			return -ENOMEM;
	}
	u->nr_items++;
	return 0;
}

static int take_process_record(struct unwinder *u, const struct process_record *record)
{
	struct process_event event = {
		.kind = record->kind == RECORD_EXITED ? PROCESS_EXITED : PROCESS_UNMAPPED,
		.pid = record->pid, .time_ns = record->time_ns,
		.mapping = { .start = record->start, .end = record->end }, .changes = record->changes,
	};

	return take_event(u, &event);
}

static int take_raw(struct unwinder *u, const struct raw_record *record, size_t size)
{
	struct item *item = new_item(u);

	if (!item)
		return -ENOMEM;
	item->raw = malloc(size);
	if (!item->raw)
		return -ENOMEM;
	memcpy(item->raw, record, size);
	item->time_ns = record->time_ns;
	u->nr_items++;
	return 0;
}

static int take_record(void *arg, const void *bytes, size_t size)
{
	const struct process_record *record = bytes;
	const struct raw_record *raw = bytes;

	if (raw->kind == RECORD_RAW && size >= sizeof(*raw) && size - sizeof(*raw) >= raw->stack_bytes)
		return take_raw(arg, raw, size);
	if ((record->kind == RECORD_UNMAPPED || record->kind == RECORD_EXITED) && size >= sizeof(*record))
		return take_process_record(arg, record);
	return -EBADMSG;
}

static int by_time(const void *left, const void *right)
{
	const struct item *l = left, *r = right;

	if (l->time_ns != r->time_ns)
		return l->time_ns < r->time_ns ? -1 : 1;
	return l->nr < r->nr ? -1 : 1;
}

static void free_item(struct item *item)
{
	free(item->raw);
	free(item->event.mapping.path);
}

static int apply_event(struct unwinder *u, const struct item *item)
{
	struct process *process = processes_find(&u->processes, item->event.pid);
	int error;

	u->counts.events++;
	u->touched |= process && process->loc;
	error = processes_apply(&u->processes, &item->event);
	process = processes_find(&u->processes, item->event.pid);
	if (process && process->loc && process->written == process->version) {
		struct eh_process *list = slabs_at(u->slabs, process->loc);

		list->changes = process->changes;	/* a change that changed nothing */
	}
	return error;
}

/* ---- raw samples ---- */

/* how many of these bytes of the stack, from stack_addr + at on, the record has */
static uint32_t bytes_there(const struct raw_record *raw, uint64_t at, uint32_t bytes)
{
	uint64_t in_page = raw->stack_addr & 4095, end = at + bytes < raw->stack_bytes ? at + bytes : raw->stack_bytes;

	for (uint64_t page = (in_page + at) / 4096; page * 4096 < in_page + end; page++)
		if (page < 32 && raw->missing >> page & 1)
			return page * 4096 <= in_page + at ? 0 : page * 4096 - in_page - at;
	return end - at;
}

/* the stack as it was; anything else, code that is, from the process, if it is still there */
static uint32_t read_raw_stack(void *arg, void *to, uint32_t bytes, uint64_t addr)
{
	const struct raw_record *raw = arg;
	uint64_t at = addr - raw->stack_addr;
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)addr, bytes };
	ssize_t done;

	if (addr >= raw->stack_addr && at < raw->stack_bytes) {
		bytes = bytes_there(raw, at, bytes);
		memcpy(to, (const char *)(raw + 1) + at, bytes);
		return bytes;
	}
	if (addr >= raw->reg[EH_RSP] && addr - raw->reg[EH_RSP] < MAX_STACK_BYTES)
		return 0;
	done = process_vm_readv(raw->key.pid, &local, 1, &remote, 1, 0);
	return done < 0 ? 0 : done;
}

/* Reads its mappings, and before that how many of its changes are in them. */
static int read_mappings(struct unwinder *u, pid_t pid, __u32 tgid, struct process_reading *reading)
{
	if (bpf_map_lookup_elem(u->changes_fd, &tgid, &reading->changes))
		reading->changes = 0;
	return process_read(pid, reading);
}

/* has it done anything between these times that is heard of and not applied yet? */
static bool has_changed(const struct unwinder *u, pid_t pid, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = 0; i < u->nr_items; i++) {
		const struct item *item = &u->items[i];

		if (!item->raw && item->event.pid == pid && item->time_ns > from_ns && item->time_ns <= to_ns)
			return true;
	}
	return false;
}

static int hear(struct unwinder *u)
{
	int error = stack_store_drain(u->store);	/* samples first: what they saw mapped has its record by then */

	return error || !u->records ? error : perf_records_read(u->records, take_event, u);
}

/*
 * The process as it is now, if that is how it was when this sample was taken. NULL: it is not, or it cannot
 * be read
 */
static struct process *read_process(struct unwinder *u, const struct raw_record *raw)
{
	struct process_reading reading;
	struct process *process;
	struct eh_image image;

	if (read_mappings(u, raw->key.pid, raw->image.tgid, &reading))
		return NULL;
	process = bpf_tasks_image(u->list_tasks, raw->key.pid, &image) || !same_image(&image, &raw->image)
			  ? NULL : processes_get(&u->processes, raw->key.pid);
	if (!process) {
		proc_maps_free(&reading.maps);
		return NULL;
	}
	/* later events are applied to it, even if it does not tell how it was then */
	process_take(&u->processes, process, &reading);
	return hear(u) || has_changed(u, process->pid, raw->time_ns, process->read_ns) ? NULL : process;
}

static void walk_raw(struct unwinder *u, const struct process *process, struct raw_record *raw, struct host_stack *stack)
{
	struct host_registers registers = { .ip = raw->ip, .in_syscall = raw->syscall >= 0 };
	struct host_memory memory = { .read = read_raw_stack, .arg = raw };

	memcpy(registers.reg, raw->reg, sizeof(registers.reg));
	image_unwind(u->slabs, u->modules, process ? process->loc : 0, &registers, memory, u->options.max_depth, stack);
}

/* A pc outside the list: memory may have been mapped, by mremap say, with no record of it. */
static void look_again(struct unwinder *u, struct process *process, struct raw_record *raw, struct host_stack *stack)
{
	uint64_t now = clock_ns(), version = process->version;
	uint64_t pause = process->look_took_ns * 20 > REREAD_NS ? process->look_took_ns * 20 : REREAD_NS;
	struct eh_process *list;

	if (process->settled != version && now - process->looked_ns > pause && read_process(u, raw)) {
		if (process->version == version) {
			process->settled = version;
		} else {
			publish(u, process, &raw->image);
			walk_raw(u, process, raw, stack);
			if (stack->end != END_NO_MAPPING)
				return;
		}
	}
	list = slabs_at(u->slabs, process->loc);
	if (process->loc)
		list->quiet_until_ns = process->settled == process->version ? now + QUIET_NS : process->looked_ns + pause;
}

/* exec calls the list back: one that is there and another image's is a sign that an exec was not heard of */
static bool is_another_image(const struct process *process, const struct raw_record *raw)
{
	return process->image.start_ns != raw->image.start_ns ||
	       (process->image.exec_id != raw->image.exec_id && !process->in_exec);
}

/* where the registers may still be the old image's */
static bool is_in_exec(const struct raw_record *raw)
{
	return raw->syscall == SYS_execve || raw->syscall == SYS_execveat;
}

static int unwind_raw(struct unwinder *u, struct raw_record *raw)
{
	struct process *process = processes_find(&u->processes, raw->key.pid);
	static struct host_stack stack;

	u->counts.raw_samples++;
	if (!process || !process->complete || (process->loc && is_another_image(process, raw)))
		process = read_process(u, raw);
	if (process && (!process->loc || process->written != process->version || !process->live ||
			!same_image(&process->image, &raw->image))) {
		publish(u, process, &raw->image);
		process->in_exec = is_in_exec(raw);
	}
	walk_raw(u, process, raw, &stack);
	if (stack.end == END_NO_MAPPING && process && !is_in_exec(raw))
		look_again(u, process, raw, &stack);
	if (is_in_exec(raw) && stack.end != END_COMPLETE) {
		stack.end = END_NO_USER;
		stack.id = 0;
	}
	raw->key.user_stack = stack.id;
	raw->key.end = stack.end;
	return stack_store_add(u->store, &raw->key, &raw->value, raw->token, stack.frames, stack.nr);
}

/* ---- following ---- */

static void publish_changed(struct unwinder *u)
{
	struct process *process, *next;

	if (!u->touched)
		return;
	u->touched = false;
	HASH_ITER(hh, u->processes.by_pid, process, next) {
		if (!process->loc || !process->complete ||
		    (process->live && process->written == process->version))
			continue;
		publish(u, process, &process->image);
	}
}

/* process records that found no room in the ring buffer: nothing that is known can be relied on */
static int note_losses(struct unwinder *u)
{
	struct process_event lost = { .kind = PROCESS_EVENTS_LOST, .time_ns = clock_ns() };
	struct stack_stats *stats;
	uint64_t changes_lost = 0;
	size_t nr;
	int error = stack_store_stats(u->store, &stats, &nr);

	if (error)
		return error;
	for (size_t cpu = 0; cpu < nr; cpu++)
		changes_lost += stats[cpu].changes_lost;
	free(stats);
	if (changes_lost == u->changes_lost)
		return 0;
	u->changes_lost = changes_lost;
	return processes_apply(&u->processes, &lost);
}

int unwinder_follow(struct unwinder *u, bool last)
{
	uint64_t horizon = last ? UINT64_MAX : clock_ns() - DISORDER_NS;
	size_t done = 0, nr;
	int error;

	error = hear(u);
	if (!error)
		error = note_losses(u);
	nr = u->nr_items;	/* what is heard meanwhile is for the next time */
	qsort(u->items, nr, sizeof(*u->items), by_time);
	while (!error && done < nr && u->items[done].time_ns <= horizon) {
		struct item item = u->items[done++];

		error = item.raw ? unwind_raw(u, item.raw) : apply_event(u, &item);
		free_item(&item);
	}
	u->nr_items -= done;
	memmove(u->items, u->items + done, u->nr_items * sizeof(*u->items));
	if (!error)
		publish_changed(u);
	return error || !last || !u->nr_items ? error : unwinder_follow(u, last);
}

void unwinder_fds(const struct unwinder *u, int fds[UNWINDER_FDS])
{
	fds[0] = stack_store_fd(u->store);
	fds[1] = u->records ? perf_records_fd(u->records) : -1;
}

int unwinder_expect(struct unwinder *u, pid_t pid)
{
	struct process *process = processes_get(&u->processes, pid);

	if (!process)
		return -ENOMEM;
	process->read_ns = clock_ns();	/* its fork is no news */
	return 0;
}

/* ---- start ---- */

struct compilation {
	struct unwinder *unwinder;
	size_t next;		/* module ID, taken atomically */
	pthread_mutex_t lock;	/* of the slabs */
};

static void *compile(void *arg)
{
	struct compilation *c = arg;
	size_t id;

	while ((id = __atomic_add_fetch(&c->next, 1, __ATOMIC_RELAXED)) <= modules_count(c->unwinder->modules)) {
		struct module *module = modules_get(c->unwinder->modules, id);
		struct unwind_table table;

		if (module->compiled)
			continue;
		module_compile(module, &table);
		pthread_mutex_lock(&c->lock);
		upload_module(c->unwinder->slabs, module, &table);	/* without memory it has no table */
		pthread_mutex_unlock(&c->lock);
	}
	return NULL;
}

static void compile_all(struct unwinder *u)
{
	struct compilation c = { .unwinder = u, .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t threads[MAX_COMPILERS];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), nr = 0;

	while (nr < cpus - 1 && nr < MAX_COMPILERS && (size_t)nr < modules_count(u->modules) &&
	       !pthread_create(&threads[nr], NULL, compile, &c))
		nr++;
	compile(&c);
	while (nr-- > 0)
		pthread_join(threads[nr], NULL);
}

static bool is_asked_for(const struct unwinder *u, pid_t pid)
{
	for (size_t i = 0; i < u->options.nr_pids && u->options.user_stacks; i++)
		if (u->options.pids[i] == pid)
			return true;
	return u->processes.all;
}

static int most_recent_first(const void *left, const void *right)
{
	const struct task_record *l = left, *r = right;

	return l->last_ran_ns == r->last_ran_ns ? 0 : l->last_ran_ns > r->last_ran_ns ? -1 : 1;
}

/* The processes asked for, each once, whichever of its threads ran last: 0 or -ENOMEM */
static int read_processes(struct unwinder *u, struct task_list *list)
{
	size_t kept = 0;

	qsort(list->tasks, list->nr, sizeof(*list->tasks), most_recent_first);
	for (size_t i = 0; i < list->nr; i++) {
		const struct task_record *task = &list->tasks[i];
		struct process_reading reading;
		struct process *process;
		int error;

		if (task->kernel_thread || !is_asked_for(u, task->pid) || processes_find(&u->processes, task->pid))
			continue;
		error = read_mappings(u, task->pid, task->image.tgid, &reading);
		if (error == -ENOMEM)
			return error;
		if (error)
			continue;	/* gone, or not ours to look at */
		process = processes_get(&u->processes, task->pid);
		if (!process) {
			proc_maps_free(&reading.maps);
			return -ENOMEM;
		}
		process_take(&u->processes, process, &reading);
		error = image_find_modules(u->modules, &process->maps);
		if (error)
			return error;
		list->tasks[kept++] = *task;
	}
	list->nr = kept;
	u->counts.processes = kept;
	return 0;
}

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
	int error = bpf_tasks_list(u->list_tasks, 0, &list);

	if (error)
		return error;
	error = read_processes(u, &list);
	u->counts.read_s = since(&began);
	if (!error)
		compile_all(u);
	u->counts.files_at_start = modules_count(u->modules);
	u->counts.compile_s = since(&began);
	if (!error)
		error = bpf_slabs_settle(u->source);
	u->counts.insert_s = since(&began);
	for (size_t i = 0; i < list.nr && !error; i++) {
		struct process *process = processes_find(&u->processes, list.tasks[i].pid);

		if (process)
			publish(u, process, &list.tasks[i].image);
	}
	u->counts.publish_s = since(&began);
	free(list.tasks);
	return error;
}

/* ---- the whole ---- */

static int attach(struct unwinder *u, struct bpf_object *object)
{
	int wanted = (u->options.user_stacks ? FOR_USER_STACKS : 0) | (u->options.children ? FOR_CHILDREN : 0) | ALWAYS;

	for (size_t i = 0; i < NR_HOOKS; i++) {
		struct bpf_program *program = bpf_object__find_program_by_name(object, hooks[i].program);

		if (!(hooks[i].needed & wanted))
			continue;
		if (!program)
			return -ENOENT;
		u->links[i] = hooks[i].on_tracefs ? bpf_tracepoint_attach(program) : bpf_program__attach(program);
		if (!u->links[i] && !hooks[i].on_tracefs)
			return -errno;
		if (!u->links[i])
			u->counts.deaf = errno;
	}
	return 0;
}

int unwinder_new(struct unwinder **unwinder, struct bpf_object *object, struct modules *modules, struct stack_store *store,
		 const struct unwinder_options *options)
{
	struct unwinder *u = calloc(1, sizeof(*u));
	struct task_list tasks;
	int error;

	if (!u)
		return -ENOMEM;
	u->modules = modules;
	u->store = store;
	u->options = *options;
	u->processes = (struct processes){
		.all = options->all, .children = options->children, .changing = unpublish, .arg = u,
	};
	stack_store_pass_on(store, take_record, u);
	u->list_tasks = bpf_object__find_program_by_name(object, "list_tasks");
	u->procs_fd = bpf_object__find_map_fd_by_name(object, "procs");
	u->changes_fd = bpf_object__find_map_fd_by_name(object, "changes");
	error = u->list_tasks && u->procs_fd >= 0 && u->changes_fd >= 0 ? 0 : -ENOENT;
	if (!error)
		error = bpf_slabs_new(&u->source, bpf_object__find_map_fd_by_name(object, "slabs"));
	if (!error)
		error = slabs_new(&u->slabs, bpf_slabs_source(u->source));
	if (!error)
		error = bpf_tasks_list(u->list_tasks, getpid(), &tasks);
	if (!error && options->user_stacks)
		error = perf_records_open(&u->records);
	if (!error)
		error = attach(u, object);
	if (error) {
		unwinder_free(u);
		return error;
	}
	free(tasks.tasks);	/* that it was listed is all */
	*unwinder = u;
	return 0;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->nr_items; i++)
		free_item(&u->items[i]);
	free(u->items);
	for (size_t i = 0; i < NR_HOOKS; i++)
		bpf_link__destroy(u->links[i]);
	processes_free(&u->processes);
	perf_records_close(u->records);
	slabs_free(u->slabs);
	bpf_slabs_free(u->source);
	free(u);
}

struct unwinder_counts unwinder_counts(const struct unwinder *u)
{
	struct unwinder_counts counts = u->counts;
	struct bpf_slabs_counts slabs = bpf_slabs_counts(u->source);

	counts.slab_bytes = slabs.slabs * (uint64_t)SLAB_VALUE_SIZE;
	counts.slab_waits = slabs.waits;
	counts.files = modules_count(u->modules);
	for (size_t id = 1; id <= counts.files; id++) {
		const struct module *module = modules_get(u->modules, id);

		counts.files_without_table += !module->loc;
		counts.rows += module->rows;
		counts.table_bytes += module->table_bytes;
	}
	return counts;
}
