// SPDX-License-Identifier: GPL-2.0-or-later
/* timed LOG COMMAND...: runs it and appends "PID CPU-NANOSECONDS" to LOG, by wait4()'s word. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long long ns(struct timeval t)
{
	return t.tv_sec * 1000000000LL + t.tv_usec * 1000LL;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	char line[64];
	int status, fd = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	pid_t pid = argc > 2 ? fork() : -1;

	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 ||
	    write(fd, line,
		  snprintf(line, sizeof(line), "%d %lld\n", pid,
			   ns(usage.ru_utime) + ns(usage.ru_stime))) < 0)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
