// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/raw_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory_limit.h"
#include "base/order.h"
#include "base/search.h"
#include "unwind/raw_stack.h"

/*
 * The pause before a process is reread because a pc lies outside its list: at least 100 ms, and 20
 * times as long as the last reading took. So rereading a process takes at most 5 % of a CPU.
 */
#define REREAD_NS     100000000
#define REREAD_FACTOR 20
/*
 * once a reading has confirmed the list, the kernel sends no raw samples for pcs outside it for
 * this long
 */
#define QUIET_NS 1000000000

/* the longest pause before a process is reread */
#define REREAD_MAX_NS 2000000000

/*
 * A reading of /proc says how the process is now. It holds for an earlier sample if the process has
 * not changed in between:
 *  - its image, checked after the reading, still is the sample's: then the mappings are that
 *    image's, too;
 *  - once the buffers have been drained (raw_samples_resume()), no event of the process between
 *    sample and reading is queued, or was applied.
 */

/*
 * Does what is known of the process now hold for the time of the sample, too? All events up to now
 * are queued or applied.
 */
static bool holds(const struct raw_samples *s, const struct process *process,
		  const struct raw_record *raw)
{
	return !memcmp(&process->image, &raw->image, sizeof(process->image)) &&
	       process->event_ns <= raw->time_ns &&
	       !event_queue_has_event(s->queue, process->pid, raw->time_ns, clock_ns());
}

/* Asks for a reading of the sample's process. -EINPROGRESS; 0: it cannot; or -ENOMEM */
static int ask_for_sample(struct raw_samples *s, const struct raw_record *raw)
{
	struct process *process = processes_get(s->processes, raw->key.pid);

	if (!process)
		return -ENOMEM;
	return process->asked || !s->ask(s->arg, process, raw->image.tgid, raw->key.uid)
		       ? -EINPROGRESS
		       : 0;
}

/* ---- code of processes that are gone ---- */

#define CACHED_NS 1000000000 /* after that, a file that was not there is looked for again */

static struct cached_text *place_of(const struct text_cache *cache, uint32_t module_id,
				    uint64_t offset)
{
	uint64_t hash = (offset ^ (uint64_t)module_id << 40) * 0x9e3779b97f4a7c15;

	return (struct cached_text *)&cache->of[(hash >> 32) % NR_CACHED_TEXTS];
}

/*
 * Gets what was last read from this place: *nr bytes, 0 if it could not be read. False: it is not
 * in the cache
 */
static bool find_text(const struct text_cache *cache, uint32_t module_id, uint64_t offset, void *to,
		      uint32_t bytes, uint32_t *nr)
{
	const struct cached_text *text = place_of(cache, module_id, offset);

	if (!module_id || text->module_id != module_id || text->offset != offset ||
	    text->asked != bytes || clock_ns() > text->until_ns)
		return false;
	memcpy(to, text->bytes, text->nr);
	*nr = text->nr;
	return true;
}

static void keep_text(struct text_cache *cache, uint32_t module_id, uint64_t offset,
		      const void *from, uint32_t bytes, uint32_t nr)
{
	struct cached_text *text = place_of(cache, module_id, offset);

	if (!module_id || nr > FOREIGN_TEXT_BYTES)
		return;
	*text = (struct cached_text){
		.module_id = module_id,
		.asked = bytes,
		.nr = nr,
		.offset = offset,
		.until_ns = clock_ns() + CACHED_NS,
	};
	memcpy(text->bytes, from, nr);
}

/* ---- the walk ---- */

/* the memory of a sample's process */
struct sample_memory {
	struct host_memory of_sample;
	pid_t pid;
	uint32_t uid;
	const struct published_process *list; /* NULL: no mapping is known */
	struct modules *modules;
	struct text_cache *texts;
};

/* NULL: none */
static const struct published_mapping *mapping_at(const struct published_process *list,
						  uint64_t address)
{
	size_t nr = list ? count_up_to(list->mappings, list->nr_mappings, start, address) : 0;

	return nr && address < list->mappings[nr - 1].end ? &list->mappings[nr - 1] : NULL;
}

static uint32_t read_data(void *arg, void *to, uint32_t bytes, uint64_t addr)
{
	const struct sample_memory *m = arg;

	return m->of_sample.read(m->of_sample.arg, to, bytes, addr);
}

