// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child_limits.h"
#include "process/priority.h"
#include "run/cli.h"

bool command_find_user(const char *name, struct command_user *user)
{
	const struct passwd *found = getpwnam(name);
	uint64_t uid;

	if (!found && cli_parse_number(name, 0, UINT32_MAX - 1, &uid))
		found = getpwuid(uid);
	if (found)
		*user = (struct command_user){ .name = found->pw_name, .uid = found->pw_uid, .gid = found->pw_gid };
	return found;
}

static bool become_user(const struct command_user *user)
{
	child_limit_typing();
	return !initgroups(user->name, user->gid) && !setresgid(user->gid, user->gid, user->gid) &&
	       !setresuid(user->uid, user->uid, user->uid);
}

static void become(char **argv, const struct command_user *user, int gate_fd, int error_fd)
{
	char byte;
	int error;

	if (read(gate_fd, &byte, 1) != 1)
		_exit(127);	/* the parent has exited */
	if (!user || become_user(user))
		execvp(argv[0], argv);
	error = errno;
	if (write(error_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

int command_start(struct command *command, char **argv, const struct command_user *user)
{
	int gate[2], error[2], saved;

	if (pipe2(gate, O_CLOEXEC))
		return -errno;
	if (pipe2(error, O_CLOEXEC)) {
		saved = -errno;
		goto no_error_pipe;
	}
	command->pid = fork();
	if (command->pid == 0) {
		close(gate[1]);
		priority_leave();
		become(argv, user, gate[0], error[1]);
	}
	saved = command->pid < 0 ? -errno : 0;
	close(error[1]);
	command->pidfd = saved ? -1 : (int)syscall(SYS_pidfd_open, command->pid, 0);
	if (!saved && command->pidfd < 0) {
		saved = -errno;
		kill(command->pid, SIGKILL);
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

int command_release(struct command *command)
{
	int error = 0;

	if (write(command->gate_fd, "", 1) < 0)
		error = errno;
	close(command->gate_fd);
	if (!error && read(command->error_fd, &error, sizeof(error)) != sizeof(error))
		error = 0;	/* closed by exec */
	close(command->error_fd);
	return -error;
}

int command_wait(struct command *command)
{
	int status;

	while (waitpid(command->pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILURE;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
