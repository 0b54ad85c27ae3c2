// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/worker_starter.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child_limits.h"
#include "base/message.h"
#include "process/clock.h"

#define LATE_NS 1000000000	/* then it is given up */

/* a worker's ends: of its socket, and its area */
enum { SOCKET, AREA, NR_FDS };

/* ---- the starter's side ---- */

/* the tool's child, not ours: the tool waits for it */
static pid_t fork_for_tool(void)
{
	return syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

_Noreturn static void serve(void)
{
	struct worker_kind kind;
	int fds[NR_FDS];
	size_t nr = NR_FDS;

	for (; message_receive(STDIN_FILENO, &kind, sizeof(kind), fds, &nr) == sizeof(kind) && nr == NR_FDS; nr = NR_FDS) {
		void *area = mmap(NULL, kind.area_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[AREA], 0);
		struct worker_pids pids = { .of[PARSER] = -ENOMEM };

		if (area != MAP_FAILED) {
			pids = worker_child_start(fds[SOCKET], &kind, area, fork_for_tool);
			munmap(area, kind.area_bytes);
		}
		close(fds[SOCKET]);
		close(fds[AREA]);
		if (send(STDIN_FILENO, &pids, sizeof(pids), MSG_NOSIGNAL) < 0)
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
	sigprocmask(SIG_SETMASK, &all, NULL);	/* the terminal's are the tool's */
	if (!child_keep_only(&socket, 1))
		_exit(1);
	child_end_with(parent);
	serve();
}

/* ---- the tool's ---- */

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

int worker_starter_ask(struct worker_starter *starter, const struct worker_kind *kind, int socket, int area,
		       struct worker_pids *pids)
{
	const int fds[NR_FDS] = { [SOCKET] = socket, [AREA] = area };

	if (starter->owed)
		return -EAGAIN;
	if (!message_send(starter->fd, kind, sizeof(*kind), fds, NR_FDS, MSG_DONTWAIT))
		return -ECHILD;
	starter->owed = pids;
	starter->asked_ns = clock_ns();
	return 0;
}

static void pay(struct worker_starter *starter, const struct worker_pids *pids)
{
	for (int i = 0; starter->owed == &starter->nobodys && i < NR_WORKER_PROCESSES; i++)
		if (pids->of[i] > 0) {
			kill(pids->of[i], SIGKILL);
			waitpid(pids->of[i], NULL, 0);
		}
	*starter->owed = *pids;
	starter->owed = NULL;
}

int worker_starter_take(struct worker_starter *starter, int ms)
{
	struct pollfd answer = { .fd = starter->fd, .events = POLLIN };
	struct worker_pids pids;
	int answered;

	if (!starter->owed)
		return 0;
	do
		answered = poll(&answer, 1, ms);
	while (answered < 0 && errno == EINTR);
	if (!answered)
		return clock_ns() - starter->asked_ns < LATE_NS ? -EAGAIN : -ECHILD;
	if (recv(starter->fd, &pids, sizeof(pids), MSG_DONTWAIT) != sizeof(pids))
		return -ECHILD;
	pay(starter, &pids);
	return 0;
}

void worker_starter_cancel(struct worker_starter *starter, const struct worker_pids *pids)
{
	if (starter->owed == pids)
		starter->owed = &starter->nobodys;
}

void worker_starter_end(struct worker_starter *starter)
{
	if (!starter->pid)
		return;
	kill(starter->pid, SIGKILL);
	waitpid(starter->pid, NULL, 0);
	if (worker_starter_take(starter, 0))
		pay(starter, &(struct worker_pids){ .of[PARSER] = -ECHILD });
	close(starter->fd);
	*starter = (struct worker_starter){};
}
