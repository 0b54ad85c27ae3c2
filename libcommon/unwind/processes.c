// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/processes.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/array.h"
#include "base/child_limits.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/order.h"
#include "process/paths.h"
#include "process/trust.h"

/*
 * munmap() is reported at its entry, but takes effect somewhat later: within this time, we assume.
 */
#define UNMAPPING_NS 10000000

/* A process with more events than this while it is read is refused for a moment. */
#define MAX_SINCE          4096
#define REFUSED_BRIEFLY_NS 1000000000
/*
 * A process that the user has named, but whose lock was held for long, perhaps by a thread that was
 * off the CPU.
 */
#define REFUSED_LOCKED_NS 100000000
/* A process that cannot be followed at all: looking at it again must cost next to nothing. */
#define REFUSED_NS 60000000000

/* `named`: its user has asked for this process, and pays for it */
static uint64_t refused_for(int error, bool named)
{
	switch (error) {
	case -ETIMEDOUT:
		return named ? REFUSED_LOCKED_NS : REFUSED_BRIEFLY_NS;
	case -ETIME:
		return named ? REFUSED_BRIEFLY_NS : REFUSED_NS;
	case -ENOMEM:
	case -EAGAIN:
	case -EUSERS:
		return REFUSED_BRIEFLY_NS;
	default:
		return REFUSED_NS;
	}
}

