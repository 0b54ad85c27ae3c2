// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/cpu_set.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "task_abi.h"

static int add_range(struct cpu_set *set, unsigned long from, unsigned long to)
{
	if (from > to || to >= MAX_LISTED_CPUS)
		return -EINVAL;
	if (to >= set->nr) {
		if (array_reserve(&set->has, &set->room, to + 1))
			return -ENOMEM;
		memset(set->has + set->nr, 0, (to + 1 - set->nr) * sizeof(*set->has));
		set->nr = to + 1;
	}
	for (; from <= to; from++)
		set->has[from] = true;
	return 0;
}

int cpu_set_parse(struct cpu_set *set, const char *list)
{
	struct cpu_set parsed = {};
	int error = -EINVAL;

	for (;;) {
		unsigned long from, to;
		char *end;

		if (!isdigit((unsigned char)*list))
			break;
		from = to = strtoul(list, &end, 10);
		if (*end == '-') {
			list = end + 1;
			if (!isdigit((unsigned char)*list))
				break;
			to = strtoul(list, &end, 10);
		}
		error = add_range(&parsed, from, to);
		if (error || (*end != ',' && *end != '\0' && *end != '\n')) {
			error = error ? error : -EINVAL;
			break;
		}
		if (*end != ',') {
			*set = parsed;
			return 0;
		}
		list = end + 1;
		error = -EINVAL;
	}
	cpu_set_free(&parsed);
	return error;
}

static const char online_file[] = "/sys/devices/system/cpu/online";

int cpu_set_online(struct cpu_set *set)
{
	FILE *file = fopen(online_file, "re");
	char *line = NULL;
	size_t size = 0;
	int error;

	if (!file)
		return -errno;
	error = getline(&line, &size, file) > 0 ? cpu_set_parse(set, line) : -EIO;
	free(line);
	fclose(file);
	return error;
}

void cpu_set_keep(struct cpu_set *set, const struct cpu_set *kept)
{
	for (size_t cpu = 0; cpu < set->nr; cpu++)
		set->has[cpu] &= cpu_set_has(kept, cpu);
}

void cpu_set_free(struct cpu_set *set)
{
	free(set->has);
	*set = (struct cpu_set){};
}

/* ---- changes ---- */

static int read_online(const struct cpu_watch *watch, char text[CPU_WATCH_BYTES])
{
	ssize_t bytes = pread(watch->fd, text, CPU_WATCH_BYTES - 1, 0);

	if (bytes <= 0)
		return bytes ? -errno : -EIO;
	text[bytes] = 0;
	return 0;
}

/* kobject_uevent(): one message for each device that comes, goes or changes */
static int open_events(void)
{
	struct sockaddr_nl all = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&all, sizeof(all))) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * Adds those that have gone offline since the last call, whether they have come back or not. 0 or
 * -errno
 */
static int add_gone(const struct cpu_watch *watch, struct cpu_set *gone)
{
	struct sockaddr_nl from = {};
	socklen_t size = sizeof(from);
	int error = 0;
	char text[4096];
	unsigned cpu;
	ssize_t bytes;

	while (!error && (bytes = recvfrom(watch->events, text, sizeof(text) - 1, 0,
					   (struct sockaddr *)&from, &size)) > 0) {
		text[bytes] = 0;
		if (!from.nl_pid && sscanf(text, "offline@/devices/system/cpu/cpu%u", &cpu) == 1)
			error = add_range(gone, cpu, cpu);
	}
	return error;
}

#define WATCH_NS 20000000 /* from one look to the next */

int cpu_watch_open(struct cpu_watch *watch)
{
	int error;

	watch->events = -1;
	watch->fd = open(online_file, O_RDONLY | O_CLOEXEC);
	if (watch->fd < 0)
		return -errno;
	watch->events = open_events();
	watch->looked_ns = clock_ns();
	error = read_online(watch, watch->last);
	if (error)
		cpu_watch_close(watch);
	return error;
}

int cpu_watch_changed(struct cpu_watch *watch, struct cpu_set *online)
{
	struct cpu_set gone = {};
	char text[CPU_WATCH_BYTES];
	uint64_t now = clock_ns();
	int error, changed = 0;

	if (*watch->last && now < watch->looked_ns + WATCH_NS)
		return 0;
	watch->before_ns = watch->looked_ns;
	watch->looked_ns = now;
	error = read_online(watch, text);
	if (!error)
		error = add_gone(watch, &gone);
	if (!error && (gone.nr || strcmp(text, watch->last))) {
		error = cpu_set_parse(online, text);
		changed = !error;
	}
	for (size_t cpu = 0; changed && cpu < gone.nr && cpu < online->nr; cpu++)
		online->has[cpu] &= !gone.has[cpu];
	/* after some have gone, the next look is to find those that have come back */
	if (changed)
		strcpy(watch->last, gone.nr ? "" : text);
	cpu_set_free(&gone);
	return error ? error : changed;
}

void cpu_watch_close(struct cpu_watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	if (watch->events >= 0)
		close(watch->events);
	watch->fd = watch->events = -1;
}
