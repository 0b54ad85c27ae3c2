// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/publisher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/search.h"
#include "process/clock.h"
#include "unwind/python.h"

struct publisher {
	struct tables *tables;
	struct publisher_target target;
	struct publication *by_pid;
	bool runtimes;
	uint32_t generation;		/* of the list written last */
	uint64_t resume_ns;		/* when a region may be read again; 0: none waits for that */
	struct publisher_counts counts;
};

int publisher_new(struct publisher **publisher, struct tables *tables, struct publisher_target target)
{
	struct publisher *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->tables = tables;
	p->target = target;
	/* what else comes to lie where a list lay holds small numbers: no generation is like them */
	if (getrandom(&p->generation, sizeof(p->generation), 0) < 0)
		p->generation = clock_ns();
	*publisher = p;
	return 0;
}

static void drop(struct publisher *p, struct publication *publication)
{
	HASH_DEL(p->by_pid, publication);
	hotspot_free(publication->hotspot);
	regions_free(&publication->regions, p->tables);
	mapped_modules_free(&publication->mapped);
	free(publication);
}

void publisher_free(struct publisher *p)
{
	struct publication *publication, *next;

	if (!p)
		return;
	HASH_ITER(hh, p->by_pid, publication, next)
		drop(p, publication);
	free(p);
}

static struct publication *find(const struct publisher *p, pid_t pid)
{
	struct publication *publication;

	HASH_FIND_INT(p->by_pid, &pid, publication);
	return publication;
}

/* NULL: no memory */
static struct publication *get(struct publisher *p, pid_t pid)
{
	struct publication *publication = find(p, pid);

	if (publication)
		return publication;
	publication = calloc(1, sizeof(*publication));
	if (!publication)
		return NULL;
	publication->pid = pid;
	HASH_ADD_INT(p->by_pid, pid, publication);
	return publication;
}

const struct publication *publisher_find(const struct publisher *p, pid_t pid)
{
	const struct publication *publication = find(p, pid);

	return publication && publication->list.loc ? publication : NULL;
}

int publisher_share_list(struct publisher *p, pid_t pid, struct mapping_list *share)
{
	struct publication *publication = find(p, pid);

	return publication && publication->list.loc ? mapping_list_share(&publication->list, share) : -ESRCH;
}

/* ---- publishing ---- */

static void invalidate(struct publisher *p, struct publication *publication)
{
	if (publication->live)
		p->target.remove_handle(p->target.arg, publication->image.tgid);
	publication->live = false;
	mapping_list_release(p->tables, &publication->list);
	hotspot_free(publication->hotspot);
	publication->hotspot = NULL;
	publication->hotspot_module = 0;
}

void publisher_invalidate(struct publisher *p, pid_t pid)
{
	struct publication *publication = find(p, pid);

	if (publication)
		invalidate(p, publication);
}

int publisher_find_modules(struct publisher *p, const struct process *process)
{
	struct publication *publication = get(p, process->pid);

	return publication ? mapped_modules_update(&publication->mapped, tables_modules(p->tables),
						   &process->maps) :
			     -ENOMEM;
}

static uint32_t next_generation(struct publisher *p)
{
	if (!++p->generation)
		p->generation = 1;	/* 0 marks a list that is being written */
	return p->generation;
}

/* Stores the handle in the kernel's map. No room there is no error: the process's samples keep coming raw. */
static int make_live(struct publisher *p, struct publication *publication, uint32_t generation)
{
	int error = p->target.set_handle(p->target.arg, publication->image.tgid,
					 HANDLE(publication->list.loc, generation));

	publication->live = !error;
	p->counts.publications += publication->live;
	return error == -ENOMEM || error == -E2BIG || error == -EBUSY ? 0 : error;
}

/*
 * Tells the kernel where CPython keeps this process's frames, if it maps an interpreter and that is known
 * by now. The address is written last: without it, the rest means nothing.
 */
static void find_python(const struct publisher *p, struct publication *publication,
			const struct process *process)
{
	struct eh_process *list = slabs_at(tables_slabs(p->tables), publication->list.loc);
	const struct mapped_modules *mapped = &publication->mapped;

	for (size_t i = 0; i < mapped->nr && i < process->maps.nr && !publication->python; i++) {
		const struct module *module = modules_get(tables_modules(p->tables), mapped->of[i].module_id);
		const struct proc_mapping *m = &process->maps.mappings[i];
		const struct python_image *image = module ? runtime_image(&module->runtime, &python_runtime) : NULL;

		if (!image)
			continue;
		publication->python = image;
		list->python = image->layout;
		__atomic_store_n(&list->python.interpreters,
				 m->start - m->file_offset + image->interpreters_from_text, __ATOMIC_RELEASE);
	}
}

