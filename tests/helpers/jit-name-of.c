// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jit-name-of PID: sees the process, waits for a line on stdin (by which time the process may be
 * gone), then prints "ADDRESS START NAME" for each hexadecimal address that follows: "ADDRESS -
 * WHY" for those without a name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtimes/jit/jit_processes.h"

static int update(struct jit_processes *processes, pid_t pid)
{
	struct jit_opened opened;
	int error;

	jit_files_open(&opened, pid, jit_processes_want_dump(processes, pid));
	error = jit_processes_update(processes, pid, &opened);
	jit_opened_close(&opened);
	return error;
}

int main(int argc, char **argv)
{
	static const char *const why[] = { "", "not_in_files", "no_files", "not_seen" };
	struct jit_processes *processes = jit_processes_new(256 << 20);
	pid_t pid = argc == 2 ? atoi(argv[1]) : 0;
	uint64_t addr, start;
	const char *name;
	char line[64];

	if (!processes || !pid)
		return 2;
	update(processes, pid);
	puts("seen");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin) || update(processes, pid))
		return 1;
	while (scanf("%" SCNx64, &addr) == 1) {
		enum jit_found found =
			jit_processes_find(processes, pid, addr, UINT64_MAX, &name, &start);

		if (found == JIT_FOUND)
			printf("%" PRIx64 " %" PRIx64 " %s\n", addr, start, name);
		else
			printf("%" PRIx64 " - %s\n", addr, why[found]);
	}
	jit_processes_free(processes);
	return 0;
}
