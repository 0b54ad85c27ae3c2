// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/publisher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/search.h"

struct publisher {
	struct tables *tables;
	struct publisher_target target;
	struct publication *by_pid, *changed;
	uint32_t generation; /* of the list written last */
	uint64_t resume_ns;  /* when a region may be read again; 0: none waits for that */
	struct publisher_counts counts;
};

int publisher_new(struct publisher **publisher, struct tables *tables,
		  struct publisher_target target)
{
	struct publisher *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->tables = tables;
	p->target = target;
	/*
	 * A slab's memory may hold a list first, and other data later. These data are mostly small
	 * numbers, which a walk must not take for a generation: so generations begin at a random
	 * number.
	 */
	if (getrandom(&p->generation, sizeof(p->generation), 0) < 0)
		p->generation = clock_ns();
	*publisher = p;
	return 0;
}

static void drop_runtimes(struct publication *publication)
{
	for (size_t i = 0; runtimes[i]; i++)
		if (publication->runtimes[i].own)
			runtimes[i]->process_free(publication->runtimes[i].own);
	memset(publication->runtimes, 0, sizeof(publication->runtimes));
}

/* Adds it to those that may have to be published again, or removes it from them. */
static void set_changed(struct publisher *p, struct publication *publication, bool changed)
{
	if (changed == (publication->prev != NULL))
		return;
	if (changed) {
		DL_APPEND(p->changed, publication);
	} else {
		DL_DELETE(p->changed, publication);
		publication->prev = NULL;
	}
}

static void drop(struct publisher *p, struct publication *publication)
{
	set_changed(p, publication, false);
	HASH_DEL(p->by_pid, publication);
	drop_runtimes(publication);
	mapping_list_release(p->tables, &publication->list);
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

	return publication && publication->list.loc ? mapping_list_share(&publication->list, share)
						    : -ESRCH;
}

/* ---- lists ---- */

static void invalidate(struct publisher *p, struct publication *publication)
{
	if (publication->live)
		p->target.remove_handle(p->target.arg, publication->image.tgid);
	publication->live = false;
	set_changed(p, publication, false);
	mapping_list_release(p->tables, &publication->list);
	drop_runtimes(publication);
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
						   &process->maps)
			   : -ENOMEM;
}

static uint32_t next_generation(struct publisher *p)
{
	if (!++p->generation)
		p->generation = 1; /* 0 marks a list that is being written */
	return p->generation;
}

/* ---- runtimes ---- */

static const struct runtime_process *generator_of(const struct publication *publication)
{
	for (size_t i = 0; i < MAX_RUNTIMES; i++) {
		const struct runtime_process *of = &publication->runtimes[i];

		if (of->runtime && of->runtime->code_module)
			return of;
	}
	return NULL;
}

/* Finds the file that holds the runtime among the files that the process maps. */
static void find_runtime(const struct publisher *p, struct publication *publication,
			 const struct process *process, const struct runtime *runtime,
			 struct runtime_process *of)
{
	for (size_t i = 0; i < publication->mapped.nr && i < process->maps.nr; i++) {
		const struct module *module =
			modules_get(tables_modules(p->tables), publication->mapped.of[i].module_id);

		if (!module ||
		    !(runtime->is_file ? runtime->is_file(process->maps.mappings[i].path)
				       : runtime_image(&module->runtime, runtime) != NULL))
			continue;
		if (runtime->process_new &&
		    runtime->process_new(&of->own, tables_slabs(p->tables), publication->pid))
			return;
		of->runtime = runtime;
		of->module = module->id;
		return;
	}
}

/* Asks the runtime what the kernel has to know, once the table of the runtime's file is made. */
static void describe_runtime(const struct publisher *p, const struct publication *publication,
			     const struct process *process, struct runtime_process *of,
			     struct published_runtimes *says)
{
	const struct module *module = modules_get(tables_modules(p->tables), of->module);

	for (size_t i = 0;
	     module && module->is_compiled && i < publication->mapped.nr && i < process->maps.nr;
	     i++) {
		const struct proc_mapping *m = &process->maps.mappings[i];

		if (publication->mapped.of[i].module_id != module->id)
			continue;
		of->image = runtime_image(&module->runtime, of->runtime);
		of->is_read = true;
		of->runtime->describe(of, says, m->start - m->file_offset);
		return;
	}
}