/* Is this libjvm.so? That has to be known before it is compiled, for its code runs from the first. */
static bool is_jvm(const struct proc_mapping *mapping)
{
	const char *slash = strrchr(mapping->path, '/');

	return slash && !strncmp(slash + 1, "libjvm.so", strlen("libjvm.so"));
}

/* Once it is compiled, it is known where the JVM keeps what it says of itself; or that it is none. */
static void set_hotspot_image(const struct publisher *p, struct publication *publication,
			      const struct process *process)
{
	const struct module *module = modules_get(tables_modules(p->tables), publication->hotspot_module);

	if (hotspot_has_image(publication->hotspot) || !module || !module->is_compiled)
		return;
	for (size_t i = 0; i < publication->mapped.nr && i < process->maps.nr; i++) {
		const struct proc_mapping *m = &process->maps.mappings[i];

		if (publication->mapped.of[i].module_id != module->id)
			continue;
		hotspot_set_image(publication->hotspot, runtime_image(&module->runtime, &hotspot_runtime), m->start - m->file_offset);
		return;
	}
}

/* Makes the anonymous code of a process with a JVM that JVM's. */
static void find_hotspot(const struct publisher *p, struct publication *publication,
			 const struct process *process)
{
	for (size_t i = 0; i < publication->mapped.nr && i < process->maps.nr && !publication->hotspot; i++) {
		if (!publication->mapped.of[i].module_id || !is_jvm(&process->maps.mappings[i]))
			continue;
		if (hotspot_new(&publication->hotspot, tables_slabs(p->tables), publication->pid))
			return;
		publication->hotspot_module = publication->mapped.of[i].module_id;
	}
	if (!publication->hotspot)
		return;
	set_hotspot_image(p, publication, process);
	mapping_list_set_anonymous(p->tables, &publication->list, &process->maps,
				   hotspot_module(publication->hotspot));
}

void publisher_set_runtimes(struct publisher *p)
{
	p->runtimes = true;
}

void publisher_find_runtimes(struct publisher *p, const struct processes *processes)
{
	struct publication *publication, *next;

	HASH_ITER(hh, p->by_pid, publication, next) {
		const struct process *process = NULL;

		if (publication->list.loc)
			process = processes_find(processes, publication->pid);
		if (!process || process->version != publication->version)
			continue;
		if (!publication->python)
			find_python(p, publication, process);
		if (publication->hotspot)
			set_hotspot_image(p, publication, process);
	}
}

/* Writes a new list, and replaces the current one by it. */
static int replace_list(struct publisher *p, struct publication *publication, const struct process *process,
			const struct eh_image *image)
{
	struct eh_process header = {
		.image = *image, .changes = process->changes,
		.refused = process->refused != 0, .quiet_until_ns = process->refused ? process->refused_until_ns : 0,
	};
	struct mapping_list old = publication->list;
	int error = mapping_list_make_tables(p->tables, &process->maps, &publication->mapped);

	header.generation = next_generation(p);
	if (!error)
		error = mapping_list_write(p->tables, &process->maps, &publication->mapped, &header,
					   &publication->list);
	if (error)
		return error;
	publication->image = *image;
	publication->version = process->version;
	publication->python = NULL;
	find_python(p, publication, process);
	if (p->runtimes)
		find_hotspot(p, publication, process);
	if (!publication->hotspot)
		regions_attach(&publication->regions, p->tables, &publication->list, &process->maps);
	error = p->target.settle(p->target.arg);
	if (!error)
		error = make_live(p, publication, header.generation);
	/* a walk that is still reading it notices by the generation */
	mapping_list_release(p->tables, &old);
	regions_forget(&publication->regions, p->tables, &process->maps);
	return error;
}

void publisher_publish(struct publisher *p, const struct process *process, const struct eh_image *image)
{
	struct publication *publication = get(p, process->pid);
	uint64_t began = clock_cpu_ns();
	int error = publication ? replace_list(p, publication, process, image) : -ENOMEM;

	if (error && publication)
		invalidate(p, publication);
	p->counts.unpublished += error != 0;
	if (p->target.spent)
		p->target.spent(p->target.arg, process->pid, clock_cpu_ns() - began);
}

void publisher_publish_changed(struct publisher *p, const struct processes *processes)
{
	struct publication *publication, *next;

	HASH_ITER(hh, p->by_pid, publication, next) {
		const struct process *process = NULL;

		if (publication->list.loc)
			process = processes_find(processes, publication->pid);
		if (process && process->complete &&
		    !(publication->live && publication->version == process->version))
			publisher_publish(p, process, &publication->image);
	}
}

