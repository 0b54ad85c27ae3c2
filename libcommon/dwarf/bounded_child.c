// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/bounded_child.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child_limits.h"

#define END_MS 20 /* time for a killed child to end */

/* ---- in the child ---- */

/*
 * memory, the socket, the timer, what is open and the end: who takes over the child has won
 * nothing. `prepares`: files may be opened, too, and limits lowered
 */
static void limit_system_calls(bool prepares)
{
	static const int of_all[] = { __NR_recvfrom,   __NR_sendto,     __NR_setitimer,
				      __NR_brk,        __NR_munmap,     __NR_mremap,
				      __NR_madvise,    __NR_futex,      __NR_rt_sigreturn,
				      __NR_exit_group, __NR_pread64,    __NR_lseek,
				      __NR_fstat,      __NR_newfstatat, -1 };
	static const int of_preparing[] = { CHILD_READS,
					    SCMP_SYS(readlink),
					    __NR_getrandom,
					    __NR_sysinfo,
					    __NR_prlimit64,
					    CHILD_LIMITS_ITSELF,
					    -1 };

	child_limit_system_calls(of_all, prepares ? of_preparing : NULL);
}

static void arm_timer(unsigned ms)
{
	struct itimerval timer = { .it_value = { .tv_sec = ms / 1000,
						 .tv_usec = ms % 1000 * 1000 } };

	setitimer(ITIMER_PROF, &timer, NULL);
}

static void block_signals(void)
{
	sigset_t all;

	signal(SIGPROF, SIG_DFL);
	sigfillset(&all); /* Ctrl-C is the tool's */
	sigdelset(&all, SIGPROF);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

__attribute__((noreturn)) static void run_child(int fd, const struct bounded_work *work)
{
	static char request[BOUNDED_MAX_REQUEST + 1], reply[BOUNDED_MAX_REPLY];
	pid_t parent = getppid();
	ssize_t size;

	child_limit_memory(work->max_bytes);
	if (!child_keep_files(fd, work->files, work->nr_files))
		_exit(1);
	block_signals();
	child_limit_rights(CHILD_ALONE);
	child_end_with(parent);
	if (work->begin)
		work->begin();
	if (work->prepare) {
		limit_system_calls(true); /* before it sees a byte of the file */
		arm_timer(work->prepare_ms);
		work->prepare(work->arg);
		child_limit_memory(work->answers_bytes);
	}
	limit_system_calls(false);
	while ((size = recv(STDIN_FILENO, request, sizeof(request) - 1, 0)) > 0) {
		size_t answered;

		request[size] = 0;
		arm_timer(work->answer_ms);
		answered = work->answer(work->arg, request, size, reply, sizeof(reply));
		arm_timer(0);
		if (send(STDIN_FILENO, reply, answered, MSG_NOSIGNAL) < 0)
			_exit(1);
	}
	_exit(0);
}

/* ---- in the tool ---- */

/* One that a file system's server holds up, not even SIGKILL ends: it is looked after later. */
static pid_t unended[16];

static void reap(void)
{
	for (size_t i = 0; i < sizeof(unended) / sizeof(unended[0]); i++)
		if (unended[i] && waitpid(unended[i], NULL, WNOHANG))
			unended[i] = 0;
}

static void leave(pid_t pid)
{
	for (size_t i = 0; i < sizeof(unended) / sizeof(unended[0]); i++)
		if (!unended[i]) {
			unended[i] = pid;
			return;
		}
}

void bounded_child_stop(struct bounded_child *child)
{
	int ms = 0;

	if (!child->pid)
		return;
	close(child->fd);
	kill(child->pid, SIGKILL);
	reap();
	while (!waitpid(child->pid, NULL, WNOHANG) && ms++ < END_MS)
		usleep(1000);
	if (ms > END_MS)
		leave(child->pid);
	child->pid = 0;
}

void bounded_child_wait(const struct bounded_child *child, unsigned ms)
{
	/* 0 would be for ever */
	struct timeval timeout = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 + 1 };

	setsockopt(child->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
}

bool bounded_child_start(struct bounded_child *child, const struct bounded_work *work)
{
	int ends[2];

	if (child->pid)
		return true;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	child->fd = ends[0];
	bounded_child_wait(child, work->reply_ms);
	child->pid = fork();
	if (!child->pid)
		run_child(ends[1], work);
	close(ends[1]);
	if (child->pid > 0)
		return true;
	close(ends[0]);
	child->pid = 0;
	return false;
}

size_t bounded_child_ask(const struct bounded_child *child, const void *request, size_t size,
			 void *reply, size_t max)
{
	ssize_t got;

	/* nothing else is in its queue, or it does not read its requests */
	if (send(child->fd, request, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return 0;
	do
		got = recv(child->fd, reply, max, 0);
	while (got < 0 && errno == EINTR);
	return got > 0 ? got : 0;
}
