// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * forks: reads a line, then calls called() 5 times and forks in each way: a child, one whose parent
 * ends before it, one of a thread, one that executes this program anew (forks leaf). It ends before
 * they do. Each process prints "PID CALLS" at its end, after CALLS calls of called().
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noipa)) void called(void)
{
}

static void call_and_end(int calls)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%d %d\n", getpid(), calls);

	for (int i = 0; i < calls; i++)
		called();
	if (write(STDOUT_FILENO, text, length) != length)
		_exit(1);
	_exit(0);
}

/* until the process that it had for a parent has ended */
static void outlive_parent(pid_t parent)
{
	while (getppid() == parent)
		usleep(1000);
}

static void *fork_from_thread(void *arg)
{
	pid_t main_process = getpid();

	(void)arg;
	if (!fork()) {
		outlive_parent(main_process);
		usleep(200000);
		call_and_end(30);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char line[8];
	pid_t middle;

	if (argc > 1 && !strcmp(argv[1], "leaf"))
		call_and_end(40);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	if (!fork())
		call_and_end(10);
	middle = fork();
	if (!middle) {
		middle = getpid();
		if (!fork()) {
			outlive_parent(middle);
			usleep(500000);
			call_and_end(20);
		}
		call_and_end(15);
	}
	waitpid(middle, NULL, 0);
	pthread_create(&thread, NULL, fork_from_thread, NULL);
	pthread_join(thread, NULL);
	if (!fork()) {
		execl("/proc/self/exe", "forks", "leaf", NULL);
		_exit(1);
	}
	call_and_end(5);
}
