// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/raw_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "process/clock.h"
#include "unwind/raw_stack.h"

/*
 * How often a process may be reread because a pc lies outside its list: not before 100 ms, and not before 20
 * times of what the last reading took, so that rereading a process takes 5 % of a CPU at most.
 */
#define REREAD_NS	100000000
#define REREAD_FACTOR	20
/* once a reading has confirmed the list, the kernel sends no raw samples for pcs outside it for this long */
#define QUIET_NS	1000000000

/*
 * A reading of /proc says how the process is now. It holds for an earlier sample if the process has not
 * changed in between:
 *  - its image, checked after the reading, still is the sample's: then the mappings are that image's, too;
 *  - once the buffers have been drained, no event of the process between sample and reading is queued.
 */

/* taken inside execve(), where the registers may still be the old image's */
static bool is_in_exec(const struct raw_record *raw)
{
	return raw->syscall == SYS_execve || raw->syscall == SYS_execveat;
}

/*
 * Reads the process as it is now. *process is NULL if it cannot be read, or is not the sample's image. 0 or
 * -errno
 */
static int read_now(struct raw_samples *s, const struct raw_record *raw, struct process **process)
{
	struct process_reading reading;
	struct eh_image image;

	*process = NULL;
	if (s->source.read(s->source.arg, raw->key.pid, raw->image.tgid, &reading))
		return 0;
	if (s->source.image(s->source.arg, raw->key.pid, &image) ||
	    memcmp(&image, &raw->image, sizeof(image))) {
		proc_maps_free(&reading.maps);
		return 0;
	}
	*process = processes_get(s->processes, raw->key.pid);
	if (!*process) {
		proc_maps_free(&reading.maps);
		return -ENOMEM;
	}
	process_take(s->processes, *process, &reading);
	return 0;
}

/*
 * Reads the process. *process is NULL if the reading does not hold for the time of the sample: the process is
 * gone, is another image now, or its mappings have changed since. 0 or -errno
 */
static int read_for_sample(struct raw_samples *s, const struct raw_record *raw, struct process **process)
{
	struct process *read;
	int error = read_now(s, raw, &read);

	*process = NULL;
	if (error || !read)
		return error;
	error = s->source.drain(s->source.arg);
	if (!error && !event_queue_has_event(s->queue, read->pid, raw->time_ns, read->read_ns))
		*process = read;
	return error;
}

/* ---- the walk ---- */

/* the memory of a sample's process */
struct sample_memory {
	struct host_memory of_sample;
	pid_t pid;
	const struct eh_process *list;	/* NULL: no mapping is known */
	struct modules *modules;
};

