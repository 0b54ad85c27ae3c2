// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/links.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/tracepoint.h"

static int keep(struct links *links, struct bpf_link *link)
{
	struct bpf_link **more;

	if (!link)
		return -errno;
	more = reallocarray(links->links, links->nr + 1, sizeof(*more));
	if (!more) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	links->links = more;
	links->links[links->nr++] = link;
	return 0;
}

int links_attach(struct links *links, struct bpf_program *program)
{
	if (!bpf_program__autoload(program))
		return 0;
	if (!strncmp(bpf_program__section_name(program), "tp/", 3))
		return keep(links, bpf_tracepoint_attach(program));
	return keep(links, bpf_program__attach(program));
}

int links_attach_to_events(struct links *links, struct bpf_program *program, const struct perf_events *events)
{
	int error = 0;

	for (size_t i = 0; i < events->nr && !error; i++)
		error = keep(links, bpf_program__attach_perf_event(program, events->events[i].fd));
	return error;
}

void links_detach(struct links *links)
{
	for (size_t i = 0; i < links->nr; i++)
		bpf_link__destroy(links->links[i]);
	free(links->links);
	*links = (struct links){};
}
