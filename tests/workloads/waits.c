// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waits KIND [COUNT [MS]]: below five functions without frame pointers, blocks COUNT times (0:
 * until killed), for MS milliseconds (10) where it can choose: in nanosleep, futex, pipe, poll,
 * epoll, signal (sigsuspend), fsync (of a file in the working directory) or fault (pages of such a
 * file that are not in memory). At the end it prints how long all of that took.
 *
 * waits threads N [MS]: N threads that sleep and burn by turns, differently long each, three times
 * MS milliseconds (1) at most. waits exit: a thread ends while another is blocked for good. waits
 * preempt: burns for good.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "lib/calls.h"

static long count, ms = 10;
static volatile unsigned sink;

static void sleep_ms(long milliseconds)
{
	struct timespec t = { .tv_sec = milliseconds / 1000,
			      .tv_nsec = milliseconds % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static void burn(long loops)
{
	for (long i = 0; i < loops; i++)
		sink += i;
}

/* ---- how to block ---- */

static void in_nanosleep(void)
{
	sleep_ms(ms);
}

static void in_futex(void)
{
	static int word;
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
}

static int ends[2];

static void *write_pipe(void *arg)
{
	for (;;) {
		sleep_ms(ms);
		if (write(ends[1], "x", 1) != 1)
			return arg;
	}
}

static void in_pipe(void)
{
	pthread_t thread;
	char c;

	if (!ends[1]) {
		if (pipe(ends))
			exit(1);
		pthread_create(&thread, NULL, write_pipe, NULL);
	}
	sink += read(ends[0], &c, 1);
}

static void in_poll(void)
{
	poll(NULL, 0, ms);
}

static void in_epoll(void)
{
	static int fd = -1;
	struct epoll_event event;

	if (fd < 0)
		fd = epoll_create1(0);
	epoll_wait(fd, &event, 1, ms);
}

static void on_signal(int signal)
{
	sink += signal;
}

static void in_signal(void)
{
	struct itimerval t = { .it_value.tv_usec = ms * 1000 };
	sigset_t blocked, none;

	signal(SIGALRM, on_signal);
	sigemptyset(&none);
	blocked = none;
	sigaddset(&blocked, SIGALRM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	sigsuspend(&none);
}

#define FILE_BYTES (4 << 20)

static int a_file(void)
{
	static char bytes[FILE_BYTES];
	int fd = open("waits.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600);

	memset(bytes, getpid(), sizeof(bytes));
	if (fd < 0 || unlink("waits.tmp") || write(fd, bytes, sizeof(bytes)) != sizeof(bytes) ||
	    fsync(fd))
		exit(1);
	return fd;
}

static void in_fsync(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = a_file();
	if (pwrite(fd, (void *)&sink, 4, rand() % FILE_BYTES) != 4 || fsync(fd))
		exit(1);
}

static void in_fault(void)
{
	static int fd = -1;
	volatile char *bytes;

	if (fd < 0)
		fd = a_file();
	posix_fadvise(fd, 0, FILE_BYTES, POSIX_FADV_DONTNEED);
	bytes = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	for (long at = 0; at < FILE_BYTES; at += 4096)
		sink += bytes[at];
	munmap((void *)bytes, FILE_BYTES);
}

static void preempted(void)
{
	burn(1000000);
}

static const struct {
	const char *name;
	void (*block)(void);
} kinds[] = {
	{ "nanosleep", in_nanosleep }, { "futex", in_futex }, { "pipe", in_pipe },
	{ "poll", in_poll },           { "epoll", in_epoll }, { "signal", in_signal },
	{ "fsync", in_fsync },         { "fault", in_fault }, { "preempt", preempted },
};

static void (*block)(void);
static volatile int ready;

NOINLINE int w5(int x)
{
	struct timespec from, to;

	puts("ready");
	fflush(stdout);
	ready = 1;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (long i = 0; !count || i < count; i++)
		block();
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("took %ld ns\n", (to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec);
	return x;
}

CALL(w4, w5, 24)
CALL(w3, w4, 200)
CALL(w2, w3, 8)
CALL(w1, w2, 1)

/* ---- threads ---- */

static void *by_turns(void *arg)
{
	long which = (long)arg;

	for (;;) {
		/* the first ones hardly leave the CPU, or are preempted */
		sleep_ms(which % 4 * ms);
		burn(100000 * (which + 1));
	}
	return arg;
}

static void *blocked(void *arg)
{
	ms = 100000000;
	block = in_nanosleep;
	sink += w1(1);
	return arg;
}

static void start_threads(long nr)
{
	pthread_t thread;

	for (long i = 0; i < nr; i++)
		pthread_create(&thread, NULL, by_turns, (void *)i);
	puts("ready");
	fflush(stdout);
	pause();
}

static void exit_with_one_blocked(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, blocked, NULL);
	while (!ready)
		sleep_ms(1);
	sleep_ms(500);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	count = argc > 2 ? atol(argv[2]) : 0;
	if (argc > 3)
		ms = atol(argv[3]);
	if (!strcmp(kind, "threads")) {
		ms = argc > 3 ? ms : 1;
		start_threads(count);
	}
	if (!strcmp(kind, "exit")) {
		exit_with_one_blocked();
		return 0;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i].name))
			block = kinds[i].block;
	return block ? w1(1) == 12345 : 1;
}
