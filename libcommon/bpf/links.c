// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/links.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/object.h"
#include "bpf/tracepoint.h"

static int keep(struct links *links, struct bpf_program *program, struct bpf_link *link)
{
	struct link_of *more;

	if (!link)
		return -errno;
	more = reallocarray(links->links, links->nr + 1, sizeof(*more));
	if (!more) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	links->links = more;
	links->links[links->nr++] = (struct link_of){ link, program };
	return 0;
}

int links_attach(struct links *links, struct bpf_program *program)
{
	if (!bpf_program__autoload(program))
		return 0;
	if (!strncmp(bpf_program__section_name(program), "tp/", 3))
		return keep(links, program, bpf_tracepoint_attach(program));
	return keep(links, program, bpf_program__attach(program));
}

int links_attach_named(struct links *links, const struct bpf_object *object, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	return program ? links_attach(links, program) : -ENOENT;
}

int links_attach_to_call(struct links *links, const struct bpf_object *object, const char *name,
			 const char *call)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	return program ? keep(links, program, bpf_program__attach_ksyscall(program, call, NULL)) : -ENOENT;
}

int links_attach_to_event(struct links *links, struct bpf_program *program, int fd)
{
	return keep(links, program, bpf_program__attach_perf_event(program, fd));
}

int links_attach_to_events(struct links *links, struct bpf_program *program, const struct perf_events *events)
{
	int error = 0;

	for (size_t i = 0; i < events->nr && !error; i++)
		error = links_attach_to_event(links, program, events->events[i].fd);
	return error;
}

static struct bpf_link *attach_user(struct bpf_program *program, const struct event *event, bool returns,
				    pid_t pid, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = returns, .bpf_cookie = cookie,
		    .ref_ctr_offset = event->semaphore_offset);

	return bpf_program__attach_uprobe_opts(program, pid ? pid : -1, event->path, event->file_offset, &options);
}

static struct bpf_link *attach_kernel(struct bpf_program *program, const struct event *event, bool returns,
				      uint64_t cookie)
{
	LIBBPF_OPTS(bpf_kprobe_opts, options, .retprobe = returns, .bpf_cookie = cookie);

	return bpf_program__attach_kprobe_opts(program, event->path, &options);
}

int links_attach_event(struct links *links, struct bpf_program *program, const struct event *event,
		       bool returns, pid_t pid, uint64_t cookie)
{
	switch (event->kind) {
	case EVENT_TRACEPOINT:
		return keep(links, program, bpf_tracepoint_attach_id(program, event->tracepoint, cookie));
	case EVENT_KERNEL_FUNCTION:
		return keep(links, program, attach_kernel(program, event, returns, cookie));
	case EVENT_USER_FUNCTION:
	case EVENT_USDT:
		return keep(links, program, attach_user(program, event, returns, pid, cookie));
	default:
		return -EINVAL;
	}
}

static bool seen_before(const struct links *links, size_t nr, const struct bpf_program *program)
{
	for (size_t i = 0; i < nr; i++)
		if (links->links[i].program == program)
			return true;
	return false;
}

uint64_t links_missed(const struct links *links)
{
	uint64_t missed = 0;

	for (size_t i = 0; i < links->nr; i++)
		if (!seen_before(links, i, links->links[i].program))
			missed += program_missed(links->links[i].program);
	return missed;
}

void links_detach(struct links *links)
{
	for (size_t i = 0; i < links->nr; i++)
		bpf_link__destroy(links->links[i].link);
	free(links->links);
	*links = (struct links){};
}
