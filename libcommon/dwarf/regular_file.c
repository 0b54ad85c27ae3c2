// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MAX_TRIES 16

/* 0 or -ENOENT */
static int identify(int found, struct file_key *key)
{
	struct statx st;

	if (statx(found, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		  STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID, &st) ||
	    !S_ISREG(st.stx_mode))
		return -ENOENT;
	*key = (struct file_key){
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.inode = st.stx_ino,
		.mtime_s = st.stx_mtime.tv_sec,
		.mtime_ns = st.stx_mtime.tv_nsec,
		.born_s = st.stx_btime.tv_sec,
		.born_ns = st.stx_btime.tv_nsec,
		.bytes = st.stx_size,
		.changed_s = st.stx_ctime.tv_sec,
		.changed_ns = st.stx_ctime.tv_nsec,
		.owner = st.stx_uid,
		.mount = st.stx_mnt_id,
	};
	return 0;
}

static int find(int directory, const char *path, struct open_how how, struct file_key *key)
{
	int found, tries = 0, error;

	/*
	 * EAGAIN: something was renamed or mounted meanwhile, and the kernel could not be sure of a
	 * ".."
	 */
	do
		found = syscall(SYS_openat2, directory >= 0 ? directory : AT_FDCWD, path, &how,
				sizeof(how));
	while (found < 0 && errno == EAGAIN && tries++ < MAX_TRIES);
	if (found < 0)
		return -errno;
	error = identify(found, key);
	if (!error)
		return found;
	close(found);
	return error;
}

int regular_file_find(int root, const char *path, bool follow, struct file_key *key)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW),
		.resolve = root >= 0 ? RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS : 0,
	};

	return find(root, path, how, key);
}

int regular_file_open_found(int found)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		fd = -errno;
	close(found);
	return fd;
}

int regular_file_open(int root, const char *path, bool follow)
{
	struct file_key key;
	int found = regular_file_find(root, path, follow, &key);

	return found < 0 ? found : regular_file_open_found(found);
}

int regular_file_open_within(int directory, const char *path, uint64_t resolve)
{
	struct file_key key;
	int found =
		find(directory, path,
		     (struct open_how){ .flags = O_PATH | O_CLOEXEC, .resolve = resolve }, &key);

	return found < 0 ? found : regular_file_open_found(found);
}

bool regular_file_is_believed(int fd, uid_t owner)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_mode & S_IWOTH ||
	    (!(st.st_mode & S_IROTH) && st.st_uid != owner))
		return false;
	/* the tool's user, whatever ID a worker has taken since */
	return !st.st_uid || st.st_uid == owner || st.st_uid == getauxval(AT_EUID);
}
