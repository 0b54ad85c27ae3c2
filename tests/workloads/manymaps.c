// SPDX-License-Identifier: GPL-2.0-or-later
/* manymaps N: makes N maps, one after the other, and one update of each. */
#define _GNU_SOURCE
#include <linux/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--) {
		union bpf_attr make = { .map_type = BPF_MAP_TYPE_ARRAY,
					.key_size = 4,
					.value_size = 4,
					.max_entries = 1,
					.map_name = "many" };
		int fd = syscall(SYS_bpf, BPF_MAP_CREATE, &make, sizeof(make));
		uint32_t key = 0, value = i;
		union bpf_attr update = { .map_fd = fd,
					  .key = (uintptr_t)&key,
					  .value = (uintptr_t)&value };

		if (fd < 0 || syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &update, sizeof(update)))
			return 1;
		close(fd);
	}
	return 0;
}