/* Finds the process's runtimes. One that generates code keeps its .own from list to list. */
static void describe_runtimes(const struct publisher *p, struct publication *publication,
			      const struct process *process, struct published_runtimes *says)
{
	for (size_t i = 0; runtimes[i]; i++) {
		struct runtime_process *of = &publication->runtimes[i];

		if (!of->own)
			*of = (struct runtime_process){};
		if (!of->runtime)
			find_runtime(p, publication, process, runtimes[i], of);
		if (of->runtime)
			describe_runtime(p, publication, process, of, says);
	}
}

/* Finds runtimes in files whose tables were made after the list was written. */
static void find_compiled_runtimes(const struct publisher *p, struct publication *publication,
				   const struct process *process)
{
	struct published_process *list = slabs_at(tables_slabs(p->tables), publication->list.loc);

	for (size_t i = 0; runtimes[i]; i++) {
		struct runtime_process *of = &publication->runtimes[i];

		if (!of->runtime && !runtimes[i]->is_file)
			find_runtime(p, publication, process, runtimes[i], of);
		if (of->runtime && !of->is_read)
			describe_runtime(p, publication, process, of, &list->runtimes);
	}
}

void publisher_find_compiled(struct publisher *p, const struct processes *processes)
{
	struct publication *publication, *next;

	HASH_ITER(hh, p->by_pid, publication, next) {
		const struct process *process = NULL;

		if (publication->list.loc)
			process = processes_find(processes, publication->pid);
		if (!process || process->version != publication->version)
			continue;
		find_compiled_runtimes(p, publication, process);
		mapping_list_cut(p->tables, &process->maps, &publication->mapped,
				 publication->list.loc);
	}
}

/* ---- publishing: describe, write, make live ---- */

/* Fills in what the process's next list is to say, and asks for missing tables. 0 or -ENOMEM */
static int describe(struct publisher *p, struct publication *publication,
		    const struct process *process, const struct process_image *image,
		    struct mapping_contents *contents)
{
	const struct runtime_process *generator;
	int error = mapping_list_make_tables(p->tables, &process->maps, &publication->mapped);

	*contents = (struct mapping_contents){
		.image = *image,
		.generation = next_generation(p),
		.changes = process->changes,
		.refused = process->refused != 0,
		.quiet_until_ns = process->refused ? process->refused_until_ns : 0,
		.maps = &process->maps,
		.mapped = &publication->mapped,
		.regions = &publication->regions,
	};
	if (error)
		return error;
	describe_runtimes(p, publication, process, &contents->runtimes);
	generator = generator_of(publication);
	if (generator)
		contents->generated = generator->runtime->code_module(generator->own);
	return 0;
}

/*
 * Stores the handle in the kernel's map. It is no error if the map has no room: the process's
 * samples keep coming raw. An older handle does not stay there.
 */
static int make_live(struct publisher *p, struct publication *publication, uint32_t generation)
{
	int error = p->target.settle(p->target.arg);

	if (error)
		return error;
	error = p->target.set_handle(p->target.arg, publication->image.tgid,
				     HANDLE(publication->list.loc, generation));
	if (error && publication->live)
		p->target.remove_handle(p->target.arg, publication->image.tgid);
	publication->live = !error;
	p->counts.publications += publication->live;
	return error == -ENOMEM || error == -E2BIG || error == -EBUSY ? 0 : error;
}

/* Replaces the process's list. After an error, the caller must invalidate() it. 0 or -errno */
static int replace_list(struct publisher *p, struct publication *publication,
			const struct process *process, const struct process_image *image)
{
	struct mapping_list old = publication->list;
	struct mapping_contents contents;
	int error = describe(p, publication, process, image, &contents);

	if (!error)
		error = mapping_list_write(p->tables, &contents, &publication->list);
	if (error)
		return error;
	publication->image = *image;
	publication->version = process->version;
	error = make_live(p, publication, contents.generation);
	/* a walk that is still reading the old list notices this by the generation */
	mapping_list_release(p->tables, &old);
	regions_forget(&publication->regions, p->tables, &process->maps);
	return error;
}