bool publisher_is_current(const struct publisher *p, const struct process *process,
			  const struct eh_image *image)
{
	const struct publication *publication = publisher_find(p, process->pid);

	return publication && publication->live && publication->version == process->version &&
	       !memcmp(&publication->image, image, sizeof(*image));
}

/* ---- what is learnt later ---- */

static struct eh_process *list_of(const struct publisher *p, pid_t pid)
{
	const struct publication *publication = publisher_find(p, pid);

	return publication ? slabs_at(tables_slabs(p->tables), publication->list.loc) : NULL;
}

void publisher_set_changes(struct publisher *p, pid_t pid, uint32_t changes)
{
	struct eh_process *list = list_of(p, pid);

	if (list)
		list->changes = changes;
}

void publisher_set_quiet(struct publisher *p, pid_t pid, uint64_t until_ns)
{
	struct eh_process *list = list_of(p, pid);

	if (list)
		list->quiet_until_ns = until_ns;
}

void publisher_set_in_exec(struct publisher *p, pid_t pid, bool in_exec)
{
	struct publication *publication = find(p, pid);

	if (publication)
		publication->in_exec = in_exec;
}

void publisher_set_confirmed(struct publisher *p, pid_t pid)
{
	struct publication *publication = find(p, pid);

	if (publication)
		publication->confirmed = publication->version;
}

/* ---- what processes do ---- */

static void invalidated(void *arg, pid_t pid)
{
	publisher_invalidate(arg, pid);
}

/* A child maps the same files as its parent. Without memory for the copy, they are looked up again. */
static void forked(void *arg, pid_t parent, pid_t child)
{
	const struct publication *from = find(arg, parent);
	struct publication *to = from && from->mapped.nr ? get(arg, child) : NULL;

	if (to) {
		mapped_modules_free(&to->mapped);
		mapped_modules_copy(&to->mapped, &from->mapped);
	}
}

static void exited(void *arg, pid_t pid)
{
	struct publication *publication = find(arg, pid);

	if (publication)
		drop(arg, publication);
}

struct process_observer publisher_observer(struct publisher *p)
{
	return (struct process_observer){
		.invalidated = invalidated, .forked = forked, .exited = exited, .arg = p
	};
}

struct hotspot *publisher_hotspot(const struct publisher *p, pid_t pid, uint32_t *module)
{
	const struct publication *publication = publisher_find(p, pid);

	*module = publication ? publication->hotspot_module : 0;
	return publication ? publication->hotspot : NULL;
}

/* the mapping's number in what the process has mapped now; 0: it is not mapped any more */
static uint64_t number_of(const struct publication *publication, const struct eh_mapping *mapping)
{
	size_t i = count_below(publication->mapped.of, publication->mapped.nr, end, mapping->end);

	return i < publication->mapped.nr && publication->mapped.of[i].end == mapping->end ? publication->mapped.of[i].number : 0;
}

bool publisher_want_region(struct publisher *p, pid_t pid, loc_t loc, uint64_t pc)
{
	struct publication *publication = find(p, pid);
	struct eh_process *list = slabs_at(tables_slabs(p->tables), loc), *current = list_of(p, pid);
	uint64_t number = 0;
	bool given_up, found;
	size_t i;

	if (!current || publication->hotspot || list->changes != current->changes)
		return false;
	i = count_up_to(list->mappings, list->nr_mappings, end, pc);
	if (i < list->nr_mappings)
		number = number_of(publication, &list->mappings[i]);
	if (!number)
		return false;
	found = regions_want(&publication->regions, p->tables, pid, &list->mappings[i], number, &given_up);
	p->counts.regions_given_up += given_up;
	if (publication->regions.resume_ns && (!p->resume_ns || publication->regions.resume_ns < p->resume_ns))
		p->resume_ns = publication->regions.resume_ns;
	return found;
}

void publisher_resume_regions(struct publisher *p)
{
	struct publication *publication, *next;
	uint64_t first = 0;

	if (!p->resume_ns || clock_ns() < p->resume_ns)
		return;
	HASH_ITER(hh, p->by_pid, publication, next) {
		uint64_t at;

		regions_resume(&publication->regions, p->tables);
		at = publication->regions.resume_ns;
		if (at && (!first || at < first))
			first = at;
	}
	p->resume_ns = first;
}

void publisher_note_modules(const struct publisher *p, bool *used)
{
	struct publication *publication, *next;

	HASH_ITER(hh, p->by_pid, publication, next)
		for (size_t i = 0; i < publication->mapped.nr; i++)
			used[publication->mapped.of[i].module_id] = true;
}

struct publisher_counts publisher_counts(const struct publisher *p)
{
	return p->counts;
}
