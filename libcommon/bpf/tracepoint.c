// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/tracepoint.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "process/perf_events.h"

/* an fd of tracefs' directory events, or -errno */
static int open_tracefs(void)
{
	static const char *const mounts[] = { "/sys/kernel/tracing/events",
					      "/sys/kernel/debug/tracing/events" };
	int context, fd;

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		fd = open(mounts[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	context = fsopen("tracefs", FSOPEN_CLOEXEC);
	if (context < 0)
		return -errno;
	fd = fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	if (!fd)
		fd = fsmount(context, FSMOUNT_CLOEXEC, 0);
	if (fd >= 0) {
		int events = openat(fd, "events", O_PATH | O_DIRECTORY | O_CLOEXEC);

		close(fd);
		fd = events;
	}
	if (fd < 0)
		fd = -errno;
	close(context);
	return fd;
}

/* the tracepoint's ID for perf_event_attr.config, or -errno */
static int tracepoint_id(const char *name)
{
	char path[256], text[32] = "";
	int tracefs = open_tracefs(), fd, id = -EINVAL;

	if (tracefs < 0)
		return tracefs;
	snprintf(path, sizeof(path), "%s/id", name);
	fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		id = -errno;
	else if (read(fd, text, sizeof(text) - 1) > 0)
		id = atoi(text);
	if (fd >= 0)
		close(fd);
	close(tracefs);
	return id;
}

/* the tracepoint that the program's section names: "tp/GROUP/NAME" */
static const char *tracepoint_of(const struct bpf_program *program)
{
	const char *name = strchr(bpf_program__section_name(program), '/');

	return name ? name + 1 : "";
}

bool bpf_tracepoint_exists(const struct bpf_program *program)
{
	return tracepoint_id(tracepoint_of(program)) >= 0;
}

struct bpf_link *bpf_tracepoint_attach_to(struct bpf_program *program, const char *tracepoint)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT };
	struct bpf_link *link;
	int fd = tracepoint_id(tracepoint);

	if (fd >= 0) {
		attr.config = fd;
		fd = perf_event_open_cpu(&attr, 0);	/* the program runs on every CPU nonetheless */
	}
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	link = bpf_program__attach_perf_event(program, fd);
	if (!link)
		close(fd);
	return link;
}

struct bpf_link *bpf_tracepoint_attach(struct bpf_program *program)
{
	return bpf_tracepoint_attach_to(program, tracepoint_of(program));
}
