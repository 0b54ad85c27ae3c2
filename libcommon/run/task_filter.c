// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/task_filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/object.h"
#include "run/kernel.h"

/* ---- processes and threads ---- */

/* the process that a thread belongs to, 0 if the thread is gone */
static pid_t process_of(pid_t tid)
{
	char name[64], line[256];
	pid_t pid = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/status", tid);
	file = fopen(name, "re");
	while (file && !pid && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &pid) != 1)
			pid = 0;
	if (file)
		fclose(file);
	return pid;
}

void task_filter_check(const struct task_filter *f)
{
	for (size_t i = 0; i < f->pids.nr; i++) {
		pid_t pid = process_of(f->pids.ids[i]);

		if (!pid)
			cli_die(EXIT_FAILURE, "no process with PID %d", f->pids.ids[i]);
		if (pid != f->pids.ids[i])
			cli_die(EXIT_FAILURE, "%d is a thread of process %d: use -p %d, or -t %d",
				f->pids.ids[i], pid, pid, f->pids.ids[i]);
	}
	for (size_t i = 0; i < f->tids.nr; i++)
		if (!process_of(f->tids.ids[i]))
			cli_die(EXIT_FAILURE, "no thread with TID %d", f->tids.ids[i]);
}

/* ---- CPUs ---- */

struct cpu_set cpus_online(const struct cpu_set *wanted)
{
	struct cpu_set cpus;
	size_t cpu = 0;

	cli_check(cpu_set_online(&cpus), "list the CPUs");
	if (wanted->nr)
		cpu_set_keep(&cpus, wanted);
	while (cpu < cpus.nr && !cpus.has[cpu])
		cpu++;
	if (cpu == cpus.nr)
		cli_die(EXIT_FAILURE, "none of these CPUs is online");
	return cpus;
}

static void configure_cpus(struct bpf_object *object, const struct cpu_set *wanted)
{
	size_t bytes = object_constant_size(object, "listed_cpus");
	struct cpu_set cpus;
	uint64_t *listed;
	bool only = true;

	if (!wanted->nr)
		return;
	cpus = cpus_online(wanted);	/* one at least; the others may come later */
	cpu_set_free(&cpus);
	listed = calloc(1, bytes + sizeof(*listed));
	cli_check(listed ? 0 : -ENOMEM, "list the CPUs");
	for (size_t cpu = 0; cpu < wanted->nr; cpu++) {
		if (!wanted->has[cpu])
			continue;
		if (cpu / 8 >= bytes)
			cli_die(EXIT_FAILURE, "CPU %zu cannot be listed: the highest possible number is %zu",
				cpu, bytes * 8 - 1);
		listed[cpu / 64] |= 1ULL << cpu % 64;
	}
	kernel_set(object, "listed_cpus", listed, bytes);
	kernel_set(object, "only_listed_cpus", &only, sizeof(only));
	free(listed);
}

/* ---- configuring and listing ---- */

void task_filter_configure(struct bpf_object *object, const struct task_filter *f, bool command)
{
	const struct {
		const char *name;
		bool value;
	} flags[] = {
		{ "only_listed_pids", f->pids.nr || command },
		{ "only_listed_tids", f->tids.nr },
		{ "only_user_threads", f->only_user_threads },
		{ "only_kernel_threads", f->only_kernel_threads },
		{ "follow_forks", command },
		{ "only_one_comm", f->comm },
		{ "only_one_cgroup", f->cgroup },
	};
	char comm[16] = "";

	strncpy(comm, f->comm ? f->comm : "", sizeof(comm) - 1);
	kernel_set(object, "only_comm", comm, sizeof(comm));
	kernel_set(object, "only_cgroup", &f->cgroup, sizeof(f->cgroup));
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		kernel_set(object, flags[i].name, &flags[i].value, sizeof(flags[i].value));
	configure_cpus(object, &f->cpus);
}

bool task_filter_is_set(const struct task_filter *f)
{
	return f->pids.nr || f->tids.nr || f->only_user_threads || f->only_kernel_threads || f->comm || f->cgroup;
}

bool task_filter_has_idle(const struct task_filter *f)
{
	return !f->pids.nr && !f->tids.nr && !f->only_user_threads;
}

static void list_ids(struct bpf_object *object, const char *map, const struct id_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		cli_check(object_list_id(object, map, list->ids[i]), "list what to measure");
}

void task_filter_list(struct bpf_object *object, const struct task_filter *filter)
{
	list_ids(object, "listed_pids", &filter->pids);
	list_ids(object, "listed_tids", &filter->tids);
}

void task_filter_add(struct bpf_object *object, pid_t pid)
{
	list_ids(object, "listed_pids", &(struct id_list){ &pid, 1 });
}

pid_t *task_filter_processes(const struct task_filter *f, size_t *nr)
{
	pid_t *pids = calloc(f->pids.nr + f->tids.nr + 1, sizeof(*pids));

	if (!pids)
		cli_die(EXIT_FAILURE, "cannot list what to measure: %s", strerror(ENOMEM));
	*nr = 0;
	for (size_t i = 0; i < f->pids.nr; i++)
		pids[(*nr)++] = f->pids.ids[i];
	for (size_t i = 0; i < f->tids.nr; i++)
		pids[(*nr)++] = process_of(f->tids.ids[i]);
	return pids;
}