void publisher_publish(struct publisher *p, struct processes *processes, struct process *process,
		       const struct process_image *image)
{
	struct publication *publication = get(p, process->pid);
	uint64_t began = clock_cpu_ns();
	int error = publication ? replace_list(p, publication, process, image) : -ENOMEM;

	if (error && publication)
		invalidate(p, publication);
	else if (publication)
		set_changed(p, publication, !publication->live);
	p->counts.unpublished += error != 0;
	process_charge(processes, process, clock_cpu_ns() - began);
}

void publisher_publish_changed(struct publisher *p, struct processes *processes)
{
	struct publication *publication, *next;

	DL_FOREACH_SAFE(p->changed, publication, next) {
		struct process *process = processes_find(processes, publication->pid);

		if (process && process->complete)
			publisher_publish(p, processes, process, &publication->image);
	}
}

bool publisher_is_current(const struct publisher *p, const struct process *process,
			  const struct process_image *image)
{
	const struct publication *publication = publisher_find(p, process->pid);

	return publication && publication->live && publication->version == process->version &&
	       !memcmp(&publication->image, image, sizeof(*image));
}

/* ---- what is learnt later ---- */

static struct published_process *list_of(const struct publisher *p, pid_t pid)
{
	const struct publication *publication = publisher_find(p, pid);

	return publication ? slabs_at(tables_slabs(p->tables), publication->list.loc) : NULL;
}

void publisher_set_changes(struct publisher *p, pid_t pid, uint32_t changes)
{
	struct published_process *list = list_of(p, pid);

	if (list)
		list->changes = changes;
}

void publisher_set_quiet(struct publisher *p, pid_t pid, uint64_t until_ns)
{
	struct published_process *list = list_of(p, pid);

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

/*
 * A child maps the same files as its parent. Without memory for the copy, they are looked up again.
 */
static void forked(void *arg, pid_t parent, pid_t child)
{
	const struct publication *from = find(arg, parent);
	struct publication *to = from && from->mapped.nr ? get(arg, child) : NULL;

	if (to) {
		mapped_modules_free(&to->mapped);
		mapped_modules_copy(&to->mapped, &from->mapped);
	}
}

static void changed(void *arg, pid_t pid)
{
	struct publication *publication = find(arg, pid);

	if (publication && publication->list.loc)
		set_changed(arg, publication, true);
}

static void exited(void *arg, pid_t pid)
{
	struct publication *publication = find(arg, pid);

	if (publication)
		drop(arg, publication);
}

struct process_observer publisher_observer(struct publisher *p)
{
	return (struct process_observer){ .invalidated = invalidated,
					  .changed = changed,
					  .forked = forked,
					  .exited = exited,
					  .arg = p };
}

/* ---- code in no file ---- */

const struct runtime_process *publisher_generator(const struct publisher *p, pid_t pid)
{
	const struct publication *publication = publisher_find(p, pid);

	return publication ? generator_of(publication) : NULL;
}

/*
 * the number of the mapping that ends where this one of the list does, since the list may be old;
 * 0: there is none
 */
static uint64_t number_of(const struct publication *publication,
			  const struct published_mapping *mapping)
{
	size_t i = count_below(publication->mapped.of, publication->mapped.nr, end, mapping->end);

	return i < publication->mapped.nr && publication->mapped.of[i].end == mapping->end
		       ? publication->mapped.of[i].number
		       : 0;
}

bool publisher_want_region(struct publisher *p, pid_t pid, loc_t loc, uint64_t pc)
{
	struct publication *publication = find(p, pid);
	struct published_process *list = slabs_at(tables_slabs(p->tables), loc),
				 *current = list_of(p, pid);
	uint64_t number = 0;
	bool given_up, found;
	size_t i;

	if (!current || generator_of(publication) || list->changes != current->changes)
		return false;
	i = count_up_to(list->mappings, list->nr_mappings, end, pc);
	if (i < list->nr_mappings)
		number = number_of(publication, &list->mappings[i]);
	if (!number)
		return false;
	found = regions_want(&publication->regions, p->tables, pid, &list->mappings[i], number,
			     &given_up);
	p->counts.regions_given_up += given_up;
	if (publication->regions.resume_ns &&
	    (!p->resume_ns || publication->regions.resume_ns < p->resume_ns))
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
