// SPDX-License-Identifier: GPL-2.0-or-later
/* busy-bpf SECONDS: spends nearly all of its time inside bpf(2), reading a large map value. */
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char value[1 << 20];

static long bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

int main(int argc, char **argv)
{
	union bpf_attr create = {
		.map_type = BPF_MAP_TYPE_HASH,
		.key_size = 4,
		.value_size = sizeof(value),
		.max_entries = 1,
	};
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	unsigned key = 0;
	long fd = bpf(BPF_MAP_CREATE, &create);
	union bpf_attr update;

	if (fd < 0) {
		perror("busy-bpf");
		return 1;
	}
	memset(&update, 0, sizeof(update));
	update.map_fd = fd;
	update.key = (unsigned long)&key;
	update.value = (unsigned long)value;
	puts("ready");
	fflush(stdout);
	while (time(NULL) < end)
		if (bpf(BPF_MAP_UPDATE_ELEM, &update))
			return 1;
	return 0;
}
