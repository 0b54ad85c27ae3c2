// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/clock.h"

/* munmap() is reported at its entry, but takes effect somewhat later: within this time, we assume. */
#define UNMAPPING_NS 10000000

struct process *processes_find(const struct processes *processes, pid_t pid)
{
	struct process *process;

	HASH_FIND_INT(processes->by_pid, &pid, process);
	return process;
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
	return process;
}

static void invalidate(struct processes *processes, const struct process *process)
{
	if (processes->observer.invalidated)
		processes->observer.invalidated(processes->observer.arg, process->pid);
}

static void drop(struct processes *processes, struct process *process)
{
	HASH_DEL(processes->by_pid, process);
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

int process_read(struct foreign *foreign, pid_t pid, struct process_reading *reading)
{
	int error;

	reading->began_ns = clock_ns();
	error = foreign_read_maps(foreign, pid, &reading->maps);
	if (!error && !reading->maps.nr) {	/* a zombie, or a kernel thread */
		proc_maps_free(&reading->maps);
		error = -ESRCH;
	}
	return error;
}

/* two threads' counts may arrive out of order */
static void note_changes(struct process *process, uint32_t changes)
{
	if ((int32_t)(changes - process->changes) > 0)
		process->changes = changes;
}

void process_take(struct processes *processes, struct process *process, struct process_reading *reading)
{
	process->read_ns = reading->began_ns;
	process->looked_ns = reading->began_ns;
	process->look_took_ns = clock_ns() - reading->began_ns;
	note_changes(process, reading->changes);
	if (process->complete && same(&process->maps, &reading->maps)) {
		proc_maps_free(&reading->maps);
		return;
	}
	invalidate(processes, process);
	proc_maps_free(&process->maps);
	process->maps = reading->maps;
	process->complete = true;
	process->version++;
}

static int forked(struct processes *processes, const struct process_event *event)
{
	const struct process *parent = processes_find(processes, event->parent);
	struct process *child = processes_find(processes, event->pid);

	if (child)	/* the PID was reused, and its former process's exit was not reported */
		forget(processes, child);
	if (!parent || !(processes->all || processes->children))
		return 0;
	child = processes_get(processes, event->pid);
	if (!child)
		return -ENOMEM;
	child->complete = parent->complete && parent->read_ns < event->time_ns;
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
	process->maps.tid = process->pid;
	process->complete = true;
	process->version++;
	return 0;
}

/*
 * Is the event's effect included in the last reading of /proc? Where that is uncertain, mmap and munmap
 * events are applied anyway: replaying all of them in order leads to the same mappings.
 */
static bool is_in_maps(const struct process *process, const struct process_event *event)
{
	bool may_repeat = event->kind == PROCESS_UNMAPPED || event->kind == PROCESS_MAPPED;

	return event->kind != PROCESS_EXITED &&
	       event->time_ns + (may_repeat ? UNMAPPING_NS : 0) <= process->read_ns;
}

static int unmapped(struct process *process, const struct process_event *event)
{
	bool removed;
	int error = proc_maps_remove(&process->maps, event->mapping.start, event->mapping.end, &removed);

	process->version += removed;
	return error;
}

static void events_lost(struct processes *processes)
{
	struct process *process, *next;

	HASH_ITER(hh, processes->by_pid, process, next) {
		invalidate(processes, process);
		process->complete = false;
	}
}

int processes_apply(struct processes *processes, const struct process_event *event)
{
	struct process *process = processes_find(processes, event->pid);

	if (process && event->kind == PROCESS_UNMAPPED)
		note_changes(process, event->changes);
	if (process && is_in_maps(process, event))
		return 0;
	switch (event->kind) {
	case PROCESS_FORKED:
		return forked(processes, event);
	case PROCESS_EXECED:
		return execed(processes, event);
	case PROCESS_MAPPED:
		if (!process)
			return 0;
		process->version++;
		return proc_maps_add(&process->maps, &event->mapping);
	case PROCESS_UNMAPPED:
		return process ? unmapped(process, event) : 0;
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
