// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/own_session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/*
 * a shell's fg sends no signal to a job that runs: how often the relay looks whether it is in the
 * foreground by now
 */
#define LOOK_MS 200
/* bytes that are shown after the command's end: more than a pseudo-terminal holds */
#define MAX_LEFT (1 << 17)

/* what has been read at one end, and not yet written at the other */
struct flow {
	char bytes[4096];
	size_t nr;
};

struct relay {
	pid_t command;
	int tool_fd;          /* a pidfd: readable when the tool has ended */
	int terminal, master; /* terminal: the caller's; -1 once it has hung up */
	int signals;
	int news;    /* from the monitor and the command: its pid, then numbers of signals */
	bool wanted; /* the command wants to read */
	/* what is typed is for the command: the terminal's mode is `raw`, and else `before` */
	bool typing;
	struct termios before, raw;
	struct flow typed, shown;
};

/* the other end of relay.news; -1: no relay */
static int news_fd = -1;

static void send_news(int number)
{
	if (write(news_fd, &number, sizeof(number)) < 0)
		_exit(127); /* the relay has ended */
}

/* ---- the relay ---- */

static bool in_foreground(const struct relay *r)
{
	pid_t group = tcgetpgrp(r->terminal);

	/* a terminal without job control */
	return group == getpgrp() || (group < 0 && errno == ENOTTY);
}

static void leave_terminal(struct relay *r)
{
	if (r->typing && in_foreground(r)) /* else another process has set its mode by now */
		tcsetattr(r->terminal, TCSADRAIN, &r->before);
	r->typing = false;
}

/* Both terminals translate output in one way: the tool's messages are shown, too. */
static void follow_mode(struct relay *r)
{
	struct termios mode;

	if (tcgetattr(r->master, &mode) || mode.c_oflag == r->raw.c_oflag)
		return;
	r->raw.c_oflag = mode.c_oflag;
	if (r->typing && in_foreground(r))
		tcsetattr(r->terminal, TCSADRAIN, &r->raw);
}

static bool ends_lines(int fd)
{
	struct termios mode;

	return !tcgetattr(fd, &mode) && mode.c_oflag & OPOST && mode.c_oflag & ONLCR;
}

static void take_terminal(struct relay *r)
{
	struct winsize size;

	if (!ioctl(r->terminal, TIOCGWINSZ, &size))
		ioctl(r->master, TIOCSWINSZ, &size);
	if (r->typing && !in_foreground(r))
		r->typing = false;
	if (r->typing || !r->wanted || !in_foreground(r) || tcgetattr(r->terminal, &r->before))
		return;
	r->raw = r->before;
	cfmakeraw(&r->raw);
	follow_mode(r);
	r->typing = !tcsetattr(r->terminal, TCSADRAIN, &r->raw);
}

/*
 * Stops the whole group, as the terminal does, and the relay with it. Where there is no shell,
 * nobody is stopped.
 */
static void stop(struct relay *r, int signal)
{
	sigset_t one;

	leave_terminal(r);
	sigemptyset(&one);
	sigaddset(&one, signal);
	kill(0, signal);
	sigprocmask(SIG_UNBLOCK, &one, NULL); /* here it is stopped */
	sigprocmask(SIG_BLOCK, &one, NULL);
	take_terminal(r);
}

/* False: the monitor has ended. */
static bool take_news(struct relay *r)
{
	int number;

	if (read(r->news, &number, sizeof(number)) != sizeof(number))
		return false;
	if (!r->command) {
		r->command = number;
	} else if (number == SIGTSTP) {
		stop(r, SIGTSTP);
		kill(-r->command, SIGCONT);
	} else {
		r->wanted = true;
		take_terminal(r);
		if (!in_foreground(r))
			stop(r, SIGTTIN);
	}
	return true;
}

static void take_signal(struct relay *r)
{
	struct signalfd_siginfo signal;

	if (read(r->signals, &signal, sizeof(signal)) != sizeof(signal))
		return;
	if (signal.ssi_signo != SIGTSTP)
		take_terminal(r);
	else if (r->command)
		kill(-r->command, SIGTSTP); /* when it has stopped, so does the relay */
}

