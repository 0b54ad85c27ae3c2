// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/cpu_set.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
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

int cpu_watch_open(struct cpu_watch *watch)
{
	int error;

	watch->fd = open(online_file, O_RDONLY | O_CLOEXEC);
	if (watch->fd < 0)
		return -errno;
	error = read_online(watch, watch->last);
	if (error)
		cpu_watch_close(watch);
	return error;
}

int cpu_watch_changed(struct cpu_watch *watch, struct cpu_set *online)
{
	char text[CPU_WATCH_BYTES];
	int error = read_online(watch, text);

	if (error || !strcmp(text, watch->last))
		return error;
	error = cpu_set_parse(online, text);
	if (error)
		return error;
	strcpy(watch->last, text);
	return 1;
}

void cpu_watch_close(struct cpu_watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	watch->fd = -1;
}
