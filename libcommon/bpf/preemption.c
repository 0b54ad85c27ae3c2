// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/preemption.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>

static bool read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool has_read = file && fgets(line, size, file);

	if (file)
		fclose(file);
	return has_read;
}

/*
 * the mode in brackets, "none voluntary (full)", in which the kernel is now; or "" where debugfs is not
 * mounted
 */
static void read_current(char *mode, size_t size)
{
	char text[256], *begin;

	*mode = 0;
	if (!read_line("/sys/kernel/debug/sched/preempt", text, sizeof(text)))
		return;
	begin = strchr(text, '(');
	if (begin)
		snprintf(mode, size, "%.*s", (int)strcspn(begin + 1, ")"), begin + 1);
}

/* the mode of the last "preempt=" on the kernel's command line, or "" */
static void read_command_line(char *mode, size_t size)
{
	char text[4096];

	*mode = 0;
	if (!read_line("/proc/cmdline", text, sizeof(text)))
		return;
	for (char *save, *word = strtok_r(text, " \n", &save); word; word = strtok_r(NULL, " \n", &save))
		if (!strncmp(word, "preempt=", 8))
			snprintf(mode, size, "%s", word + 8);
}

static bool is_cooperative(const char *path)
{
	gzFile file = gzopen(path, "re");	/* reads uncompressed files, too */
	char line[256];
	bool found = false;

	while (file && !found && gzgets(file, line, sizeof(line)))
		found = !strcmp(line, "CONFIG_PREEMPT_NONE=y\n") ||
			!strcmp(line, "CONFIG_PREEMPT_VOLUNTARY=y\n");
	if (file)
		gzclose(file);
	return found;
}

bool bpf_preemption_possible(void)
{
	char mode[32], path[256];
	struct utsname name;

	if (uname(&name))
		return true;
	if (!strstr(name.version, "PREEMPT"))
		return false;
	read_current(mode, sizeof(mode));
	if (!*mode)
		read_command_line(mode, sizeof(mode));
	if (*mode)
		return strcmp(mode, "none") && strcmp(mode, "voluntary");
	snprintf(path, sizeof(path), "/boot/config-%s", name.release);
	return !is_cooperative("/proc/config.gz") && !is_cooperative(path);
}