/* Code of a process that is gone by now is what its file says. */
static uint32_t read_text_of_file(const struct sample_memory *m, const struct module *module,
				  const struct foreign_text *text, void *to, uint32_t bytes)
{
	uint32_t nr;

	if (!text->file.path)
		return 0;
	if (find_text(m->texts, module->id, text->file_offset, to, bytes, &nr))
		return nr;
	nr = foreign_read_text(modules_foreign(m->modules), text, to, bytes);
	keep_text(m->texts, module->id, text->file_offset, to, bytes, nr);
	return nr;
}

static uint32_t read_text(void *arg, void *to, uint32_t bytes, uint64_t addr)
{
	const struct sample_memory *m = arg;
	const struct published_mapping *mapping = mapping_at(m->list, addr);
	const struct module *module = mapping ? modules_get(m->modules, mapping->module_id) : NULL;
	struct foreign_text text = { .pid = m->pid, .uid = m->uid, .address = addr };

	if (mapping && bytes > mapping->end - addr)
		bytes = mapping->end - addr;
	if (module && !module->image && module->error != -ESTALE) {
		text.file = module_file(module);
		text.key = module->key;
		text.owner = module->owner;
		text.file_offset = addr - mapping->start + mapping->file_offset;
	}
	if (bytes <= FOREIGN_TEXT_BYTES && process_is_gone(m->pid))
		return read_text_of_file(m, module, &text, to, bytes);
	return foreign_read_text(modules_foreign(m->modules), &text, to, bytes);
}

#define MAX_WANTED 256 /* times that one walk may want rows or regions */

/* Makes the rows in generated code, or reads the region, for want of which the walk has ended. */
static bool make_wanted(const struct raw_samples *s, const struct runtime_process *generator,
			loc_t list, const struct raw_record *raw, const struct host_stack *stack)
{
	struct foreign *foreign = modules_foreign(tables_modules(s->tables));

	if (generator)
		return stack->wants_rows &&
		       generator->runtime->want(generator->own, foreign, stack->wants_rows);
	return stack->wants_region &&
	       publisher_want_region(s->publisher, raw->key.pid, list, stack->wants_region);
}

/*
 * Walks, and makes the rules that the walk lacks in generated code. If the runtime's own file is
 * not compiled yet, the walk wants that file's table.
 */
static void walk_generated(const struct raw_samples *s, loc_t list, const struct raw_record *raw,
			   struct host_memory memory, struct host_stack *stack)
{
	struct host_registers registers = raw_stack_registers(raw);
	struct foreign *foreign = modules_foreign(tables_modules(s->tables));
	const struct runtime_process *generator = publisher_generator(s->publisher, raw->key.pid);
	uint32_t nr = 0;

	if (generator)
		memory.functions_epoch =
			generator->runtime->look(generator->own, foreign, raw->time_ns, raw->ip,
						 (const uint64_t *)(raw + 1), raw->stack_bytes / 8);
	do
		mapping_list_unwind(s->tables, list, &registers, memory, s->max_depth, stack);
	while (nr++ < MAX_WANTED && make_wanted(s, generator, list, raw, stack));
	if (generator && stack->wants_rows && !generator->is_read)
		stack->wants_table = generator->module;
}

/* list 0: without any mappings, which leaves the leaf's address */
static void walk_by(struct raw_samples *s, loc_t list, const struct raw_record *raw,
		    struct host_stack *stack)
{
	struct sample_memory memory = {
		.of_sample = raw_stack_memory(raw),
		.pid = raw->key.pid,
		.uid = raw->key.uid,
		.list = list ? slabs_at(tables_slabs(s->tables), list) : NULL,
		.modules = tables_modules(s->tables),
		.texts = &s->texts,
	};

	walk_generated(s, list, raw,
		       (struct host_memory){
			       .read = read_data, .read_text = read_text, .arg = &memory },
		       stack);
}

static void walk(struct raw_samples *s, const struct process *process, const struct raw_record *raw,
		 struct host_stack *stack)
{
	const struct publication *published =
		process ? publisher_find(s->publisher, process->pid) : NULL;

	walk_by(s, published ? published->list.loc : 0, raw, stack);
}

static bool is_confirmed(const struct raw_samples *s, const struct process *process)
{
	const struct publication *published = publisher_find(s->publisher, process->pid);

	return published && published->confirmed == process->version;
}

static uint64_t reread_pause(const struct process *process)
{
	return clamped(process->look_took_ns * REREAD_FACTOR, REREAD_NS, REREAD_MAX_NS);
}

/*
 * The process was read again, because a pc lay outside the list. If its mappings have still this
 * version, of which the list was made, the list is confirmed.
 */
