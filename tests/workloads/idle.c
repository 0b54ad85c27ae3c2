// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * idle: threads that wait in many ways, for good. Each prints "TID idle WAY" or "TID waits WAY":
 * idle is who waits for work that does not come; all others wait for something. idle all: threads
 * of the first kind only, and the main thread is one of them. Both print "ready" when all wait.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER, first = PTHREAD_MUTEX_INITIALIZER,
		       second = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static int silent[2];      /* a pipe into which nobody writes */
static volatile int stage; /* stays 0 */

static void say(const char *what, const char *way)
{
	printf("%d %s %s\n", gettid(), what, way);
	fflush(stdout);
}

/* ---- idle ---- */

static void wait_for_ever(pthread_cond_t *cond)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&mutex);
	while (!stage)
		pthread_cond_wait(cond, &mutex);
}

static void pool(void)
{
	wait_for_ever(&never);
}

static void loop(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, silent[0], &event);
	for (;;)
		epoll_wait(fd, &event, 1, -1);
}

static void listener(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	bind(fd, (struct sockaddr *)&address, sizeof(address.sun_family)); /* an abstract name */
	listen(fd, 1);
	for (;;)
		accept(fd, NULL, NULL);
}

/* ---- not idle ---- */

/* a queue whose work comes 20 times a second */
static void worker(void)
{
	pthread_mutex_lock(&queue_mutex);
	for (;;)
		pthread_cond_wait(&queue, &queue_mutex);
}

static void deadlock_a(void)
{
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&second);
}

static void deadlock_b(void)
{
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&first);
}

static void in_rwlock(void)
{
	pthread_rwlock_rdlock(&rwlock);
}

static void in_semaphore(void)
{
	sem_wait(&semaphore);
}

__attribute__((noinline)) void own_lock_take(void) /* its name is in the file */
{
	wait_for_ever(&never);
}

static void one_peer_poll(void)
{
	struct pollfd fd = { silent[0], POLLIN, 0 };

	poll(&fd, 1, -1);
}

static void one_peer_read(void)
{
	char byte;

	while (read(silent[0], &byte, 1) != 1)
		;
}

static void a_time(void)
{
	sleep(1000);
}

/* Waits for an answer in the midst of some work. */
__attribute__((noinline)) static int deep(int depth)
{
	if (depth)
		return deep(depth - 1) + stage;
	wait_for_ever(&never);
	return 0;
}

static void in_work(void)
{
	stage = deep(20);
}

static void a_disk(void) /* D: as long as a child of vfork() has its memory */
{
	if (!vfork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
}

/* ---- all of them ---- */

static const struct way {
	const char *name;
	void (*wait)(void);
	bool idle;
} ways[] = {
	{ "pool", pool, true },
	{ "pool", pool, true },
	{ "loop", loop, true },
	{ "listener", listener, true },
	{ "worker", worker, false },
	{ "deadlock", deadlock_a, false },
	{ "deadlock", deadlock_b, false },
	{ "rwlock", in_rwlock, false },
	{ "semaphore", in_semaphore, false },
	{ "own_lock", own_lock_take, false },
	{ "poll", one_peer_poll, false },
	{ "read", one_peer_read, false },
	{ "sleep", a_time, false },
	{ "deep", in_work, false },
	{ "disk", a_disk, false },
};

static void *run(void *arg)
{
	const struct way *way = arg;

	say(way->idle ? "idle" : "waits", way->name);
	way->wait();
	return NULL;
}

int main(int argc, char **argv)
{
	bool all = argc > 1 && !strcmp(argv[1], "all");

	pthread_barrier_init(&both, NULL, 2);
	sem_init(&semaphore, 0, 0);
	pthread_rwlock_wrlock(&rwlock);
	if (pipe(silent))
		return 1;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		pthread_t thread;

		if (!all || ways[i].idle)
			pthread_create(&thread, NULL, run, (void *)&ways[i]);
	}
	say(all ? "idle" : "waits", "main");
	usleep(all ? 20000 : 200000);
	puts("ready");
	fflush(stdout);
	if (all)
		loop();
	for (;;) {
		usleep(50000);
		pthread_cond_broadcast(&queue);
	}
}
