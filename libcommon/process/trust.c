// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NR_DEVICES 64

/* sudo says for whom */
static bool is_trusted_owner(uint64_t owner)
{
	const char *caller = getenv("SUDO_UID");

	return owner == 0 || owner == getuid() || (caller && owner == strtoull(caller, NULL, 10));
}

/*
 * Does the kernel itself say whose the files there are? A FUSE server, which any user may be, would do it. What is not mounted
 * where we see it may be one, unless it is a disk.
 */
static bool reads_as_honest(uint64_t dev)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");	/* proc_pid_mountinfo(5) */
	bool honest = major(dev) != 0, found = false;
	unsigned of_major, of_minor;
	char *line = NULL;
	size_t room = 0;

	while (mounts && !found && getline(&line, &room, mounts) > 0) {
		const char *type = strstr(line, " - ");

		found = type && sscanf(line, "%*d %*d %u:%u", &of_major, &of_minor) == 2 && makedev(of_major, of_minor) == dev;
		if (found)
			honest = strncmp(type + 3, "fuse", 4);
	}
	free(line);
	if (mounts)
		fclose(mounts);
	return honest;
}

/* as it was when it was asked first: there may be thousands of mounts */
static bool is_honest(uint64_t dev)
{
	static struct device {
		uint64_t dev;
		bool honest;
	} devices[NR_DEVICES];		/* the last ones that were asked for */
	static size_t nr;
	struct device *device;

	for (size_t i = 0; i < nr && i < NR_DEVICES; i++)
		if (devices[i].dev == dev)
			return devices[i].honest;
	device = &devices[nr++ % NR_DEVICES];
	*device = (struct device){ .dev = dev, .honest = reads_as_honest(dev) };
	return device->honest;
}

bool is_trusted_file(const struct file_key *key)
{
	return is_trusted_owner(key->owner) && is_honest(key->dev);
}
