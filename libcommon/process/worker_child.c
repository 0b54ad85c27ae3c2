// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/worker_child.h"

#include <seccomp.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child_limits.h"
#include "process/priority.h"

/*
 * Files can be read, and memory used: a file that takes over a parser has won what the tool may read, and
 * no way to do anything with it. `parent`: children may be started, too, which limit themselves, and ended.
 */
static void limit_system_calls(bool parent)
{
	static const int of_all[] = {
		CHILD_READS, __NR_process_vm_readv, __NR_recvfrom, __NR_sendto, __NR_brk, __NR_munmap, __NR_mremap, __NR_madvise, __NR_futex, __NR_getrandom,
		__NR_clock_gettime, __NR_getpid, __NR_gettid, __NR_sched_getaffinity, __NR_sched_yield, __NR_sysinfo,
		__NR_restart_syscall, __NR_rt_sigreturn, __NR_exit_group, -1
	};
	/* and of a child before it limits itself */
	static const int of_parent[] = {
		__NR_clone, __NR_wait4, __NR_kill, __NR_socketpair, __NR_setsockopt, __NR_set_robust_list, __NR_getppid,
		SCMP_SYS(dup2), __NR_dup3, __NR_close_range, CHILD_LIMITS_ITSELF, __NR_prlimit64, __NR_capget, __NR_capset, __NR_setresuid, __NR_setresgid,
		__NR_setgroups, __NR_setfsuid, __NR_setfsgid, __NR_rt_sigaction, __NR_rt_sigprocmask, __NR_setitimer,
		__NR_getpriority, __NR_setpriority, -1
	};

	child_limit_system_calls(of_all, parent ? of_parent : NULL);
}

_Noreturn void worker_child_run(int socket, const struct worker_kind *kind, void *area)
{
	const struct worker_limits *limits = &kind->limits;
	pid_t parent = getppid();
	uint64_t bytes;
	ssize_t got;

	prctl(PR_SET_NAME, "ehperf-worker");
	priority_leave();	/* who started it says when it goes first */
	child_set_signals();
	if (!child_keep_only(socket))
		_exit(1);
	child_limit_memory(limits->bytes);
	if (limits->writes)
		child_drop_rights();
	else
		child_limit_rights();
	child_end_with(parent);
	if (!limits->writes)
		limit_system_calls(limits->parent);
	while ((got = recv(0, &bytes, sizeof(bytes), 0)) == sizeof(bytes)) {
		bytes = kind->work(kind->arg, area, bytes, kind->area_bytes);
		if (send(0, &bytes, sizeof(bytes), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}