/* NULL: none */
static const struct eh_mapping *mapping_at(const struct eh_process *list, uint64_t address)
{
	uint32_t low = 0, high = list ? list->nr_mappings : 0;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (list->mappings[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < list->mappings[low - 1].end ? &list->mappings[low - 1] : NULL;
}

static uint32_t read_data(void *arg, void *to, uint32_t bytes, uint64_t addr)
{
	const struct sample_memory *m = arg;

	return m->of_sample.read(m->of_sample.arg, to, bytes, addr);
}

/* Code of a process that is gone by now is what its file says. */
static uint32_t read_text(void *arg, void *to, uint32_t bytes, uint64_t addr)
{
	const struct sample_memory *m = arg;
	const struct eh_mapping *mapping = mapping_at(m->list, addr);
	const struct module *module = mapping ? modules_get(m->modules, mapping->module_id) : NULL;
	struct foreign_text text = { .pid = m->pid, .address = addr };

	if (mapping && bytes > mapping->end - addr)
		bytes = mapping->end - addr;
	if (module && !module->image) {
		text.file = module_file(module);
		text.key = module->key;
		text.file_offset = addr - mapping->start + mapping->file_offset;
	}
	return foreign_read_text(modules_foreign(m->modules), &text, to, bytes);
}

/* list 0: without any mappings, which leaves the leaf's address */
static void walk_by(const struct raw_samples *s, loc_t list, const struct raw_record *raw,
		    struct host_stack *stack)
{
	struct host_registers registers = raw_stack_registers(raw);
	struct sample_memory memory = {
		.of_sample = raw_stack_memory(raw),
		.pid = raw->key.pid,
		.list = list ? slabs_at(tables_slabs(s->tables), list) : NULL,
		.modules = tables_modules(s->tables),
	};

	mapping_list_unwind(s->tables, list, &registers,
			    (struct host_memory){ .read = read_data, .read_text = read_text, .arg = &memory }, s->max_depth, stack);
}

static void walk(const struct raw_samples *s, const struct process *process, const struct raw_record *raw,
		 struct host_stack *stack)
{
	const struct publication *published = process ? publisher_find(s->publisher, process->pid) : NULL;

	walk_by(s, published ? published->list.loc : 0, raw, stack);
}

static bool is_confirmed(const struct raw_samples *s, const struct process *process)
{
	const struct publication *published = publisher_find(s->publisher, process->pid);

	return published && published->confirmed == process->version;
}

/*
 * A pc lies outside the list. Memory may have been mapped without a record, by mremap() for example: reads
 * the process again, and unwinds the sample again if that changes the list. Not too often; meanwhile the
 * kernel sends no raw samples for such pcs.
 */
static int reread_for_sample(struct raw_samples *s, struct process *process, const struct raw_record *raw,
			     struct host_stack *stack)
{
	uint64_t now = clock_ns(), version = process->version;
	uint64_t pause = process->look_took_ns * REREAD_FACTOR;
	struct process *read = NULL;
	int error = 0;

	if (pause < REREAD_NS)
		pause = REREAD_NS;
	if (!is_confirmed(s, process) && now - process->looked_ns > pause)
		error = read_for_sample(s, raw, &read);
	if (error)
		return error;
	if (read && process->version == version) {
		publisher_set_confirmed(s->publisher, process->pid);
	} else if (read) {
		publisher_publish(s->publisher, process, &raw->image);
		walk(s, process, raw, stack);
		if (stack->end != END_NO_MAPPING)
			return 0;
	}
	publisher_set_quiet(s->publisher, process->pid,
			    is_confirmed(s, process) ? now + QUIET_NS : process->looked_ns + pause);
	return 0;
}

/*
 * Is the published list that of another image than the sample's? The record of an exec invalidates it, so the
 * record of an exec was missed; but the image of a sample taken inside execve() may change without another
 * exec.
 */
static bool is_another_image(const struct raw_samples *s, const struct raw_record *raw)
{
	const struct publication *published = publisher_find(s->publisher, raw->key.pid);

	return published && (published->image.start_ns != raw->image.start_ns ||
			     (published->image.exec_id != raw->image.exec_id && !published->in_exec));
}

int raw_samples_unwind(struct raw_samples *s, const struct raw_record *raw, struct host_stack *stack)
{
	struct process *process = processes_find(s->processes, raw->key.pid);
	int error = 0;

	if (!process || !process->complete || is_another_image(s, raw))
		error = read_for_sample(s, raw, &process);
	if (error)
		return error;
	if (process && !publisher_is_current(s->publisher, process, &raw->image)) {
		publisher_publish(s->publisher, process, &raw->image);
		publisher_set_in_exec(s->publisher, process->pid, is_in_exec(raw));
	}
	walk(s, process, raw, stack);
	if (stack->end == END_NO_MAPPING && process && !is_in_exec(raw))
		error = reread_for_sample(s, process, raw, stack);
	/* the old image's registers, the new one's memory */
	if (is_in_exec(raw) && stack->end != END_COMPLETE) {
		stack->end = END_NO_USER;
		stack->id = 0;
		stack->wants_table = 0;
	}
	return error;
}

/* ---- those that wait for a table ---- */

#define MAX_WAITING_BYTES (64 << 20)

/* the record's and the list's are given away if there is room */
static bool add_waiting(struct raw_samples *s, struct raw_record *raw, struct mapping_list list, uint32_t for_module)
{
	uint64_t bytes = sizeof(*raw) + raw->stack_bytes;

	if (s->waiting_bytes + bytes > MAX_WAITING_BYTES ||
	    array_reserve(&s->waiting, &s->room, s->nr_waiting + 1))
		return false;
	s->waiting[s->nr_waiting++] = (struct waiting_sample){ .raw = raw, .list = list, .for_module = for_module };
	s->waiting_bytes += bytes;
	return true;
}

bool raw_samples_keep(struct raw_samples *s, struct raw_record *raw, uint32_t for_module)
{
	struct mapping_list list;

	if (publisher_share_list(s->publisher, raw->key.pid, &list))
		return false;
	if (add_waiting(s, raw, list, for_module))
		return true;
	mapping_list_unshare(s->tables, &list);
	return false;
}

static void drop(struct raw_samples *s, struct waiting_sample *sample)
{
	mapping_list_unshare(s->tables, &sample->list);
	free(sample->raw);
}

int raw_samples_resume(struct raw_samples *s, struct host_stack *stack, raw_sample_fn *done, void *arg)
{
	struct waiting_sample *resumed = s->waiting;
	size_t nr = s->nr_waiting;
	int error = 0;

	s->waiting = NULL;
	s->nr_waiting = s->room = 0;
	s->waiting_bytes = 0;
	for (size_t i = 0; i < nr; i++) {
		if (!error && tables_awaited(s->tables, resumed[i].for_module) &&
		    add_waiting(s, resumed[i].raw, resumed[i].list, resumed[i].for_module))
			continue;
		if (!error) {
			walk_by(s, resumed[i].list.loc, resumed[i].raw, stack);
			if (stack->wants_table &&
			    add_waiting(s, resumed[i].raw, resumed[i].list, stack->wants_table))
				continue;
			error = done(arg, resumed[i].raw, stack);
		}
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
}