static void note_reread(struct raw_samples *s, const struct process *process, uint64_t version)
{
	if (process->version == version)
		publisher_set_confirmed(s->publisher, process->pid);
	publisher_set_quiet(s->publisher, process->pid,
			    is_confirmed(s, process) ? clock_ns() + QUIET_NS
						     : process->looked_ns + reread_pause(process));
}

/*
 * A pc lies outside the list. Memory may have been mapped without a record, by mremap() for
 * example: asks for another reading of the process. Not too often; meanwhile the kernel sends no
 * raw samples for such pcs.
 */
static int reread_for_sample(struct raw_samples *s, const struct process *process,
			     const struct raw_record *raw)
{
	int error = 0;

	if (!is_confirmed(s, process) && clock_ns() - process->looked_ns > reread_pause(process))
		error = ask_for_sample(s, raw);
	if (!error)
		note_reread(s, process, 0);
	return error;
}

/*
 * Has the process executed another program since, without a record of that exec? Then what is known
 * is of another image than the sample's. The image of a sample that was taken inside execve() may
 * change without another exec.
 */
static bool is_another_image(const struct raw_samples *s, const struct process *process,
			     const struct raw_record *raw)
{
	const struct publication *published = publisher_find(s->publisher, raw->key.pid);

	if (published && published->image.start_ns == raw->image.start_ns && published->in_exec)
		return false;
	return (process->image.tgid && memcmp(&process->image, &raw->image, sizeof(raw->image))) ||
	       (published && (published->image.start_ns != raw->image.start_ns ||
			      published->image.exec_id != raw->image.exec_id));
}

/* Publishes the process, if it is not current. True: it has done so */
static bool publish(struct raw_samples *s, struct process *process, const struct raw_record *raw)
{
	if (publisher_is_current(s->publisher, process, &raw->image))
		return false;
	publisher_publish(s->publisher, s->processes, process, &raw->image);
	return true;
}

/* process NULL: it is not known */
static void unwind_by(struct raw_samples *s, struct process *process, const struct raw_record *raw,
		      struct host_stack *stack)
{
	if (process && publish(s, process, raw))
		publisher_set_in_exec(s->publisher, process->pid, raw_stack_in_exec(raw));
	walk(s, process, raw, stack);
}

/* the old image's registers, the new one's memory */
static void discard_in_exec(const struct raw_record *raw, struct host_stack *stack)
{
	if (!raw_stack_in_exec(raw) || stack->end == END_COMPLETE)
		return;
	stack->end = END_NO_USER;
	stack->id = 0;
	stack->wants_table = 0;
}

void raw_samples_leaf(struct raw_samples *s, const struct raw_record *raw, struct host_stack *stack)
{
	walk_by(s, 0, raw, stack);
	discard_in_exec(raw, stack);
}

/* The kernel is told not to send samples of this process, and this one stays without a stack. */
static void refuse(struct raw_samples *s, struct process *process, const struct raw_record *raw,
		   struct host_stack *stack)
{
	publish(s, process, raw);
	raw_samples_leaf(s, raw, stack);
}

int raw_samples_unwind(struct raw_samples *s, const struct raw_record *raw,
		       struct host_stack *stack)
{
	struct process *process = processes_find(s->processes, raw->key.pid);
	int error = 0;

	if (process && process_is_refused(process)) {
		refuse(s, process, raw, stack);
		return 0;
	}
	if (!process || !process->complete || is_another_image(s, process, raw)) {
		error = ask_for_sample(s, raw);
		process = NULL;
	}
	if (error)
		return error;
	unwind_by(s, process, raw, stack);
	if (stack->end == END_NO_MAPPING && process && !raw_stack_in_exec(raw))
		error = reread_for_sample(s, process, raw);
	discard_in_exec(raw, stack);
	return error;
}

/*
 * Unwinds a sample after its process was read, or could not be. version: of the mappings at
 * raw_samples_keep(); 0: unknown
 */
static void unwind_read(struct raw_samples *s, const struct raw_record *raw, uint64_t version,
			struct host_stack *stack)
{
	struct process *process = processes_find(s->processes, raw->key.pid);

	if (process && process_is_refused(process)) {
		refuse(s, process, raw, stack);
		return;
	}
	if (process && process->complete && holds(s, process, raw)) {
		unwind_by(s, process, raw, stack);
		if (stack->end == END_NO_MAPPING && !raw_stack_in_exec(raw))
			note_reread(s, process, version);
	} else {
		walk(s, version ? process : NULL, raw, stack);
	}
	discard_in_exec(raw, stack);
}

/* ---- those that wait ---- */

