// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child_limits.h"
#include "kernel/load.h"
#include "run/cli.h"
#include "run/own_session.h"
#include "run/signals.h"

bool command_find_user(const char *name, struct command_user *user)
{
	const struct passwd *found = getpwnam(name);
	uint64_t uid;

	if (!found && cli_parse_number(name, 0, UINT32_MAX - 1, &uid))
		found = getpwuid(uid);
	if (found)
		*user = (struct command_user){
			.name = found->pw_name,
			.home = *found->pw_dir ? found->pw_dir : "/",
			.shell = *found->pw_shell ? found->pw_shell : "/bin/sh",
			.uid = found->pw_uid,
			.gid = found->pw_gid,
		};
	return found;
}

static bool is_kept(const char *variable)
{
	static const char *const kept[] = { "PATH=", "TERM=", "LANG=", "LC_" };

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (!strncmp(variable, kept[i], strlen(kept[i])))
			return true;
	return false;
}

/* The rest of the caller's environment may be secret, and is not made for this user. */
static bool set_environment(const struct command_user *user)
{
	char **to = environ;

	for (char **from = environ; from && *from; from++)
		if (is_kept(*from))
			*to++ = *from;
	if (to)
		*to = NULL;
	return !setenv("HOME", user->home, 1) && !setenv("SHELL", user->shell, 1) &&
	       !setenv("USER", user->name, 1) && !setenv("LOGNAME", user->name, 1);
}

/* An open directory lets the user in also where its path does not. */
static bool enter_directory(const struct command_user *user, const char *path)
{
	if (path && !chdir(path))
		return true;
	cli_warn("%s may not enter '%s': the command runs in '/'", user->name, path ? path : ".");
	return !chdir("/");
}

static bool become_user(const struct command_user *user)
{
	char *directory = getcwd(NULL, 0);

	if (!set_environment(user) || initgroups(user->name, user->gid) ||
	    setresgid(user->gid, user->gid, user->gid) ||
	    setresuid(user->uid, user->uid, user->uid))
		return false;
	/* ambient capabilities outlive a change from one ordinary user to another */
	child_drop_rights();
	return enter_directory(user, directory);
}

static void become(char **argv, const struct command_user *user, int gate_fd, int error_fd)
{
	char byte;
	int error;

	if (read(gate_fd, &byte, 1) != 1)
		_exit(127); /* the parent has exited */
	cli_restore_signals();
	bpf_load_restore_limits();
	if (user)
		own_session_ready();
	if (!user || become_user(user))
		execvp(argv[0], argv);
	error = errno;
	if (write(error_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static void begin_session(pid_t tool, const struct command_user *user, int gate_fd, int error_fd)
{
	pid_t command;

	own_session_begin(tool, user->uid, gate_fd, error_fd);
	command = getpid();
	if (write(error_fd, &command, sizeof(command)) < 0)
		_exit(127);
}

int command_start(struct command *command, char **argv, const struct command_user *user)
{
	const pid_t tool = getpid();
	int gate[2], error[2], saved;

	if (pipe2(gate, O_CLOEXEC))
		return -errno;
	if (pipe2(error, O_CLOEXEC)) {
		saved = -errno;
		goto no_error_pipe;
	}
	command->child = command->pid = fork();
	if (command->child == 0) {
		close(gate[1]);
		if (user)
			begin_session(tool, user, gate[0], error[1]);
		become(argv, user, gate[0], error[1]);
	}
	saved = command->child < 0 ? -errno : 0;
	close(error[1]);
	if (!saved && user &&
	    read(error[0], &command->pid, sizeof(command->pid)) != sizeof(command->pid))
		saved = -ECHILD;
	command->pidfd = saved ? -1 : (int)syscall(SYS_pidfd_open, command->child, 0);
	command->own_pidfd =
		saved || !user ? command->pidfd : (int)syscall(SYS_pidfd_open, command->pid, 0);
	if (!saved && (command->pidfd < 0 || command->own_pidfd < 0)) {
		saved = -errno;
		kill(command->child, SIGKILL);
	}
	if (saved) {
		close(error[0]);
		goto no_error_pipe;
	}
	close(gate[0]);
	command->gate_fd = gate[1];
	command->error_fd = error[0];
	return 0;

no_error_pipe:
	close(gate[0]);
	close(gate[1]);
	return saved;
}

#define EXEC_MS 1000 /* why exec() has failed is told if it fails so soon */

int command_release(struct command *command)
{
	struct pollfd fds[] = { { .fd = command->error_fd, .events = POLLIN },
				{ .fd = signals_fd(), .events = POLLIN } };
	int error = 0;

	/* EPIPE: a signal has ended it before it began, as its status says */
	if (write(command->gate_fd, "", 1) < 0 && errno != EPIPE)
		error = errno;
	close(command->gate_fd);
	/* closed by exec; on a file system that hangs, the run goes on */
	if (!error && (poll(fds, 2, EXEC_MS) <= 0 || !fds[0].revents ||
		       read(command->error_fd, &error, sizeof(error)) != sizeof(error)))
		error = 0;
	close(command->error_fd);
	return -error;
}

int command_wait(struct command *command)
{
	int status;

	while (waitpid(command->child, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILURE;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
