// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/worker_starter.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child_limits.h"
#include "base/clock.h"

/*
 * a starter that does not answer for so long is given up, unless it waits for a CPU; so is one that
 * was stopped for so long
 */
#define LATE_NS    1000000000
#define STOPPED_NS 100000000

/* what a worker gets: its end of the socket, and its area */
enum { SOCKET, AREA, NR_FDS };

union control {
	char bytes[CMSG_SPACE(NR_FDS * sizeof(int))];
	struct cmsghdr header;
};

/* ---- the starter's side ---- */

/* False: the tool has gone. */
static bool receive(struct worker_kind *kind, int fds[NR_FDS])
{
	union control control;
	struct iovec data = { kind, sizeof(*kind) };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header;

	if (recvmsg(0, &message, MSG_CMSG_CLOEXEC) != sizeof(*kind))
		return false;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_len != CMSG_LEN(NR_FDS * sizeof(int)))
		return false;
	memcpy(fds, CMSG_DATA(header), NR_FDS * sizeof(int));
	return true;
}

_Noreturn static void serve(void)
{
	struct worker_kind kind;
	int fds[NR_FDS];

	while (receive(&kind, fds)) {
		void *area = mmap(NULL, kind.area_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				  fds[AREA], 0);
		/* CLONE_PARENT: a child of the tool, which waits for it */
		pid_t pid = area == MAP_FAILED
				    ? -ENOMEM
				    : syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

		if (!pid)
			worker_child_run(fds[SOCKET], &kind, area);
		if (pid == -1)
			pid = -errno;
		if (area != MAP_FAILED)
			munmap(area, kind.area_bytes);
		close(fds[SOCKET]);
		close(fds[AREA]);
		if (send(0, &pid, sizeof(pid), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

_Noreturn static void run(int socket)
{
	pid_t parent = getppid();
	sigset_t all;

	prctl(PR_SET_NAME, "ehperf-starter");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL); /* signals of the terminal are for the tool */
	if (!child_keep_only(socket))
		_exit(1);
	child_end_with(parent);
	serve();
}

/* ---- the tool's side ---- */

int worker_starter_begin(struct worker_starter *starter)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	*starter = (struct worker_starter){ .pid = fork(), .fd = ends[0] };
	if (!starter->pid)
		run(ends[1]);
	close(ends[1]);
	if (starter->pid > 0)
		return 0;
	close(ends[0]);
	starter->pid = 0;
	return -EAGAIN;
}

int worker_starter_ask(struct worker_starter *starter, const struct worker_kind *kind, int socket,
		       int area, pid_t *pid)
{
	union control control = { .header = { .cmsg_len = CMSG_LEN(NR_FDS * sizeof(int)),
					      .cmsg_level = SOL_SOCKET,
					      .cmsg_type = SCM_RIGHTS } };
	struct iovec data = { (void *)kind, sizeof(*kind) };
	const struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	if (starter->awaited)
		return -EAGAIN;
	priority_watch(&starter->priority, starter->pid, 0); /* it takes little CPU time */
	memcpy(CMSG_DATA(&control.header), (int[]){ [SOCKET] = socket, [AREA] = area },
	       NR_FDS * sizeof(int));
	if (sendmsg(starter->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(*kind))
		return -ECHILD;
	starter->awaited = pid;
	starter->asked_ns = clock_ns();
	return 0;
}

static void set_awaited(struct worker_starter *starter, pid_t pid)
{
	if (starter->awaited == &starter->unwanted && pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	*starter->awaited = pid;
	starter->awaited = NULL;
}

char worker_state(pid_t pid)
{
	char name[32], text[512] = "", *state;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	file = fopen(name, "re");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	state = strrchr(text, ')');
	return state && state[1] == ' ' ? state[2] : 0;
}

static bool is_late(const struct worker_starter *starter)
{
	uint64_t waited = clock_ns() - starter->asked_ns;
	char state = waited < STOPPED_NS ? 'R' : worker_state(starter->pid);

	return state == 'T' || (waited >= LATE_NS && state != 'R');
}

int worker_starter_take(struct worker_starter *starter, int ms)
{
	struct pollfd answer = { .fd = starter->fd, .events = POLLIN };
	pid_t pid;
	int answered;

	if (!starter->awaited)
		return 0;
	do
		answered = poll(&answer, 1, ms);
	while (answered < 0 && errno == EINTR);
	if (!answered)
		return is_late(starter) ? -ECHILD : -EAGAIN;
	if (recv(starter->fd, &pid, sizeof(pid), MSG_DONTWAIT) != sizeof(pid))
		return -ECHILD;
	set_awaited(starter, pid);
	return 0;
}

void worker_starter_cancel(struct worker_starter *starter, const pid_t *pid)
{
	if (starter->awaited == pid)
		starter->awaited = &starter->unwanted;
}

void worker_starter_end(struct worker_starter *starter)
{
	if (!starter->pid)
		return;
	kill(starter->pid, SIGKILL);
	waitpid(starter->pid, NULL, 0);
	if (worker_starter_take(starter, 0))
		set_awaited(starter, -ECHILD);
	close(starter->fd);
	*starter = (struct worker_starter){};
}
