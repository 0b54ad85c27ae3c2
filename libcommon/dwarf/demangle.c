// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/demangle.h"

#include <errno.h>
#include <libiberty/demangle.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* a request is a name; a reply is one of these and, behind DEMANGLED, the name without NUL */
enum reply { DEMANGLED = 'd', AS_IT_IS = 'a', TOO_LONG = 'l' };

/* for a child that does not get the CPU at all */
#define REPLY_TIMEOUT_S 2

static struct {
	pthread_mutex_t lock;
	pid_t pid;		/* 0: none */
	int fd;
	unsigned overruns;
	uint64_t refused;
} child = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- in the child ---- */

static void limit_memory(void)
{
	unsigned long pages[6] = {};	/* proc_pid_statm(5): size, resident, shared, text, lib, data */
	FILE *statm = fopen("/proc/self/statm", "r");
	struct rlimit limit = {};
	int nr = 0;

	if (statm) {
		nr = fscanf(statm, "%lu %lu %lu %lu %lu %lu", &pages[0], &pages[1], &pages[2], &pages[3], &pages[4], &pages[5]);
		fclose(statm);
	}
	if (nr < 6)
		_exit(1);
	limit.rlim_cur = limit.rlim_max = pages[5] * sysconf(_SC_PAGESIZE) + DEMANGLE_MAX_BYTES;
	if (setrlimit(RLIMIT_DATA, &limit))
		_exit(1);
	limit.rlim_cur = limit.rlim_max = 0;
	setrlimit(RLIMIT_CORE, &limit);
}

/* memory, the socket, the timer and the end: a name that takes over the demangler has won nothing */
static void limit_system_calls(void)
{
	static const int allowed[] = {
		__NR_recvfrom, __NR_sendto, __NR_setitimer, __NR_brk, __NR_mmap, __NR_munmap, __NR_mremap, __NR_madvise,
		__NR_futex, __NR_rt_sigreturn, __NR_exit_group,
	};
	struct sock_filter code[3 + sizeof(allowed) / sizeof(allowed[0])], *c = code;
	struct sock_fprog program = { .filter = code };
	size_t left = sizeof(allowed) / sizeof(allowed[0]);

	*c++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; left; i++, left--)
		*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], left, 0);
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = c - code;
	/* a kernel without it leaves the other limits */
	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void arm_timer(unsigned ms)
{
	struct itimerval timer = { .it_value.tv_usec = ms * 1000 };

	setitimer(ITIMER_PROF, &timer, NULL);
}

static char *call_libiberty(const char *mangled)
{
	return cplus_demangle(mangled, mangled[1] == 'D' ? DMGL_DLANG : DMGL_AUTO);
}

static void answer(const char *mangled)
{
	char reply[1 + DEMANGLE_MAX_NAME] = { AS_IT_IS }, *name;
	size_t length = 0;

	arm_timer(DEMANGLE_CPU_MS);
	name = call_libiberty(mangled);
	arm_timer(0);
	if (name) {
		length = strnlen(name, DEMANGLE_MAX_NAME);
		reply[0] = length < DEMANGLE_MAX_NAME ? DEMANGLED : TOO_LONG;
		length = reply[0] == DEMANGLED ? length : 0;
		memcpy(reply + 1, name, length);
		free(name);
	}
	if (send(0, reply, 1 + length, MSG_NOSIGNAL) < 0)
		_exit(1);
}

/* fd becomes its only file: the tool's events and links must not outlive the tool in here */
__attribute__((noreturn)) static void run_child(int fd)
{
	static char mangled[DEMANGLE_MAX_MANGLED + 1];
	sigset_t all;
	ssize_t size;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	limit_memory();
	if (dup2(fd, 0) < 0 || syscall(__NR_close_range, 1, ~0U, 0))
		_exit(1);
	signal(SIGPROF, SIG_DFL);
	sigfillset(&all);	/* Ctrl-C is the tool's */
	sigdelset(&all, SIGPROF);
	sigprocmask(SIG_SETMASK, &all, NULL);
	limit_system_calls();
	while ((size = recv(0, mangled, sizeof(mangled) - 1, 0)) > 0) {
		mangled[size] = 0;
		answer(mangled);
	}
	_exit(0);
}

/* ---- in the tool ---- */

static void stop(void)
{
	if (!child.pid)
		return;
	close(child.fd);
	kill(child.pid, SIGKILL);
	while (waitpid(child.pid, NULL, 0) < 0 && errno == EINTR)
		;
	child.pid = 0;
}

static bool start(void)
{
	struct timeval timeout = { .tv_sec = REPLY_TIMEOUT_S };
	int ends[2];

	if (child.pid)
		return true;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	child.pid = fork();
	if (!child.pid)
		run_child(ends[1]);
	close(ends[1]);
	child.fd = ends[0];
	if (child.pid > 0)
		return true;
	close(ends[0]);
	child.pid = 0;
	return false;
}

/* the reply's bytes; 0: the child is gone, or hangs */
static size_t ask(const char *mangled, size_t length, char *reply, size_t max)
{
	ssize_t got;

	if (send(child.fd, mangled, length, MSG_NOSIGNAL) < 0)
		return 0;
	do
		got = recv(child.fd, reply, max, 0);
	while (got < 0 && errno == EINTR);
	return got > 0 ? got : 0;
}

static char *ask_or_give_up(const char *mangled, size_t length)
{
	char reply[1 + DEMANGLE_MAX_NAME];
	size_t got = ask(mangled, length, reply, sizeof(reply));

	if (!got) {
		child.overruns++;
		stop();
	}
	if (!got || reply[0] == TOO_LONG)
		child.refused++;
	return got && reply[0] == DEMANGLED ? strndup(reply + 1, got - 1) : NULL;
}

/* what the demanglers start with: _Z (C++, Rust), _R (Rust v0), _D and a number (D), _GLOBAL__ (of C++) */
static bool looks_mangled(const char *name)
{
	if (name[0] != '_')
		return false;
	return name[1] == 'Z' || name[1] == 'R' || (name[1] == 'D' && name[2] >= '0' && name[2] <= '9') ||
	       !strncmp(name, "_GLOBAL_", 8);
}

char *demangle(const char *mangled)
{
	char *name = NULL;
	size_t length;

	if (!looks_mangled(mangled))
		return NULL;
	length = strnlen(mangled, DEMANGLE_MAX_MANGLED + 1);
	pthread_mutex_lock(&child.lock);
	if (length > DEMANGLE_MAX_MANGLED || (child.overruns >= DEMANGLE_MAX_OVERRUNS && length > DEMANGLE_SHORT))
		child.refused++;
	else if (start())
		name = ask_or_give_up(mangled, length);
	pthread_mutex_unlock(&child.lock);
	return name;
}

uint64_t demangle_refused(void)
{
	uint64_t refused;

	pthread_mutex_lock(&child.lock);
	refused = child.refused;
	pthread_mutex_unlock(&child.lock);
	return refused;
}

void demangle_stop(void)
{
	pthread_mutex_lock(&child.lock);
	stop();
	pthread_mutex_unlock(&child.lock);
}
