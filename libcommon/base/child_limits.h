/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits that a child process gives itself before it touches what others have made: whatever takes over the
 * child has won nothing, and whatever it makes of the child costs no more than this.
 */
#ifndef EHPERF_BASE_CHILD_LIMITS_H
#define EHPERF_BASE_CHILD_LIMITS_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* So much more memory than it has now, and no core dump; ends the child if that cannot be had. */
static inline void child_limit_memory(size_t bytes)
{
	unsigned long pages[6] = {};	/* proc_pid_statm(5): size, resident, shared, text, lib, data */
	FILE *statm = fopen("/proc/self/statm", "re");
	struct rlimit limit = {};
	int nr = 0;

	if (statm) {
		nr = fscanf(statm, "%lu %lu %lu %lu %lu %lu", &pages[0], &pages[1], &pages[2], &pages[3], &pages[4],
			    &pages[5]);
		fclose(statm);
	}
	if (nr < 6)
		_exit(1);
	limit.rlim_cur = limit.rlim_max = pages[5] * sysconf(_SC_PAGESIZE) + bytes;
	if (setrlimit(RLIMIT_DATA, &limit))
		_exit(1);
	limit.rlim_cur = limit.rlim_max = 0;
	setrlimit(RLIMIT_CORE, &limit);
}

/*
 * No system calls but these, 250 at most: the others fail with EPERM. A kernel without seccomp leaves the
 * other limits.
 */
static inline void child_limit_system_calls(const int *allowed, size_t nr)
{
	struct sock_filter code[nr + 3], *c = code;
	struct sock_fprog program = { .len = nr + 3, .filter = code };

	*c++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < nr; i++)
		*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], (unsigned char)(nr - i), 0);
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif
