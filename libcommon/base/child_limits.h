/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits that a child process gives itself before it touches what others have made: whatever takes over the
 * child has won nothing, and whatever it makes of the child costs no more than this.
 */
#ifndef EHPERF_BASE_CHILD_LIMITS_H
#define EHPERF_BASE_CHILD_LIMITS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* So much more memory than it has now, no more than it might have before, and no core dump; ends the child if that cannot be had. */
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
	if (nr < 6 || getrlimit(RLIMIT_DATA, &limit))
		_exit(1);
	if (pages[5] * sysconf(_SC_PAGESIZE) + bytes < limit.rlim_max)
		limit.rlim_max = pages[5] * sysconf(_SC_PAGESIZE) + bytes;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_DATA, &limit))
		_exit(1);
	limit.rlim_cur = limit.rlim_max = 0;
	setrlimit(RLIMIT_CORE, &limit);
}

/*
 * The rights to read what may be read, and none else: an ID that only the tool's children have, which owns no file, and the
 * capabilities to read all files and all processes' memory. Without the right to change IDs, capabilities alone are given up.
 */
static inline void child_limit_rights(void)
{
	static const int kept[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE };
	const unsigned nobody_else = 0x70000000 + (getppid() & 0xffffff);	/* of this tool's alone */
	struct rlimit few = { 64, 64 };
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct has[2], wanted[2] = {};

	if (syscall(__NR_capget, &header, has))
		return;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		wanted[kept[i] / 32].permitted |= 1U << kept[i] % 32 & has[kept[i] / 32].permitted;
	for (int i = 0; i < 2; i++)
		wanted[i].effective = wanted[i].permitted;
	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	syscall(__NR_setgroups, 0, NULL);
	setrlimit(RLIMIT_NPROC, &few);
	/*
	 * Where IDs cannot be changed, as in a user namespace that has not this one, or the tool could not end its child then,
	 * files are read as nobody's at least.
	 */
	if (!(has[0].permitted & 1U << CAP_KILL) || syscall(__NR_setresgid, nobody_else, nobody_else, nobody_else) ||
	    syscall(__NR_setresuid, nobody_else, nobody_else, nobody_else)) {
		setfsgid(65534);
		setfsuid(65534);
	}
	syscall(__NR_capset, &header, wanted);
}

/* No rights at all: what is open by now is all there is. */
static inline void child_drop_rights(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = {};

	syscall(__NR_capset, &header, none);
}

/* It ends with its parent. To be called last: what changes rights takes it back. */
static inline void child_end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

/* system calls that opening and reading files takes */
#define CHILD_READS __NR_openat, __NR_openat2, __NR_close, __NR_read, __NR_pread64, __NR_readv, __NR_lseek, __NR_fstat, \
	__NR_fstatfs, __NR_newfstatat, __NR_statx, __NR_getdents64, __NR_readlinkat, __NR_fcntl

#define CHILD_LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define CHILD_IF(test, value, yes, no) BPF_JUMP(BPF_JMP | (test) | BPF_K, value, yes, no)
#define CHILD_RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)

/*
 * No system calls but these, 200 at most, memory that is neither code nor a file's to be written, and files to read: others fail
 * with EPERM. (What openat2() asks for, a filter cannot see: an empty file could be made by it, and one emptied that everybody may
 * write.) Those of another architecture, whose numbers mean other calls, end the child. A kernel without seccomp leaves the other
 * limits.
 */
static inline void child_limit_system_calls(const int *allowed, size_t nr)
{
	static const struct sock_filter head[] = {
		CHILD_LOAD(arch),
		CHILD_IF(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
		CHILD_RETURN(SECCOMP_RET_KILL_PROCESS),
		CHILD_LOAD(nr),
		CHILD_IF(BPF_JEQ, __NR_mmap, 0, 7),
		CHILD_LOAD(args[2]),
		CHILD_IF(BPF_JSET, PROT_EXEC, 4, 0),
		CHILD_IF(BPF_JSET, PROT_WRITE, 0, 2),
		CHILD_LOAD(args[3]),
		CHILD_IF(BPF_JSET, MAP_SHARED, 1, 0),
		CHILD_RETURN(SECCOMP_RET_ALLOW),
		CHILD_RETURN(SECCOMP_RET_ERRNO | EPERM),
		CHILD_IF(BPF_JEQ, __NR_mprotect, 0, 4),
		CHILD_LOAD(args[2]),
		CHILD_IF(BPF_JSET, PROT_EXEC | PROT_WRITE, 1, 0),
		CHILD_RETURN(SECCOMP_RET_ALLOW),
		CHILD_RETURN(SECCOMP_RET_ERRNO | EPERM),
		CHILD_IF(BPF_JEQ, __NR_openat, 0, 3),
		CHILD_LOAD(args[2]),
		CHILD_IF(BPF_JSET, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1),
		CHILD_RETURN(SECCOMP_RET_ERRNO | EPERM),
		CHILD_LOAD(nr),
	};
	struct sock_filter code[sizeof(head) / sizeof(head[0]) + nr + 2], *c = code;
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	memcpy(code, head, sizeof(head));
	c += sizeof(head) / sizeof(head[0]);
	for (size_t i = 0; i < nr; i++)
		*c++ = (struct sock_filter)CHILD_IF(BPF_JEQ, (unsigned)allowed[i], (unsigned char)(nr - i), 0);
	*c++ = (struct sock_filter)CHILD_RETURN(SECCOMP_RET_ERRNO | EPERM);
	*c++ = (struct sock_filter)CHILD_RETURN(SECCOMP_RET_ALLOW);
	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif
