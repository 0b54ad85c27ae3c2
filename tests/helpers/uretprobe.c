// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * uretprobe FILE OFFSET...: has uretprobes on the functions at these offsets in the file, in every
 * process, until it is killed: the kernel puts an address of its own in place of their return
 * addresses.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int uprobe_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type;

	if (!file || fscanf(file, "%d", &type) != 1)
		return -1;
	fclose(file);
	return type;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = uprobe_type(),
					.config = 1 /* retprobe */,
					.sample_period = 1 };

	for (int i = 2; i < argc; i++) {
		attr.uprobe_path = (uintptr_t)argv[1];
		attr.probe_offset = strtoull(argv[i], NULL, 0);
		if (syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC) < 0) {
			perror("perf_event_open");
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
