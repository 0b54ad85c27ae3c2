// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/raw_samples.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "process/clock.h"
#include "unwind/raw_stack.h"

/* for a pc outside the list, a process is read again after this long, and after 20 times what reading it took */
#define REREAD_NS	100000000
#define REREAD_FACTOR	20
/* where that has shown that the list is right, the kernel sends no such samples for this long */
#define QUIET_NS	1000000000

/* taken inside execve(), where the registers may still be the old image's */
static bool is_in_exec(const struct raw_record *raw)
{
	return raw->syscall == SYS_execve || raw->syscall == SYS_execveat;
}

/* The process as it is now becomes what is known of it. *process is NULL where it is not to be read. 0 or -errno */
static int take_reading(struct raw_samples *s, const struct raw_record *raw, struct process **process)
{
	struct process_reading reading;
	struct eh_image image;

	*process = NULL;
	if (s->source.read(s->source.arg, raw->key.pid, raw->image.tgid, &reading))
		return 0;
	/* after the mappings were read: if it is still the sample's image, they are too */
	if (s->source.image(s->source.arg, raw->key.pid, &image) || memcmp(&image, &raw->image, sizeof(image))) {
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
 * Reads the process. *process is NULL if that does not say how it was when the sample was taken: it is gone, is another
 * image, or its mappings have changed since. 0 or -errno
 */
static int read_process(struct raw_samples *s, const struct raw_record *raw, struct process **process)
{
	struct process *read;
	int error = take_reading(s, raw, &read);

	*process = NULL;
	if (error || !read)
		return error;
	error = s->source.drain(s->source.arg);
	if (!error && !event_queue_has_event(s->queue, read->pid, raw->time_ns, read->read_ns))
		*process = read;
	return error;
}

/* process NULL: without any mappings, which leaves the leaf's address */
static void walk(struct raw_samples *s, const struct process *process, const struct raw_record *raw, struct host_stack *stack)
{
	const struct publication *published = process ? publisher_find(s->publisher, process->pid) : NULL;
	struct host_registers registers = raw_stack_registers(raw);

	image_unwind(s->tables, published ? published->list.loc : 0, &registers, raw_stack_memory(raw), s->max_depth, stack);
}

static bool is_confirmed(const struct raw_samples *s, const struct process *process)
{
	const struct publication *published = publisher_find(s->publisher, process->pid);

	return published && published->confirmed == process->version;
}

/*
 * A pc outside the list. Memory may have been mapped with no record of it, by mremap() say: the process is read again
 * and its sample unwound again, but not too often, and the kernel keeps quiet about such samples meanwhile.
 */
static int look_again(struct raw_samples *s, struct process *process, const struct raw_record *raw, struct host_stack *stack)
{
	uint64_t now = clock_ns(), version = process->version;
	uint64_t pause = process->look_took_ns * REREAD_FACTOR > REREAD_NS ? process->look_took_ns * REREAD_FACTOR : REREAD_NS;
	struct process *read = NULL;
	int error = 0;

	if (!is_confirmed(s, process) && now - process->looked_ns > pause)
		error = read_process(s, raw, &read);
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
 * Is what is published another image's? An exec invalidates it, so an exec has happened of which no record came; unless
 * the image was that of a sample within execve(), which changes it.
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
		error = read_process(s, raw, &process);
	if (error)
		return error;
	if (process && !publisher_is_current(s->publisher, process, &raw->image)) {
		publisher_publish(s->publisher, process, &raw->image);
		publisher_set_in_exec(s->publisher, process->pid, is_in_exec(raw));
	}
	walk(s, process, raw, stack);
	if (stack->end == END_NO_MAPPING && process && !is_in_exec(raw))
		error = look_again(s, process, raw, stack);
	if (is_in_exec(raw) && stack->end != END_COMPLETE) {	/* registers of one image, memory of another */
		stack->end = END_NO_USER;
		stack->id = 0;
	}
	return error;
}
