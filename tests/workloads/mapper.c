// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps files as code, more often than is good for whoever follows it. Ends after SECONDS.
 *
 *   mapper hold SECONDS CHILDREN TIMES FILE...   maps each file TIMES times, whole if that is once
 *                                                and a page of it otherwise, forks, and all of them
 *                                                burn some CPU time now and then
 *   mapper loop SECONDS FILE...      touches the files, maps them whole and unmaps them, again and
 *                                    again
 *   mapper churn SECONDS DIR FILE    makes copies of FILE, maps them, burns some CPU time, runs one
 *                                    ("FILE burn TIME"), and unlinks them, again and again
 *   mapper storm SECONDS CHILDREN TIMES FILE   maps FILE as hold does and forks; all of them make
 *                                    processes as fast as they can, each second one runs true
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int die(const char *what)
{
	fprintf(stderr, "mapper: %s: %s\n", what, strerror(errno));
	exit(1);
}

/*
 * The page at the file's start again and again: neighbours whose offsets do not follow on each
 * other are not merged.
 */
static void *map(const char *path, long times)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *at = NULL;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	for (long i = 0; i < times; i++)
		if ((at = mmap(NULL, times > 1 ? 4096 : st.st_size, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE | MAP_NORESERVE, fd, 0)) == MAP_FAILED)
			die("mmap");
	close(fd);
	return at;
}

static void fork_children(long nr)
{
	for (; nr > 0; nr--)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			break;
		}
}

static int hold(double until, long children, long times, char **files)
{
	for (; *files; files++)
		map(*files, times);
	fork_children(children);
	puts("mapped");
	fflush(stdout);
	while (now() < until) {
		for (volatile int i = 0; i < 200000; i++)
			;
		usleep(50000);
	}
	return 0;
}

static int loop(double until, char **files)
{
	puts("mapped");
	fflush(stdout);
	while (now() < until)
		for (char **file = files; *file; file++) {
			int fd = open(*file, O_RDONLY);
			struct stat st;
			void *at;

			if (fd < 0 || fstat(fd, &st) || futimens(fd, NULL))
				die(*file);
			at = mmap(NULL, st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
			close(fd);
			for (volatile int i = 0; i < 100000; i++)
				;
			munmap(at, st.st_size);
		}
	return 0;
}

static void copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out = open(to, O_CREAT | O_WRONLY | O_TRUNC, 0755);
	struct stat st;

	if (in < 0 || out < 0 || fstat(in, &st) ||
	    sendfile(out, in, NULL, st.st_size) != st.st_size)
		die(to);
	close(in);
	close(out);
}

#define COPIES 16

static void copy_and_run(const char *directory, const char *file, long nr)
{
	char paths[COPIES][4096];
	void *mapped[COPIES];
	struct stat st;
	pid_t pid;

	for (int i = 0; i < COPIES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/churn%d-%ld-%d", directory, getpid(), nr,
			 i);
		copy(file, paths[i]);
		mapped[i] = map(paths[i], 1);
	}
	for (double end = now() + 0.01; now() < end;)
		;
	pid = fork();
	if (!pid) {
		execl(paths[0], paths[0], "burn", "0.02", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	for (int i = 0; i < COPIES; i++) {
		if (stat(paths[i], &st) || munmap(mapped[i], st.st_size) || unlink(paths[i]))
			die(paths[i]);
	}
}

static int churn(double until, const char *directory, const char *file)
{
	for (long nr = 0; now() < until; nr++)
		copy_and_run(directory, file, nr);
	return 0;
}

static int storm(double until, long children, long times, const char *file)
{
	pid_t pid;

	map(file, times);
	fork_children(children);
	for (long nr = 0; now() < until; nr++) {
		pid = nr & 1 ? fork() : vfork();
		if (!pid) {
			if (!(nr & 1))
				execl("/bin/true", "true", NULL);
			_exit(1);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	return 0;
}

int main(int argc, char **argv)
{
	double until = argc > 2 ? now() + atof(argv[2]) : 0;

	if (argc > 5 && !strcmp(argv[1], "hold"))
		return hold(until, atol(argv[3]), atol(argv[4]), argv + 5);
	if (argc > 3 && !strcmp(argv[1], "loop"))
		return loop(until, argv + 3);
	if (argc == 5 && !strcmp(argv[1], "churn"))
		return churn(until, argv[3], argv[4]);
	if (argc == 6 && !strcmp(argv[1], "storm"))
		return storm(until, atol(argv[3]), atol(argv[4]), argv[5]);
	fputs("usage: mapper hold SECONDS CHILDREN TIMES FILE... | loop SECONDS FILE... | churn SECONDS DIR FILE |"
	      " storm SECONDS CHILDREN TIMES FILE\n",
	      stderr);
	return 2;
}