bool process_is_gone(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

struct process *processes_find(const struct processes *processes, pid_t pid)
{
	struct process *process;

	HASH_FIND_INT(processes->by_pid, &pid, process);
	return process;
}

struct process *processes_after(const struct processes *processes, uint64_t program)
{
	struct process *first = NULL;

	/* the first one's ->prev is the last one */
	for (struct process *p = processes->by_program ? processes->by_program->prev : NULL;
	     p && p->program > program; p = p == processes->by_program ? NULL : p->prev)
		first = p;
	return first;
}

static void begin_program(struct processes *processes, struct process *process)
{
	process->program = ++processes->nr_programs;
	DL_APPEND(processes->by_program, process);
}

struct process *processes_get(struct processes *processes, pid_t pid)
{
	struct process *process = processes_find(processes, pid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->version = 1;
	HASH_ADD_INT(processes->by_pid, pid, process);
	begin_program(processes, process);
	return process;
}

static void invalidate(struct processes *processes, const struct process *process)
{
	if (processes->observer.invalidated)
		processes->observer.invalidated(processes->observer.arg, process->pid);
}

/* The reading that was asked for is not wanted any more. */
static void forget_asked(struct process *process)
{
	for (size_t i = 0; i < process->nr_since; i++)
		path_release(process->since[i].mapping.path);
	free(process->since);
	process->since = NULL;
	process->nr_since = process->room_since = 0;
	process->asked = 0;
}

static void drop(struct processes *processes, struct process *process)
{
	HASH_DEL(processes->by_pid, process);
	DL_DELETE(processes->by_program, process);
	forget_asked(process);
	proc_maps_free(&process->maps);
	free(process);
}

static void forget(struct processes *processes, struct process *process)
{
	invalidate(processes, process);
	if (processes->observer.exited)
		processes->observer.exited(processes->observer.arg, process->pid);
	drop(processes, process);
}

void processes_free(struct processes *processes)
{
	struct process *process, *next;

	HASH_ITER(hh, processes->by_pid, process, next)
		drop(processes, process);
	hash_free_all(processes->refusals);
}

static bool same(const struct proc_maps *left, const struct proc_maps *right)
{
	if (left->nr != right->nr)
		return false;
	for (size_t i = 0; i < left->nr; i++) {
		const struct proc_mapping *l = &left->mappings[i], *r = &right->mappings[i];

		if (l->start != r->start || l->end != r->end || l->file_offset != r->file_offset ||
		    l->dev != r->dev || l->inode != r->inode)
			return false;
	}
	return true;
}

/* two threads' counts may arrive out of order */
static void note_changes(struct process *process, uint32_t changes)
{
	if ((int32_t)(changes - process->changes) > 0)
		process->changes = changes;
}

/*
 * Replaces the process's mappings by those that were read. Takes over the maps; frees them if
 * nothing has changed.
 */
static void take(struct processes *processes, struct process *process, struct proc_maps *maps,
		 const struct process_image *image)
{
	process->read_ns = process->asked_ns;
	process->looked_ns = process->asked_ns;
	process->look_took_ns = clock_ns() - process->asked_ns;
	process->image = *image;
	note_changes(process, process->asked_changes);
	if (process->complete && same(&process->maps, maps)) {
		proc_maps_free(maps);
		return;
	}
	invalidate(processes, process);
	proc_maps_free(&process->maps);
	process->maps = *maps;
	process->complete = true;
	process->version++;
}

/* ---- readings that come later ---- */

uint64_t process_asked(struct processes *processes, struct process *process, uint32_t changes)
{
	forget_asked(process);
	process->asked = (uint64_t)++processes->nr_asked << 32 | (uint32_t)process->pid;
	process->asked_ns = clock_ns();
	process->asked_changes = changes;
	process->asked_again = false;
	return process->asked;
}

static int apply_to_maps(const struct processes *processes, struct process *process,
			 const struct process_event *event)
{
	bool removed = true;
	int error = event->kind == PROCESS_MAPPED
			    ? proc_maps_add(&process->maps, &event->mapping)
			    : proc_maps_remove(&process->maps, event->mapping.start,
					       event->mapping.end, &removed);

	process->version += removed;
	if (removed && processes->observer.changed)
		processes->observer.changed(processes->observer.arg, process->pid);
	return error;
}

/* Keeps the event for the reading that is under way. 0, -ENOMEM or -EAGAIN */
static int keep_event(struct process *process, const struct process_event *event)
{
	struct process_event *kept;

	if (process->nr_since == MAX_SINCE)
		return -EAGAIN;
	if (array_reserve(&process->since, &process->room_since, process->nr_since + 1))
		return -ENOMEM;
	kept = &process->since[process->nr_since];
	*kept = *event;
	kept->mapping.path = event->mapping.path ? path_get(event->mapping.path) : NULL;
	if (event->mapping.path && !kept->mapping.path)
		return -ENOMEM;
	process->nr_since++;
	return 0;
}

struct process *processes_read(struct processes *processes, uint64_t tag, int error,
			       struct proc_maps *maps, const struct process_image *image)
{
	struct process *process = processes_find(processes, (pid_t)tag);

	if (!process || process->asked != tag) {
		proc_maps_free(maps);
		return NULL;
	}
	if (!error)
		take(processes, process, maps, image);
	else
		proc_maps_free(maps);
	for (size_t i = 0; i < process->nr_since && !error; i++)
		error = apply_to_maps(processes, process, &process->since[i]);
	forget_asked(process);
	if (error == -ESRCH) {
		forget(processes, process);
		return NULL;
	}
	if (error)
		process_refuse(processes, process, error);
	return process;
}

/* ---- processes that are refused ---- */

static void remember(struct processes *processes, pid_t pid, int error)
{
	struct refusal *refusal;

	HASH_FIND_INT(processes->refusals, &pid, refusal);
	if (!refusal && HASH_COUNT(processes->refusals) < MAX_REFUSALS) {
		refusal = calloc(1, sizeof(*refusal));
		if (!refusal)
			return;
		refusal->pid = pid;
		HASH_ADD_INT(processes->refusals, pid, refusal);
	}
	if (refusal)
		refusal->error = error;
}

uint64_t processes_nr_refused(const struct processes *processes)
{
	return HASH_COUNT(processes->refusals);
}

int processes_why_refused(const struct processes *processes, pid_t pid)
{
	struct refusal *refusal;

	HASH_FIND_INT(processes->refusals, &pid, refusal);
	return refusal ? refusal->error : 0;
}

const char *process_explain(int error)
{
	switch (error) {
	case -E2BIG:
	case -EFBIG:
		return "it maps too much code to be followed: too many pieces, or too long paths";
	case -EAGAIN:
		return "following it takes too much time: it maps and unmaps too often";
	case -EUSERS:
		return "no process to read mappings could be started: see RLIMIT_NPROC and pids.max";
	case -ENOSPC:
	case -ENOMEM:
		return "no room for its mappings, see --max-memory";
	case -ETIMEDOUT:
		return "its mappings could not be read within 100 ms";
	case -ETIME:
		return "its mappings take too much time to read";
	default:
		return strerror(-error);
	}
}

static bool is_named(const struct processes *processes, pid_t pid)
{
	return !processes->all ||
	       (processes->is_named && processes->is_named(processes->named_arg, pid));
}

void process_refuse(struct processes *processes, struct process *process, int error)
{
	remember(processes, process->pid, error);
	invalidate(processes, process);
	forget_asked(process);
	proc_maps_free(&process->maps);
	process->maps.tid = process->pid;
	process->complete = false;
	process->version++;
	process->refused = error;
	process->refused_until_ns =
		clock_ns() + refused_for(error, is_named(processes, process->pid));
}

/* Charges the cost. One part in `share` of the time comes back. Returns what is spent by now. */
static uint64_t spend(struct budget *budget, uint64_t now, uint64_t cost_ns, uint64_t share)
{
	uint64_t back = (now - budget->at_ns) / share;

	budget->spent_ns -= back < budget->spent_ns ? back : budget->spent_ns;
	budget->spent_ns += cost_ns;
	budget->at_ns = now;
	return budget->spent_ns;
}

void process_charge(struct processes *processes, struct process *process, uint64_t cost_ns)
{
	uint64_t now = clock_ns(), all = spend(&processes->budget, now, cost_ns, 2);
	uint64_t own = spend(&process->budget, now, cost_ns, PROCESS_BUDGET_SHARE);

	/* a process that the user has named is not refused for this */
	if (!process->refused && own > PROCESS_BUDGET_NS / (all > PROCESS_BUDGET_NS ? 4 : 1) &&
	    !is_named(processes, process->pid))
		process_refuse(processes, process, -EAGAIN);
}

#define LOOK_NS       100000000
#define LOOKS         200 /* looking takes at most 1 / LOOKS of the time */
#define MANY_MAPPINGS 64  /* refusing a process with fewer would free too little */

/* Has malloc() given out more? Not if the process has less, which is quicker to find out. */
static bool is_allocated(uint64_t bytes)
{
	uint64_t most = child_memory(0);
	struct mallinfo2 m;

	if (most && most <= bytes)
		return false;
	m = mallinfo2();
	return m.uordblks + m.hblkhd > bytes;
}

/* a process that has many mappings */
struct candidate {
	struct process *process;
	uint64_t owner;
	size_t nr;
};

/* those of an owner, the largest first */
struct share {
	const struct candidate *next;
	uint64_t nr; /* mappings of all of them */
	bool roots;
};

static int by_owner(const void *left, const void *right)
{
	const struct candidate *l = left, *r = right;

	return order_of(l->owner, r->owner) ?: order_of(r->nr, l->nr);
}

/* how many mappings are freed with it, about: forked processes share them */
static size_t size_of(const struct proc_maps *maps)
{
	return 1 + maps->nr / (maps->nr_users ? *maps->nr_users : 1);
}

static size_t list_candidates(const struct processes *processes, struct candidate *all)
{
	struct process *process, *next;
	size_t nr = 0;

	HASH_ITER(hh, processes->by_pid, process, next) {
		if (process->maps.nr <= MANY_MAPPINGS)
			continue;
		if (!process->has_owner)
			process->owner = owner_of_process(process->pid);
		process->has_owner = true;
		all[nr++] = (struct candidate){ process, process->owner, size_of(&process->maps) };
	}
	qsort(all, nr, sizeof(*all), by_owner);
	return nr;
}

static size_t list_shares(const struct candidate *all, size_t nr, struct share *shares)
{
	size_t nr_shares = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!i || all[i].owner != all[i - 1].owner)
			shares[nr_shares++] =
				(struct share){ .next = &all[i], .roots = !all[i].owner };
		shares[nr_shares - 1].nr += all[i].nr;
	}
	return nr_shares;
}