/* Would a terminal that they share have sent SIGINT to the tool, too, for one of these bytes? */
static bool interrupts_tool(const struct relay *r, const struct flow *typed)
{
	struct termios mode;

	return !tcgetattr(r->master, &mode) && mode.c_lflag & ISIG &&
	       tcgetpgrp(r->master) == r->command &&
	       memchr(typed->bytes, mode.c_cc[VINTR], typed->nr);
}

static void put(int fd, struct flow *flow)
{
	ssize_t done = flow->nr ? write(fd, flow->bytes, flow->nr) : 0;

	if (done < 0)
		/* nobody takes it any more */
		done = errno == EAGAIN || errno == EINTR ? 0 : flow->nr;
	flow->nr -= done;
	memmove(flow->bytes, flow->bytes + done, flow->nr);
}

static bool get(int fd, struct flow *flow)
{
	ssize_t nr = read(fd, flow->bytes, sizeof(flow->bytes));

	flow->nr = nr > 0 ? nr : 0;
	return nr > 0 || (nr < 0 && errno == EAGAIN);
}

/*
 * Reads what the command shows, without the carriage returns that its terminal has added and the
 * caller's adds.
 */
static bool get_shown(struct relay *r)
{
	size_t kept = 0;
	bool ok;

	follow_mode(r);
	ok = get(r->master, &r->shown);
	if (!ends_lines(r->master) || !ends_lines(r->terminal))
		return ok;
	for (size_t i = 0; i < r->shown.nr; i++)
		if (r->shown.bytes[i] != '\r' || i + 1 == r->shown.nr ||
		    r->shown.bytes[i + 1] != '\n')
			r->shown.bytes[kept++] = r->shown.bytes[i];
	r->shown.nr = kept;
	return ok;
}

static void take_typed(struct relay *r)
{
	if (!get(r->terminal, &r->typed))
		r->typing = false; /* in the background by now */
	else if (interrupts_tool(r, &r->typed))
		syscall(SYS_pidfd_send_signal, r->tool_fd, SIGINT, NULL, 0);
}

static void relay(struct relay *r)
{
	enum { TOOL, NEWS, SIGNALS, TERMINAL, MASTER, NR };
	struct pollfd fds[NR];

	do {
		fds[TOOL] = (struct pollfd){ r->tool_fd, POLLIN };
		fds[NEWS] = (struct pollfd){ r->news, POLLIN };
		fds[SIGNALS] = (struct pollfd){ r->signals, POLLIN };
		fds[TERMINAL] =
			(struct pollfd){ r->terminal, (r->typing && !r->typed.nr ? POLLIN : 0) |
							      (r->shown.nr ? POLLOUT : 0) };
		fds[MASTER] = (struct pollfd){ r->master, (r->shown.nr ? 0 : POLLIN) |
								  (r->typed.nr ? POLLOUT : 0) };
		if (!poll(fds, NR, r->wanted && !r->typing && r->terminal >= 0 ? LOOK_MS : -1))
			take_terminal(r);
		if (fds[SIGNALS].revents)
			take_signal(r);
		if (fds[TERMINAL].revents & (POLLHUP | POLLERR))
			r->terminal = -1;
		if (fds[TERMINAL].revents & POLLIN && r->typing)
			take_typed(r);
		if (fds[MASTER].revents & POLLIN)
			get_shown(r);
		put(r->master, &r->typed);
		put(r->terminal, &r->shown);
	} while (!fds[TOOL].revents && (!fds[NEWS].revents || take_news(r)));
}

static void show_rest(struct relay *r)
{
	fcntl(r->terminal, F_SETFL, O_RDWR); /* wait for it */
	put(r->terminal, &r->shown);
	for (size_t shown = 0; shown < MAX_LEFT && get_shown(r) && r->shown.nr;
	     shown += r->shown.nr)
		put(r->terminal, &r->shown);
}

/* ---- the monitor ---- */

static int status_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void monitor(pid_t command, int slave)
{
	int status;

	while (waitpid(command, &status, WUNTRACED) == command && WIFSTOPPED(status)) {
		switch (WSTOPSIG(status)) {
		case SIGTSTP:
			send_news(SIGTSTP);
			break;
		case SIGTTIN:
		case SIGTTOU:
			tcsetpgrp(slave, command);
			send_news(SIGTTIN);
			kill(-command, SIGCONT);
		} /* SIGSTOP: somebody has stopped the command alone */
	}
	_exit(status_of(status));
}

