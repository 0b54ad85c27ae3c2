// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/run_start.h"

#include "report/escape.h"
#include "report/json.h"

/* ---- JSON ---- */

static void add_ids(struct json_object *filters, const char *name, const struct id_list *list)
{
	struct json_object *ids;

	if (!list->nr)
		return;
	ids = json_object_new_array();
	for (size_t i = 0; i < list->nr; i++)
		json_object_array_add(ids, json_object_new_int64(list->ids[i]));
	json_object_object_add(filters, name, ids);
}

static void add_cpus(struct json_object *filters, const struct cpu_set *cpus)
{
	struct json_object *list;

	if (!cpus->nr)
		return;
	list = json_object_new_array();
	for (size_t cpu = 0; cpu < cpus->nr; cpu++)
		if (cpus->has[cpu])
			json_object_array_add(list, json_object_new_int64(cpu));
	json_object_object_add(filters, "cpus", list);
}

static struct json_object *json_filters(const struct task_filter *f)
{
	struct json_object *filters = json_object_new_object();

	add_ids(filters, "pids", &f->pids);
	if (f->children)
		json_object_object_add(filters, "children", json_object_new_boolean(true));
	add_ids(filters, "tids", &f->tids);
	add_cpus(filters, &f->cpus);
	if (f->only_user_threads || f->only_kernel_threads)
		json_object_object_add(filters, "threads",
				       json_object_new_string(f->only_user_threads ? "user"
										   : "kernel"));
	json_add_name(filters, "comm", f->comm);
	if (f->cgroup)
		json_object_object_add(filters, "cgroup", json_name(f->cgroup_path));
	return filters;
}

static void add_duration(struct json_object *start, const char *name, uint64_t ns)
{
	if (ns)
		json_object_object_add(start, name, json_number(ns));
}

void run_start_init(struct run *run)
{
	const struct run_options *o = run->options;
	struct json_object *command;

	run->start = json_start();
	run->filters = json_filters(&o->tasks);
	add_duration(run->start, "duration_ns", o->duration_ns);
	add_duration(run->start, "interval_ns", o->interval_ns);
	if (o->command) {
		command = json_object_new_array();
		for (char **word = o->command; *word; word++)
			json_object_array_add(command, json_name(*word));
		json_object_object_add(run->start, "command", command);
	}
	json_object_object_add(run->start, "filters", run->filters);
}

/* ---- text ---- */

static void say_tasks(const struct task_filter *f)
{
	if (f->pids.nr == 1)
		fprintf(stderr, ", process %d%s only", f->pids.ids[0],
			f->children ? " and its children" : "");
	else if (f->pids.nr)
		fprintf(stderr, ", %zu processes%s only", f->pids.nr,
			f->children ? " and their children" : "");
	else if (f->tids.nr == 1)
		fprintf(stderr, ", thread %d only", f->tids.ids[0]);
	else if (f->tids.nr)
		fprintf(stderr, ", %zu threads only", f->tids.nr);
}

static void say_end(const struct run_options *o)
{
	double interval = o->interval_ns / 1e9;

	if (o->duration_ns)
		fprintf(stderr, ", for %g s", o->duration_ns / 1e9);
	if (o->nr_intervals == 1)
		fprintf(stderr, ", once, after %g s", interval);
	else if (o->nr_intervals)
		fprintf(stderr, ", every %g s, %llu times", interval,
			(unsigned long long)o->nr_intervals);
	else if (interval && !o->duration_ns && !o->command)
		fprintf(stderr, ", every %g s without an end (--duration sets one)", interval);
	else if (interval)
		fprintf(stderr, ", every %g s", interval);
	if (o->command) {
		fputs(", until '", stderr);
		print_escaped(stderr, o->command[0]);
		fputs("' ends", stderr);
	}
	fputs("... Ctrl-C to end\n", stderr);
}

void run_start_put(struct run *run)
{
	for (size_t i = run_nr_outputs(run->options); i-- > 0;) {
		run_use_output(run, i);
		if (!run->options->outputs[i].json)
			continue;
		/* reports in files of their own repeat it */
		json_print(run->out, json_object_get(run->start));
		cli_flush(run->out);
	}
}

void run_start_say(struct run *run)
{
	if (run->options->live)
		return;
	if (!run->options->quiet) {
		fputs(run->doing, stderr);
		say_tasks(&run->options->tasks);
		say_end(run->options);
	}
	run_start_put(run);
}