/* the largest one of the owner that has most; of root only if no other has any. NULL: none */
static struct process *take_largest(struct share *shares, size_t nr)
{
	struct share *most = NULL;

	for (size_t i = 0; i < nr; i++)
		if (shares[i].nr &&
		    (!most ||
		     (shares[i].roots == most->roots ? shares[i].nr > most->nr : most->roots)))
			most = &shares[i];
	if (!most)
		return NULL;
	most->nr -= most->next->nr;
	return most->next++->process;
}

/* Refuses processes until there is room. */
static void make_room(struct processes *processes, uint64_t bytes)
{
	size_t most = HASH_COUNT(processes->by_pid), nr;
	struct candidate *all = calloc(most + 1, sizeof(*all));
	struct share *shares = calloc(most + 1, sizeof(*shares));
	struct process *process;

	nr = all && shares ? list_shares(all, list_candidates(processes, all), shares) : 0;
	while (nr && is_allocated(bytes) && (process = take_largest(shares, nr)))
		process_refuse(processes, process, -ENOSPC);
	free(all);
	free(shares);
}

void processes_limit_memory(struct processes *processes, uint64_t bytes)
{
	uint64_t began = clock_ns(), began_cpu, pause;
	bool full;

	if (began < processes->look_ns)
		return;
	began_cpu = clock_cpu_ns();
	full = is_allocated(bytes);
	pause = LOOKS * (clock_cpu_ns() - began_cpu);
	if (full)
		make_room(processes, bytes);
	processes->look_ns = began + (pause > LOOK_NS ? pause : LOOK_NS);
}

