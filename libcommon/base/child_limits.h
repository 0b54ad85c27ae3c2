/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits that a child process gives itself before it touches what others have made: whatever takes over the
 * child has won nothing, and whatever it makes of the child costs no more than this.
 */
#ifndef EHPERF_BASE_CHILD_LIMITS_H
#define EHPERF_BASE_CHILD_LIMITS_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

/*
 * No typing into the terminal that it shares with its parent: TIOCSTI, and TIOCLINUX, which pastes, fail with EPERM. Kernels
 * before 6.2 let every process do so. What it starts is limited, too; needs CAP_SYS_ADMIN, and does nothing without.
 */
static inline void child_limit_typing(void)
{
	const unsigned request = offsetof(struct seccomp_data, args[1]);	/* its lower half, which the kernel looks at */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 2, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 54, 3, 6),				/* i386's ioctl() */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_ioctl, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x40000000 + 514, 0, 3),		/* x32's */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, request),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCLINUX, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif
