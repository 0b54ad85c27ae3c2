// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The start: lists, reads and publishes processes, compiles their files' tables, and writes these
 * to the kernel's slabs.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/order.h"
#include "kernel/unwinder_parts.h"
#include "unwind/foreign.h"

/* what a run waits for processes, and then for tables, before it begins */
#define FIRST_READINGS_MS 400
#define FIRST_TABLES_MS   400

static int most_recent_first(const void *left, const void *right)
{
	const struct task_record *l = left, *r = right;

	return order_of(r->last_ran_ns, l->last_ran_ns);
}

bool unwinder_is_chosen(const struct unwinder *u, pid_t pid)
{
	for (size_t i = 0; i < u->options.nr_pids; i++)
		if (u->options.pids[i] == pid)
			return true;
	return false;
}

static bool is_asked_for(const struct unwinder *u, pid_t pid)
{
	return u->processes.all || (u->options.user_stacks && unwinder_is_chosen(u, pid));
}

/* Lists all threads, those that ran last first. */
static int list_threads(struct unwinder *u, struct task_list *list)
{
	int error = bpf_tasks_list(u->list_tasks, 0, list);

	if (!error)
		qsort(list->tasks, list->nr, sizeof(*list->tasks), most_recent_first);
	return error;
}

/* Asks for the wanted processes. Keeps them in the list, each once. 0 or -ENOMEM */
static int ask_for_processes(struct unwinder *u, struct task_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->nr; i++) {
		const struct task_record *task = &list->tasks[i];
		struct process *process;

		if (task->kernel_thread || !is_asked_for(u, task->pid) ||
		    processes_find(&u->processes, task->pid))
			continue;
		process = processes_get(&u->processes, task->pid);
		if (!process)
			return -ENOMEM;
		if (!unwinder_ask(u, process, task->image.tgid, task->uid))
			list->tasks[kept++] = *task;
	}
	list->nr = kept;
	return 0;
}

/*
 * Takes what the readers have of them, for so long at most. What comes later, is there for its
 * first sample.
 */
static int read_processes(struct unwinder *u, struct task_list *list)
{
	struct foreign *foreign = modules_foreign(u->modules);
	uint64_t end = clock_ns() + FIRST_READINGS_MS * 1000000ULL, now;
	int error = ask_for_processes(u, list);

	unwinder_take_readings(u, false);
	while (foreign_nr_maps(foreign) && (now = clock_ns()) < end) {
		foreign_wait(foreign, (end - now) / 1000000 + 1);
		unwinder_take_readings(u, false);
	}
	for (size_t i = 0; i < list->nr && error != -ENOMEM; i++) {
		const struct process *process = processes_find(&u->processes, list->tasks[i].pid);

		if (process && process->complete)
			error = publisher_find_modules(u->publisher, process);
	}
	return error == -ENOMEM ? error : 0;
}

static void publish_processes(struct unwinder *u, const struct task_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		struct process *process = processes_find(&u->processes, list->tasks[i].pid);

		if (process && (process->complete || process->refused))
			publisher_publish(u->publisher, &u->processes, process,
					  &list->tasks[i].image);
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
	u->counts.files_at_start = modules_nr_seen(u->modules);
	u->counts.read_s = since(&began);
	if (!error)
		publish_processes(u, &list);
	u->counts.publish_s = since(&began);
	if (!error)
		error = tables_make_all(u->tables, FIRST_TABLES_MS);
	publisher_find_compiled(u->publisher, &u->processes);
	u->counts.compile_s = since(&began);
	if (!error)
		error = bpf_slabs_settle(u->source);
	u->counts.insert_s = since(&began);
	free(list.tasks);
	return error;
}
