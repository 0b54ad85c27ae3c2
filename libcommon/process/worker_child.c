// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/worker_child.h"

#include <errno.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child_limits.h"
#include "base/opening.h"
#include "process/opener.h"
#include "process/priority.h"
#include "process/process_memory.h"

/* a worker's files */
enum { TO_TOOL, TO_OPENER };

/*
 * What is open can be read, and memory used: a file that takes over a parser has won what the opener passes, and
 * no way to do anything with it. `parent`: children may be started, too, which limit themselves, and ended.
 */
static void limit_system_calls(bool parent)
{
	static const int of_all[] = {
		CHILD_READS, __NR_recvfrom, __NR_sendto, __NR_brk, __NR_munmap, __NR_mremap, __NR_madvise, __NR_futex, __NR_getrandom,
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

_Noreturn static void run(const int *fds, int nr_fds, const struct worker_kind *kind, void *area)
{
	const struct worker_limits *limits = &kind->limits;
	pid_t parent = getppid();
	uint64_t bytes;
	ssize_t got;

	prctl(PR_SET_NAME, "ehperf-worker");
	priority_leave();	/* who started it says when it goes first */
	child_set_signals();
	if (!child_keep_only(fds, nr_fds))
		_exit(1);
	child_limit_memory(child_memory(0), limits->bytes);
	if (!limits->writes) {
		child_limit_rights();
		opening_by(TO_OPENER);
	}
	child_drop_rights();
	child_end_with(parent);
	if (!limits->writes)
		limit_system_calls(limits->parent);
	while ((got = recv(TO_TOOL, &bytes, sizeof(bytes), 0)) == sizeof(bytes)) {
		bytes = kind->work(kind->arg, area, bytes, kind->area_bytes);
		process_memory_close();
		if (send(TO_TOOL, &bytes, sizeof(bytes), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

struct worker_pids worker_child_start(int socket, const struct worker_kind *kind, void *area, pid_t (*fork)(void))
{
	struct worker_pids pids = {};
	int ends[2] = { -1, -1 }, fds[] = { [TO_TOOL] = socket, [TO_OPENER] = -1 };

	if (!kind->limits.writes) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
			return (struct worker_pids){ .of[PARSER] = -errno };
		fds[TO_OPENER] = ends[0];
		pids.of[OPENER] = fork();
		if (!pids.of[OPENER])
			opener_run(ends[1]);
	}
	pids.of[PARSER] = pids.of[OPENER] < 0 ? -1 : fork();
	if (!pids.of[PARSER])
		run(fds, kind->limits.writes ? 1 : 2, kind, area);
	if (pids.of[PARSER] < 0)
		pids.of[PARSER] = -EAGAIN;	/* an opener without a parser ends */
	if (!kind->limits.writes) {
		close(ends[0]);
		close(ends[1]);
	}
	return pids;
}
