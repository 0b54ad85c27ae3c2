// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/raw_samples.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

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

/* process NULL: without mappings, so that the stack is the leaf's address alone */
static void walk(struct raw_samples *s, const struct process *process, const struct raw_record *raw,
		 struct host_stack *stack)
{
	const struct publication *published = process ? publisher_find(s->publisher, process->pid) : NULL;
	struct host_registers registers = raw_stack_registers(raw);

	mapping_list_unwind(s->tables, published ? published->list.loc : 0, &registers, raw_stack_memory(raw),
			    s->max_depth, stack);
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
	}
	return error;
}
