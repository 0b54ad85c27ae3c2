// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/opening.h"

static bool confined;

/* 0 or -ENOENT */
static int identify(int found, struct file_key *key, mode_t *mode)
{
	struct statx st;

	if (statx(found, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS | STATX_MNT_ID, &st) || !S_ISREG(st.stx_mode))
		return -ENOENT;
	*key = (struct file_key){
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.inode = st.stx_ino,
		.mtime_s = st.stx_mtime.tv_sec,
		.mtime_ns = st.stx_mtime.tv_nsec,
		.owner = st.stx_uid,
		.bytes = st.stx_size,
		.mount = st.stx_mnt_id,
	};
	*mode = st.stx_mode;
	return 0;
}

static int find(int root, const char *path, bool follow, struct file_key *key, mode_t *mode)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW),
		.resolve = root >= 0 ? RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS : 0,
	};
	int found = syscall(SYS_openat2, root >= 0 ? root : AT_FDCWD, path, &how, sizeof(how)), error;

	if (found < 0)
		return -errno;
	error = identify(found, key, mode);
	if (!error)
		return found;
	close(found);
	return error;
}

/* of compilers and debuginfod */
static bool is_name_of_debug_file(const char *path)
{
	static const char *const ends[] = { ".debug", ".dwo", ".dwp", "/debuginfo" };
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (length > strlen(ends[i]) && !strcmp(path + length - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

int regular_file_find(int root, const char *path, bool follow, struct file_key *key)
{
	mode_t mode;
	int found = find(root, path, follow, key, &mode);

	if (found < 0 || !confined || (key->bytes && mode & (S_IROTH | S_IXUSR | S_IXGRP | S_IXOTH)))
		return found;
	close(found);
	return key->bytes && is_name_of_debug_file(path) ? find(root, path, false, key, &mode) : -EACCES;
}

int regular_file_find_mapped(pid_t tid, uint64_t start, uint64_t end, struct file_key *key)
{
	char link[64];
	mode_t mode;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, tid, start, end);
	return find(-1, link, true, key, &mode);
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
	struct opening opening = { .kind = OPEN_REGULAR, .follow = follow };
	struct opened opened;
	struct file_key key;
	int found;

	if (opening_is_asked())
		return opening_set_path(&opening, path) ?: opening_ask(&opening, root, &opened);
	found = regular_file_find(root, path, follow, &key);
	return found < 0 ? found : regular_file_open_found(found);
}

int regular_file_open_perf_map(int root, pid_t pid)
{
	const struct opening opening = { .kind = OPEN_PERF_MAP, .pid = pid };
	struct opened opened;
	struct file_key key;
	char path[32];
	mode_t mode;
	int found;

	if (opening_is_asked())
		return opening_ask(&opening, root, &opened);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	found = find(root, path, false, &key, &mode);
	return found < 0 ? found : regular_file_open_found(found);
}

void regular_file_confine(void)
{
	confined = true;
}

bool regular_file_is_believed(int fd, uid_t owner)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_mode & S_IWOTH)
		return false;
	/* the tool's user, whatever ID a worker has taken since */
	return !st.st_uid || st.st_uid == owner || st.st_uid == getauxval(AT_EUID);
}
