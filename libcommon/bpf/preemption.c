// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/preemption.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>

/* the mode of the last "preempt=" on the kernel's command line, or "" */
static void read_command_line(char *mode, size_t size)
{
	char text[4096];
	FILE *file = fopen("/proc/cmdline", "re");

	*mode = 0;
	if (!file)
		return;
	if (fgets(text, sizeof(text), file)) {
		for (char *save, *word = strtok_r(text, " \n", &save); word;
		     word = strtok_r(NULL, " \n", &save))
			if (!strncmp(word, "preempt=", 8))
				snprintf(mode, size, "%s", word + 8);
	}
	fclose(file);
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
	read_command_line(mode, sizeof(mode));
	if (*mode)
		return strcmp(mode, "none") && strcmp(mode, "voluntary");
	snprintf(path, sizeof(path), "/boot/config-%s", name.release);
	return !is_cooperative("/proc/config.gz") && !is_cooperative(path);
}
