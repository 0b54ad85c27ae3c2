// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/worker_child.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child_limits.h"
#include "process/priority.h"

#define NOBODY 65534

/*
 * Files are read with the rights of nobody in particular, but all may be read: uid 0 by itself, without
 * capabilities, may write whatever root owns.
 */
static void limit_rights(void)
{
	static const int kept[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE };
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct has[2], wanted[2] = {};

	if (syscall(__NR_capget, &header, has))
		return;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		wanted[kept[i] / 32].permitted |= 1U << kept[i] % 32 & has[kept[i] / 32].permitted;
	for (int i = 0; i < 2; i++)
		wanted[i].effective = wanted[i].permitted;
	setfsgid(NOBODY);
	setfsuid(NOBODY);
	syscall(__NR_capset, &header, wanted);
}

/*
 * Files can be read, and memory used: a file that takes over a parser has won what the tool may read, and
 * no way to do anything with it.
 */
static void limit_system_calls(void)
{
	static const int allowed[] = {
		__NR_openat, __NR_openat2, __NR_close, __NR_read, __NR_pread64, __NR_readv, __NR_lseek, __NR_fstat, __NR_newfstatat,
		__NR_statx, __NR_getdents64, __NR_readlinkat, __NR_fcntl, __NR_process_vm_readv, __NR_recvfrom, __NR_sendto,
		__NR_brk, __NR_mmap, __NR_munmap, __NR_mremap, __NR_mprotect, __NR_madvise, __NR_futex, __NR_getrandom,
		__NR_clock_gettime, __NR_getpid, __NR_gettid, __NR_sched_getaffinity, __NR_sched_yield, __NR_sysinfo,
		__NR_restart_syscall, __NR_rt_sigreturn, __NR_exit_group,
	};

	child_limit_system_calls(allowed, sizeof(allowed) / sizeof(allowed[0]));
}

/* Signals of the terminal are the tool's; one that says that something went wrong ends the worker. */
static void set_signals(void)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		signal(fatal[i], SIG_DFL);
		sigdelset(&all, fatal[i]);
	}
	sigprocmask(SIG_SETMASK, &all, NULL);
}

_Noreturn void worker_child_run(int socket, const struct worker_limits *limits, worker_fn *work, void *arg,
				void *area, size_t room)
{
	uint64_t bytes;
	ssize_t got;

	prctl(PR_SET_NAME, "ehperf-worker");
	if (!limits->first)
		priority_leave();
	set_signals();
	/* the tool's events and links must not outlive the tool in here */
	if (dup2(socket, 0) < 0 || syscall(__NR_close_range, 1, ~0U, 0))
		_exit(1);
	child_limit_memory(limits->bytes);
	if (!limits->free)
		limit_rights();
	prctl(PR_SET_PDEATHSIG, SIGKILL);	/* which other rights have reset */
	if (!limits->free && !limits->parent)
		limit_system_calls();
	while ((got = recv(0, &bytes, sizeof(bytes), 0)) == sizeof(bytes)) {
		bytes = work(arg, area, bytes, room);
		if (send(0, &bytes, sizeof(bytes), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}
