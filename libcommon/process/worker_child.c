// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/worker_child.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child_limits.h"

/*
 * memory, the socket, and the file that is passed on: who takes over a parser has won no more than
 * what it parses
 */
#define OF_ALL                                                                                  \
	__NR_recvmsg, __NR_sendto, __NR_close, __NR_read, __NR_pread64, __NR_readv, __NR_lseek, \
		__NR_fstat, __NR_newfstatat, __NR_fcntl, __NR_brk, __NR_munmap, __NR_mremap,    \
		__NR_madvise, __NR_futex, __NR_getrandom, __NR_clock_gettime, __NR_getpid,      \
		__NR_gettid, __NR_sched_getaffinity, __NR_sched_yield, __NR_sysinfo,            \
		__NR_restart_syscall, __NR_rt_sigreturn, __NR_exit_group

static void limit_system_calls(const struct worker_limits *limits)
{
	static const int of_all[] = { OF_ALL, -1 };
	/* An attacker who takes over such a worker can read, but cannot pass on what it reads. */
	static const int of_readers[] = { OF_ALL, CHILD_READS, __NR_process_vm_readv, -1 };
	static const int of_openers[] = { __NR_sendmsg, -1 };
	/* to start and end children, and what a child calls before it has limited itself */
	static const int of_parents[] = {
		__NR_clone,          __NR_wait4,       __NR_kill,
		__NR_socketpair,     __NR_setsockopt,  __NR_set_robust_list,
		__NR_getppid,        __NR_recvfrom,    SCMP_SYS(dup2),
		__NR_dup3,           __NR_close_range, CHILD_LIMITS_ITSELF,
		__NR_prlimit64,      __NR_capget,      __NR_capset,
		__NR_setresuid,      __NR_setresgid,   __NR_setgroups,
		__NR_setfsuid,       __NR_setfsgid,    __NR_rt_sigaction,
		__NR_rt_sigprocmask, __NR_setitimer,   -1
	};

	child_limit_system_calls(limits->open ? of_all : of_readers, limits->parent  ? of_parents
								     : limits->opens ? of_openers
										     : NULL);
}

/* what the job is about */
static void take_file(struct worker_file *kept, struct worker_file *file)
{
	if (file->fd == WORKER_KEPT)
		*file = *kept;
	else
		worker_file_close(kept);
}

static void leave_file(struct worker_file *kept, struct worker_file file)
{
	if (file.keep)
		*kept = file;
	else
		worker_file_close(&file);
}

/*
 * The kernel ends the worker if its priority is real-time, and the tool, which would end it, does
 * not get a CPU.
 */
static void limit_real_time(const struct worker_limits *limits)
{
	rlim_t most = limits->cpu_ms * 2000ULL;

	if (limits->first)
		setrlimit(RLIMIT_RTTIME, &(struct rlimit){ most, most });
}

static enum child_kind kind_of(const struct worker_limits *limits)
{
	if (!limits->open)
		return CHILD_READER;
	return limits->parent ? CHILD_ALONE : CHILD_PARSER;
}

static size_t own_bytes;

size_t worker_child_bytes(void)
{
	return own_bytes;
}

_Noreturn void worker_child_run(int socket, const struct worker_kind *kind, void *area)
{
	const struct worker_limits *limits = &kind->limits;
	struct worker_file kept = { .fd = -1 };
	struct worker_message message;
	int null = limits->writes ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
	const int none[] = { null, null };
	pid_t parent = getppid();

	prctl(PR_SET_NAME, limits->opens ? "ehperf-opener" : "ehperf-worker");
	child_set_signals();
	/* with standard output and error, or a message might end up in a file that it writes */
	if (!child_keep_files(socket, none, limits->writes ? 2 : 0))
		_exit(1);
	madvise(area, kind->area_bytes, MADV_DONTFORK); /* a child of its own must not see it */
	own_bytes = limits->bytes;
	child_limit_memory(own_bytes);
	limit_real_time(limits);
	if (limits->writes)
		child_limit_to_writing(limits->writes());
	else
		child_limit_rights(kind_of(limits));
	child_end_with(parent);
	if (!limits->writes)
		limit_system_calls(limits);
	while (!worker_message_receive(0, &message, limits->open, 0)) {
		if (limits->open)
			take_file(&kept, &message.file);
		message.bytes = kind->work(area, message.bytes, kind->area_bytes, &message.file);
		if (limits->open)
			leave_file(&kept, message.file);
		if (!limits->opens)
			message.file = (struct worker_file){ .fd = -EBADF };
		if (!worker_message_send(0, &message, 0))
			break;
		worker_file_close(&message.file);
	}
	_exit(0);
}