#define MAX_WAITING_BYTES (memory_limit / 8)
/*
 * where files come faster than their tables can be made, samples of files that are gone by then are
 * not kept for long
 */
#define MAX_WAITING_NS 5000000000

static bool has_waited_enough(const struct waiting_sample *sample)
{
	return clock_ns() - sample->raw->time_ns > MAX_WAITING_NS;
}

/* The sample's record and list are given away if there is room. */
static bool add_waiting(struct raw_samples *s, const struct waiting_sample *sample)
{
	uint64_t bytes = sizeof(*sample->raw) + sample->raw->stack_bytes;
	struct room_user *user;

	s->waiting_room.max = MAX_WAITING_BYTES;
	s->waiting_room.whole = &memory_room;
	user = user_room_of(&s->waiting_room, sample->raw->key.uid);
	if (!user || !user_room_has(user, bytes) ||
	    array_reserve(&s->waiting, &s->room, s->nr_waiting + 1))
		return false;
	s->waiting[s->nr_waiting++] = *sample;
	return user_room_take(user, bytes);
}

bool raw_samples_keep(struct raw_samples *s, struct raw_record *raw, uint32_t for_module)
{
	const struct process *process = processes_find(s->processes, raw->key.pid);
	struct waiting_sample sample = {
		.raw = raw,
		.for_module = for_module,
		.version = process && process->complete ? process->version : 0,
	};

	if (for_module && publisher_share_list(s->publisher, raw->key.pid, &sample.list))
		return false;
	if (add_waiting(s, &sample))
		return true;
	mapping_list_unshare(s->tables, &sample.list);
	return false;
}

void raw_samples_note_modules(const struct raw_samples *s, bool *used)
{
	for (size_t i = 0; i < s->nr_waiting; i++) {
		const struct waiting_sample *sample = &s->waiting[i];
		const struct published_process *list =
			sample->list.loc ? slabs_at(tables_slabs(s->tables), sample->list.loc)
					 : NULL;

		used[sample->for_module] = true;
		for (uint32_t m = 0; list && m < list->nr_mappings; m++)
			used[list->mappings[m].module_id] = true;
	}
}

static void drop(struct raw_samples *s, struct waiting_sample *sample)
{
	mapping_list_unshare(s->tables, &sample->list);
	free(sample->raw);
}

/* Must the sample still wait? A reading is valid once all events up to its end are known. */
static bool waits_still(const struct raw_samples *s, const struct waiting_sample *sample,
			uint64_t events_ns)
{
	const struct process *process;

	if (sample->for_module)
		return tables_awaited(s->tables, sample->for_module);
	process = processes_find(s->processes, sample->raw->key.pid);
	return process &&
	       (process->asked || process->looked_ns + process->look_took_ns > events_ns);
}

/* true: the sample waits for another table */
static bool unwind_again(struct raw_samples *s, struct waiting_sample *sample, bool may_wait,
			 struct host_stack *stack)
{
	if (sample->for_module)
		walk_by(s, sample->list.loc, sample->raw, stack);
	else
		unwind_read(s, sample->raw, sample->version, stack);
	if (!stack->wants_table || !may_wait)
		return false;
	if (!sample->for_module &&
	    publisher_share_list(s->publisher, sample->raw->key.pid, &sample->list))
		return false;
	sample->for_module = stack->wants_table;
	return add_waiting(s, sample);
}

int raw_samples_resume(struct raw_samples *s, struct host_stack *stack, uint64_t events_ns,
		       raw_sample_fn *done, void *arg)
{
	struct waiting_sample *resumed = s->waiting;
	size_t nr = s->nr_waiting;
	int error = 0;

	s->waiting = NULL;
	s->nr_waiting = s->room = 0;
	user_room_empty(&s->waiting_room);
	for (size_t i = 0; i < nr; i++) {
		bool may_wait = events_ns != UINT64_MAX && !has_waited_enough(&resumed[i]);

		if (!error && may_wait && waits_still(s, &resumed[i], events_ns) &&
		    add_waiting(s, &resumed[i]))
			continue;
		if (!error && unwind_again(s, &resumed[i], may_wait, stack))
			continue;
		if (!error)
			error = done(arg, resumed[i].raw, stack);
		drop(s, &resumed[i]);
	}
	free(resumed);
	return error;
}

void raw_samples_free(struct raw_samples *s)
{
	for (size_t i = 0; i < s->nr_waiting; i++)
		drop(s, &s->waiting[i]);
	free(s->waiting);
	user_room_empty(&s->waiting_room);
}