bool process_is_refused(struct process *process)
{
	if (process->refused && clock_ns() > process->refused_until_ns)
		process->refused = 0;
	return process->refused;
}

/* ---- events ---- */

static int forked(struct processes *processes, const struct process_event *event)
{
	struct process *parent = processes_find(processes, event->parent);
	struct process *child = processes_find(processes, event->pid);

	if (child) /* the PID was reused, and its former process's exit was not reported */
		forget(processes, child);
	if (!parent || !(processes->all || processes->children))
		return 0;
	child = processes_get(processes, event->pid);
	if (!child)
		return -ENOMEM;
	child->complete = parent->complete && parent->read_ns < event->time_ns;
	child->image = (struct process_image){};
	child->has_owner =
		parent->has_owner && parent->owner; /* root's process may become another user's */
	child->owner = parent->owner;
	child->refused = parent->refused;
	child->refused_until_ns = parent->refused_until_ns;
	if (proc_maps_copy(&child->maps, &parent->maps))
		return -ENOMEM;
	child->maps.tid = child->pid;
	if (processes->observer.forked)
		processes->observer.forked(processes->observer.arg, parent->pid, child->pid);
	return 0;
}

static int execed(struct processes *processes, const struct process_event *event)
{
	struct process *process = processes_find(processes, event->pid);

	if (!process && !processes->all)
		return 0;
	if (!process)
		process = processes_get(processes, event->pid);
	if (!process)
		return -ENOMEM;
	invalidate(processes, process);
	proc_maps_free(&process->maps);
	forget_asked(process);
	process->maps.tid = process->pid;
	process->has_owner = false;
	process->image = (struct process_image){};
	process->complete = true;
	process->refused = 0;
	process->version++;
	DL_DELETE(processes->by_program, process);
	begin_program(processes, process);
	return 0;
}

/*
 * Is the event's effect included in the last reading of /proc? Where that is uncertain, mmap and
 * munmap events are applied anyway: replaying all of them in order leads to the same mappings.
 */
static bool is_in_maps(const struct process *process, const struct process_event *event)
{
	bool may_repeat = event->kind == PROCESS_UNMAPPED || event->kind == PROCESS_MAPPED;

	return event->kind != PROCESS_EXITED &&
	       event->time_ns + (may_repeat ? UNMAPPING_NS : 0) <= process->read_ns;
}

/* what an event costs, about: memory is moved */
#define EVENT_NS   400
#define MAPPING_NS 10

/* A mapping comes or goes. */
static int changed(struct processes *processes, struct process *process,
		   const struct process_event *event)
{
	int error = 0;

	if (process_is_refused(process))
		return 0;
	if (process->asked)
		error = keep_event(process, event);
	if (!error)
		error = apply_to_maps(processes, process, event);
	if (error == -E2BIG || error == -EAGAIN) {
		process_refuse(processes, process, error);
		error = 0;
	}
	process_charge(processes, process, EVENT_NS + MAPPING_NS * process->maps.nr);
	return error;
}

/*
 * What is published stays: what is in a list is right as long as the kernel's count of changes has
 * not changed. A mapping that is missing is noticed when a sample hits it; then the process is
 * read.
 */
static void events_lost(struct processes *processes)
{
	struct process *process, *next;

	HASH_ITER(hh, processes->by_pid, process, next) {
		if (process_is_gone(process->pid)) {
			forget(processes, process);
			continue;
		}
		forget_asked(process);
		process->complete = false;
	}
}

int processes_apply(struct processes *processes, const struct process_event *event)
{
	struct process *process = processes_find(processes, event->pid);

	if (process && event->kind == PROCESS_UNMAPPED)
		note_changes(process, event->changes);
	if (process && event->time_ns > process->event_ns)
		process->event_ns = event->time_ns;
	if (process && is_in_maps(process, event))
		return 0;
	switch (event->kind) {
	case PROCESS_FORKED:
		return forked(processes, event);
	case PROCESS_EXECED:
		return execed(processes, event);
	case PROCESS_MAPPED:
	case PROCESS_UNMAPPED:
		return process ? changed(processes, process, event) : 0;
	case PROCESS_EXITED:
		if (process)
			forget(processes, process);
		return 0;
	case PROCESS_EVENTS_LOST:
		events_lost(processes);
		return 0;
	}
	return 0;
}
