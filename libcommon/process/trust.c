// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/trust.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "process/proc_status.h"

#define NR_PLACES 64

/* sudo says for whom */
static bool is_root(uint32_t owner)
{
	const char *caller = getenv("SUDO_UID");

	return owner == 0 || owner == getuid() || (caller && owner == strtoull(caller, NULL, 10));
}

struct place {
	uint64_t dev, mount;
	/*
	 * The kernel itself says whose the files there are. A FUSE server, which any user may be,
	 * would do it. What is not mounted where we see it may be one, unless it is a disk. A btrfs
	 * subvolume's files have a device that no mount has, but its mount's ID.
	 */
	bool honest;
	bool ours; /* the mount is in our own mount namespace */
};

static struct place read_place(const struct file_key *key)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re"); /* proc_pid_mountinfo(5) */
	struct place place = { key->dev, key->mount, .honest = major(key->dev) != 0 };
	unsigned of_major, of_minor;
	unsigned long mount;
	char *line = NULL;
	size_t room = 0;

	while (mounts && !place.ours && getline(&line, &room, mounts) > 0) {
		const char *type = strstr(line, " - ");

		if (!type || sscanf(line, "%lu %*d %u:%u", &mount, &of_major, &of_minor) != 3 ||
		    (mount != key->mount && makedev(of_major, of_minor) != key->dev))
			continue;
		place.ours = mount == key->mount;
		place.honest = strncmp(type + 3, "fuse", 4);
	}
	free(line);
	if (mounts)
		fclose(mounts);
	return place;
}

/*
 * Has there been a mount, or an unmount? Then numbers of mounts and devices may be those of others.
 */
static bool have_mounts_changed(void)
{
	static int mounts = -1;
	struct pollfd changed = { .events = POLLPRI }; /* proc_pid_mounts(5) */

	if (mounts < 0)
		mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	changed.fd = mounts;
	return mounts < 0 || poll(&changed, 1, 0);
}

/* as it was when it was asked first: there may be thousands of mounts */
static const struct place *place_of(const struct file_key *key)
{
	static struct place places[NR_PLACES]; /* the last ones that were asked for */
	static size_t nr;
	struct place *place;

	if (have_mounts_changed())
		nr = 0;
	for (size_t i = 0; i < nr && i < NR_PLACES; i++)
		if (places[i].dev == key->dev && places[i].mount == key->mount)
			return &places[i];
	place = &places[nr++ % NR_PLACES];
	*place = read_place(key);
	return place;
}

bool file_is_in_our_mount(const struct file_key *key)
{
	return place_of(key)->ours;
}

uint64_t owner_of_user(uint32_t uid)
{
	return is_root(uid) ? 0 : (uint64_t)uid << 32;
}

/* The owner of /proc/PID is root where a process says that it is not to be dumped. */
uint32_t uid_of_process(pid_t pid)
{
	uint32_t real;

	return proc_status_number(pid, "Uid:", &real) ? real : UINT32_MAX;
}

uint64_t owner_of_process(pid_t pid)
{
	return owner_of_user(uid_of_process(pid));
}

uint64_t owner_of_file(const struct file_key *key)
{
	/* whom a server names as the owner, has nothing to do with what the server does */
	return place_of(key)->honest ? owner_of_user(key->owner)
				     : owner_of_user(UINT32_MAX) | (uint32_t)key->owner;
}
