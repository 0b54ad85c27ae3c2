// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mapfails N: N calls of bpf(2) of each kind that fails, on a hash "fails", and N that succeed,
 * each on a map "gone" that another thread closes meanwhile. Prints "ERRNO FD COUNT" for what
 * failed how, as errno said it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long bpf(int cmd, void *attr, size_t size)
{
	return syscall(SYS_bpf, cmd, attr, size);
}

static int create(enum bpf_map_type type, const char *name, int inner)
{
	union bpf_attr attr = { .map_type = type,
				.key_size = 4,
				.value_size = 4,
				.max_entries = 1,
				.inner_map_fd = inner };

	strcpy(attr.map_name, name);
	return bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

static atomic_bool returned;

/* does the main thread wait in bpf(2)? */
static bool waits(void)
{
	char path[64], number[16] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", getpid());
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, number, sizeof(number) - 1) < 0)
		abort();
	close(fd);
	return atoi(number) == SYS_bpf;
}

static void *close_it(void *arg)
{
	while (!waits() && !returned)
		usleep(100);
	close((intptr_t)arg);
	return NULL;
}

/*
 * a call that waits for a grace period, in which the map's fd is closed: the kernel holds the map
 */
static int close_meanwhile(int inner)
{
	uint32_t key = 0, value = inner;
	int fd = create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "gone", inner), error;
	union bpf_attr attr = { .map_fd = fd, .key = (uintptr_t)&key, .value = (uintptr_t)&value };
	pthread_t closer;

	returned = false;
	pthread_create(&closer, NULL, close_it, (void *)(intptr_t)fd);
	error = bpf(BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)) ? errno : 0;
	returned = true;
	pthread_join(closer, NULL);
	return error;
}

int main(int argc, char **argv)
{
	unsigned char long_attr[sizeof(union bpf_attr) + 64] = {};
	uint32_t key = 1, other = 2, value = 0;
	int nr = argc > 1 ? atoi(argv[1]) : 1, map = create(BPF_MAP_TYPE_HASH, "fails", 0),
	    file = open("/dev/null", O_RDONLY);
	union bpf_attr good = { .map_fd = map, .key = (uintptr_t)&key, .value = (uintptr_t)&value },
		       bad_fd = good, no_map = good, bad_flags = good, exists = good, full = good;
	const struct {
		const char *fd;
		void *attr;
		size_t size;
	} kinds[] = {
		{ "closed", &bad_fd, sizeof(good) },  { "file", &no_map, sizeof(good) },
		{ "map", &bad_flags, sizeof(good) },  { "map", &exists, sizeof(good) },
		{ "map", &full, sizeof(good) },       { "map", long_attr, sizeof(long_attr) },
		{ "unreadable", NULL, sizeof(good) },
	};

	if (map < 0 || file < 0 || bpf(BPF_MAP_UPDATE_ELEM, &good, sizeof(good)))
		return 1;
	bad_fd.map_fd = 9999;
	no_map.map_fd = file;
	bad_flags.flags = 1 << 20;
	exists.flags = BPF_NOEXIST;
	full.key = (uintptr_t)&other;
	memcpy(long_attr, &good, sizeof(good));
	/* the kernel does not know these */
	memset(long_attr + sizeof(good), 0xff, sizeof(long_attr) - sizeof(good));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (int j = 0; j < nr; j++) {
			if (!bpf(BPF_MAP_UPDATE_ELEM, kinds[i].attr, kinds[i].size))
				return 1;
		}
		printf("%s %s %d\n", strerrorname_np(errno), kinds[i].fd, nr);
	}
	for (int i = 0; i < nr; i++)
		if (close_meanwhile(map))
			return 1;
	return 0;
}