/* ---- the whole ---- */

/* the caller's terminal, opened anew: O_NONBLOCK must not be the tool's */
static int open_terminal(void)
{
	const int flags = O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
	char name[32];
	int fd = open("/dev/tty", flags);

	for (int i = STDIN_FILENO; i <= STDERR_FILENO && fd < 0; i++)
		if (isatty(i)) {
			snprintf(name, sizeof(name), "/proc/self/fd/%d", i);
			fd = open(name, flags);
		}
	return fd;
}

/*
 * Only the standard descriptors stay, and these two: maps and links of the tool last as long as
 * anybody has them.
 */
static void close_others(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;

	if (low > STDERR_FILENO + 1)
		syscall(SYS_close_range, STDERR_FILENO + 1, low - 1, 0);
	if (high > low + 1)
		syscall(SYS_close_range, low + 1, high - 1, 0);
	syscall(SYS_close_range, high + 1, ~0U, 0);
}

static bool is_pipe(int fd)
{
	struct stat file;

	return !fstat(fd, &file) && S_ISFIFO(file.st_mode);
}

static void become_command(int slave, bool reads, const sigset_t *mask)
{
	setpgid(0, 0);
	if (reads)
		tcsetpgrp(slave, getpid());
	send_news(getpid());
	if (!reads) {
		close(news_fd);
		news_fd = -1;
	}
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (isatty(fd))
			dup2(slave, fd);
	sigprocmask(SIG_SETMASK, mask, NULL);
}

void own_session_begin(pid_t tool, uid_t user, int gate_fd, int start_fd)
{
	static const int taken[] = { SIGCONT, SIGTSTP, SIGWINCH };
	struct relay r = { .command = 0 };
	int news[2], slave, status = 0;
	sigset_t all, mask, some;
	struct winsize size;
	pid_t child;
	bool reads;

	close_others(gate_fd, start_fd);
	r.terminal = open_terminal();
	if (r.terminal < 0) {
		setsid();
		return;
	}
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	sigemptyset(&some);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&some, taken[i]);
	r.signals = signalfd(-1, &some, SFD_CLOEXEC | SFD_NONBLOCK);
	r.tool_fd = syscall(SYS_pidfd_open, tool, 0);
	if (r.signals < 0 || r.tool_fd < 0 || getppid() != tool || pipe2(news, O_CLOEXEC) ||
	    tcgetattr(r.terminal, &r.before) || ioctl(r.terminal, TIOCGWINSZ, &size) ||
	    openpty(&r.master, &slave, NULL, &r.before, &size))
		_exit(127);
	fcntl(r.master, F_SETFD, FD_CLOEXEC);
	fcntl(slave, F_SETFD, FD_CLOEXEC);
	fcntl(r.master, F_SETFL, O_RDWR | O_NONBLOCK);
	reads = in_foreground(&r) && isatty(STDIN_FILENO) && !is_pipe(STDOUT_FILENO);
	r.news = news[0];
	news_fd = news[1];

	child = fork();
	if (child == 0) {
		pid_t command;

		close(r.master);
		close(r.terminal);
		close(r.news);
		setsid();
		/* who may not give it away may not become the user either, which is said then */
		if (ioctl(slave, TIOCSCTTY, 0) || (fchown(slave, user, -1) && errno != EPERM))
			_exit(127);
		command = fork();
		if (command == 0) {
			become_command(slave, reads, &mask);
			return;
		}
		close(gate_fd);
		close(start_fd);
		sigdelset(&all, SIGHUP); /* when the relay has ended */
		sigprocmask(SIG_SETMASK, &all, NULL);
		monitor(command, slave);
	}
	close(gate_fd);
	close(start_fd);
	close(slave);
	close(news_fd);
	relay(&r);
	if (waitpid(child, &status, WNOHANG) == 0 &&
	    poll(&(struct pollfd){ r.tool_fd, POLLIN }, 1, 0) == 0)
		waitpid(child, &status, 0);
	show_rest(&r);
	leave_terminal(&r);
	_exit(status_of(status));
}

void own_session_ready(void)
{
	if (news_fd >= 0)
		send_news(SIGTTIN);
}
