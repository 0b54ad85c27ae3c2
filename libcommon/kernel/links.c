// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/links.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/object.h"
#include "process/tracefs.h"

static void detach(const struct link_of *link)
{
	if (link->link)
		bpf_link__destroy(link->link);
	else
		close(link->fd);
}

static int keep_any(struct links *links, struct link_of link)
{
	struct link_of *more = reallocarray(links->links, links->nr + 1, sizeof(*more));

	if (!more) {
		detach(&link);
		return -ENOMEM;
	}
	links->links = more;
	links->links[links->nr++] = link;
	return 0;
}

static int keep(struct links *links, struct bpf_program *program, struct bpf_link *link)
{
	return link ? keep_any(links, (struct link_of){ .link = link, .program = program })
		    : -errno;
}

/* ---- tracepoints that have no BTF arguments, such as those of a single system call ---- */

/* the tracepoint that the program's section names: "tp/GROUP/NAME" */
static const char *tracepoint_of(const struct bpf_program *program)
{
	const char *name = strchr(bpf_program__section_name(program), '/');

	return name ? name + 1 : "";
}

bool bpf_tracepoint_exists(const struct bpf_program *program)
{
	return tracefs_tracepoint_id(tracepoint_of(program)) >= 0;
}

/* id: tracefs_tracepoint_id(). NULL: errno says why */
static struct bpf_link *attach_tracepoint(struct bpf_program *program, int id, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = cookie);
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .config = id };
	struct bpf_link *link;
	int fd = id < 0 ? id : -ENODEV;

	/* on the first one that is online: the program runs on every CPU nonetheless */
	for (int cpu = 0; fd == -ENODEV && cpu < libbpf_num_possible_cpus(); cpu++)
		fd = perf_event_open_cpu(&attr, cpu);

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	link = bpf_program__attach_perf_event_opts(program, fd, &options);
	if (!link)
		close(fd);
	return link;
}

/* ---- all but user functions ---- */

int links_attach(struct links *links, struct bpf_program *program)
{
	if (!bpf_program__autoload(program))
		return 0;
	if (!strncmp(bpf_program__section_name(program), "tp/", 3))
		return keep(links, program,
			    attach_tracepoint(program,
					      tracefs_tracepoint_id(tracepoint_of(program)), 0));
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

	return program ? keep(links, program, bpf_program__attach_ksyscall(program, call, NULL))
		       : -ENOENT;
}

int links_attach_to_event(struct links *links, struct bpf_program *program, int fd)
{
	return keep(links, program, bpf_program__attach_perf_event(program, fd));
}

int links_attach_to_events(struct links *links, struct bpf_program *program,
			   const struct perf_events *events)
{
	int error = 0;

	for (size_t i = 0; i < events->nr && !error; i++)
		error = links_attach_to_event(links, program, events->events[i].fd);
	return error;
}

static struct bpf_link *attach_kernel(struct bpf_program *program, const struct event *event,
				      bool returns, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_kprobe_opts, options, .retprobe = returns, .bpf_cookie = cookie);

	return bpf_program__attach_kprobe_opts(program, event->path, &options);
}

int links_attach_event(struct links *links, struct bpf_program *program, const struct event *event,
		       bool returns, uint64_t cookie)
{
	switch (event->kind) {
	case EVENT_TRACEPOINT:
		return keep(links, program, attach_tracepoint(program, event->tracepoint, cookie));
	case EVENT_KERNEL_FUNCTION:
		return keep(links, program, attach_kernel(program, event, returns, cookie));
	default:
		return -EINVAL;
	}
}

/* ---- user functions ---- */

/* include/uapi/linux/bpf.h of Linux 6.6, which libbpf 1.1 does not know */
#define UPROBE_MULTI        48 /* enum bpf_attach_type */
#define UPROBE_MULTI_RETURN 1

struct uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, link_flags;
	uint64_t path, offsets, semaphores, cookies; /* addresses */
	uint32_t nr, flags;
	int32_t pid;
	uint32_t pad;
};

static int link_create(struct uprobe_multi *attr)
{
	attr->attach_type = UPROBE_MULTI;
	return syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));
}

/*
 * Asked for as libbpf 1.4 does: the root directory has no functions; and a kernel that takes -1 for
 * a process would watch one thread where a process is meant.
 */
