// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/task_filter.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/object.h"
#include "process/proc_status.h"
#include "run/kernel.h"

/* ---- processes and threads ---- */

pid_t task_process_of(pid_t tid)
{
	uint32_t pid;

	return proc_status_number(tid, "Tgid:", &pid) ? (pid_t)pid : 0;
}

static void check_pid(pid_t id)
{
	pid_t pid = task_process_of(id);

	if (!pid)
		cli_die(EXIT_FAILURE, "no process with PID %d", id);
	if (pid != id)
		cli_die(EXIT_FAILURE, "%d is a thread of process %d: use -p %d, or -t %d", id, pid,
			pid, id);
}

/* the process's name; "": it is gone, or a zombie without threads */
static void read_name(const char *pid, char name[NAME_MAX])
{
	char path[64], text[1024], *from, *end;
	long threads = 0;
	char state = 'Z';
	FILE *file;

	*name = 0;
	/* proc_pid_stat(5): "PID (NAME) STATE ..." */
	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	file = fopen(path, "re");
	text[file ? fread(text, 1, sizeof(text) - 1, file) : 0] = 0;
	if (file)
		fclose(file);
	from = strchr(text, '(');
	end = strrchr(text, ')'); /* of the name, whatever is in it */
	if (!from || !end)
		return;
	*end = 0;
	sscanf(end + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
	       &state, &threads);
	if (state != 'Z' || threads > 1)
		snprintf(name, NAME_MAX, "%s", from + 1);
}

/* Appends all processes of this name to the list, but not the tool. */
static void take_named(struct id_list *list, const char *wanted)
{
	DIR *proc = opendir("/proc");
	size_t before = list->nr;
	char name[NAME_MAX];
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)*entry->d_name) || atoi(entry->d_name) == getpid())
			continue;
		read_name(entry->d_name, name);
		if (!strcmp(name, wanted) && !cli_parse_ids(entry->d_name, list))
			cli_check(-ENOMEM, "list the processes");
	}
	if (!proc)
		cli_check(-errno, "list the processes");
	closedir(proc);
	if (list->nr == before)
		cli_die(EXIT_FAILURE, "no process has the name '%s'", wanted);
}

void task_filter_take_pids(struct task_filter *f, const char *arg)
{
	size_t length;

	for (const char *from = arg;; from += length + 1) {
		char word[TASK_NAME_BYTES + 1] = "";

		length = strcspn(from, ",");
		if (length <= TASK_NAME_BYTES)
			memcpy(word, from, length);
		if (!*word)
			cli_die(EXIT_USAGE,
				"not a list of process IDs, or names of 1 to %d bytes: '%s'",
				TASK_NAME_BYTES, arg);
		if (strspn(word, "0123456789") != length)
			take_named(&f->pids, word);
		else if (cli_parse_ids(word, &f->pids))
			check_pid(f->pids.ids[f->pids.nr - 1]);
		else
			cli_die(EXIT_USAGE, "not a process ID: '%s'", word);
		if (!from[length])
			return;
	}
}

void task_filter_take_tids(struct task_filter *f, const char *arg)
{
	size_t before = f->tids.nr;

	if (!cli_parse_ids(arg, &f->tids))
		cli_die(EXIT_USAGE, "not a list of thread IDs: '%s'", arg);
	for (size_t i = before; i < f->tids.nr; i++)
		if (!task_process_of(f->tids.ids[i]))
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
	cpus = cpus_online(wanted); /* one at least; the others may come later */
	cpu_set_free(&cpus);
	listed = calloc(1, bytes + sizeof(*listed));
	cli_check(listed ? 0 : -ENOMEM, "list the CPUs");
	for (size_t cpu = 0; cpu < wanted->nr; cpu++) {
		if (!wanted->has[cpu])
			continue;
		if (cpu / 8 >= bytes)
			cli_die(EXIT_FAILURE,
				"CPU %zu cannot be listed: the highest possible number is %zu", cpu,
				bytes * 8 - 1);
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
		{ "follow_forks", command || f->children },
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
	return f->pids.nr || f->tids.nr || f->only_user_threads || f->only_kernel_threads ||
	       f->comm || f->cgroup;
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

void task_filter_await(struct bpf_object *object, pid_t pid)
{
	list_ids(object, "awaited_pids", &(struct id_list){ &pid, 1 });
}

pid_t *task_filter_processes(const struct task_filter *f, size_t *nr)
{
	pid_t *pids = calloc(f->pids.nr + f->tids.nr + 1, sizeof(*pids));

	if (!pids)
		cli_die(EXIT_FAILURE, "cannot list what to measure: %s", strerror(ENOMEM));
	*nr = 0;
	for (size_t i = 0; i < f->pids.nr; i++)
		pids[(*nr)++] = f->pids.ids[i];
	for (size_t i = 0; i < f->tids.nr; i++) {
		pids[*nr] = task_process_of(f->tids.ids[i]);
		*nr += !!pids[*nr];
	}
	return pids;
}
