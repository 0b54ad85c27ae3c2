// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/tracepoint.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#include "process/perf_events.h"
#include "process/tracefs.h"

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

struct bpf_link *bpf_tracepoint_attach_id(struct bpf_program *program, int id, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = cookie);
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .config = id };
	struct bpf_link *link;
	int fd = id < 0 ? id : perf_event_open_cpu(&attr, 0);	/* the program runs on every CPU nonetheless */

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	link = bpf_program__attach_perf_event_opts(program, fd, &options);
	if (!link)
		close(fd);
	return link;
}

struct bpf_link *bpf_tracepoint_attach(struct bpf_program *program)
{
	return bpf_tracepoint_attach_id(program, tracefs_tracepoint_id(tracepoint_of(program)), 0);
}