static bool can_attach_many(void)
{
	static const struct bpf_insn leave[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = UPROBE_MULTI);
	uint64_t offset = 0;
	struct uprobe_multi attr = { .path = (uintptr_t) "/",
				     .offsets = (uintptr_t)&offset,
				     .nr = 1 };
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", leave, 2, &options);
	bool can;

	if (fd < 0)
		return false;
	attr.prog_fd = fd;
	can = link_create(&attr) < 0 && errno == EBADF;
	attr.pid = -1;
	can = can && link_create(&attr) < 0 && errno == EINVAL;
	close(fd);
	return can;
}

static bool is_of_user_functions(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	return !strcmp(section, "uprobe") || !strcmp(section, "uretprobe");
}

void links_prepare(struct bpf_object *object)
{
	struct bpf_program *program;
	int can = -1;

	bpf_object__for_each_program(program, object) {
		if (!bpf_program__autoload(program) || !is_of_user_functions(program))
			continue;
		if (can < 0)
			can = can_attach_many();
		if (can)
			bpf_program__set_expected_attach_type(program, UPROBE_MULTI);
	}
}

static int attach_many(struct links *links, struct bpf_program *program, const char *path,
		       const struct user_probe *probes, size_t nr, bool returns, pid_t pid)
{
	struct uprobe_multi attr = {
		.prog_fd = bpf_program__fd(program),
		.path = (uintptr_t)path,
		.nr = nr,
		.flags = returns ? UPROBE_MULTI_RETURN : 0,
		.pid = pid,
	};
	uint64_t *arrays = calloc(nr, 3 * sizeof(*arrays));
	int fd, error;

	if (!arrays)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		arrays[i] = probes[i].file_offset;
		arrays[nr + i] = probes[i].semaphore_offset;
		arrays[2 * nr + i] = probes[i].cookie;
	}
	attr.offsets = (uintptr_t)arrays;
	attr.semaphores = (uintptr_t)(arrays + nr);
	attr.cookies = (uintptr_t)(arrays + 2 * nr);
	fd = link_create(&attr);
	error = fd < 0 ? -errno : keep_any(links, (struct link_of){ .fd = fd, .program = program });
	free(arrays);
	return error;
}

int links_attach_user(struct links *links, struct bpf_program *program, int file,
		      const struct user_probe *probes, size_t nr, bool returns, pid_t pid)
{
	char path[32]; /* of the open file itself, wherever its name leads by now */
	int error = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (bpf_program__expected_attach_type(program) == UPROBE_MULTI)
		return nr ? attach_many(links, program, path, probes, nr, returns, pid) : 0;
	for (size_t i = 0; i < nr && !error; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = returns,
			    .bpf_cookie = probes[i].cookie,
			    .ref_ctr_offset = probes[i].semaphore_offset);

		error = keep(links, program,
			     bpf_program__attach_uprobe_opts(program, pid ? pid : -1, path,
							     probes[i].file_offset, &options));
	}
	return error;
}

/* ---- all ---- */

/*
 * The beginning of struct bpf_link_info (linux/bpf.h) of a probe of a kernel function: the header
 * that this is built with may be older than the running kernel.
 */
struct probe_link_info {
	__u32 type, id, program, pad;
	__u32 kind, kind_pad;
	__u64 name;
	__u32 name_bytes, offset;
	__u64 address;
	__u64 missed; /* from 6.7 on */
	__u64 cookie;
};
enum { LINK_PERF_EVENT = 7, PERF_EVENT_KPROBE = 3 };

/* how often the kernel has passed over a probe that was hit within another probe's handler */
static uint64_t probe_missed(const struct link_of *link)
{
	struct probe_link_info info = {};
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(link->link ? bpf_link__fd(link->link) : link->fd, &info, &size))
		return 0;
	/* a return that was missed is a call that has not returned */
	return info.type == LINK_PERF_EVENT && info.kind == PERF_EVENT_KPROBE ? info.missed : 0;
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
	uint64_t missed = links->missed;

	for (size_t i = 0; i < links->nr; i++) {
		missed += probe_missed(&links->links[i]);
		if (!seen_before(links, i, links->links[i].program))
			missed += program_missed(links->links[i].program);
	}
	return missed;
}

void links_detach(struct links *links)
{
	uint64_t missed = links_missed(links);

	for (size_t i = 0; i < links->nr; i++)
		detach(&links->links[i]);
	free(links->links);
	*links = (struct links){ .missed = missed };
}
