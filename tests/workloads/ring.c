// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ring KIND N ROUNDS: N threads hand a token round, each blocked until its predecessor wakes it by
 * a futex (KIND futex), a pipe (pipe), a mutex and a condition variable (cond), or a byte through a
 * TCP connection to this machine (tcp). Prints for each: its TID, its predecessor's, how often the
 * token came, how often it left the CPU of its own accord and against its will, and the ns that the
 * scheduler says it ran, from its start to its end. With HOLD in the environment, it waits for a
 * line on standard input before it begins.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define MAX      64

static struct place {
	pthread_t thread;
	int tid, number;
	int turn;    /* futex, cond */
	int in, out; /* pipe, tcp: read here, written by the predecessor */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	long came;
	struct rusage usage;
	long ran_ns;
} ring[MAX];

static int nr;
static long rounds;
static char kind;
static volatile unsigned long sink;

NOINLINE static void await(struct place *p)
{
	char byte;

	if (kind == 'f') {
		while (!__atomic_exchange_n(&p->turn, 0, __ATOMIC_ACQUIRE))
			syscall(SYS_futex, &p->turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	} else if (kind == 'c') {
		pthread_mutex_lock(&p->lock);
		while (!p->turn)
			pthread_cond_wait(&p->changed, &p->lock);
		p->turn = 0;
		pthread_mutex_unlock(&p->lock);
	} else if (read(p->in, &byte, 1) != 1) {
		abort();
	}
	sink++;
}

NOINLINE static void hand_on(struct place *p)
{
	if (kind == 'f') {
		__atomic_store_n(&p->turn, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &p->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	} else if (kind == 'c') {
		pthread_mutex_lock(&p->lock);
		p->turn = 1;
		pthread_mutex_unlock(&p->lock);
		pthread_cond_signal(&p->changed);
	} else if (write(p->out, "", 1) != 1) {
		abort();
	}
	sink++;
}

NOINLINE static void burn(void)
{
	for (int i = 0; i < 20000; i++)
		sink = sink * 31 + i;
}

static long ran(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *thread(void *arg)
{
	struct place *p = arg;

	p->tid = syscall(SYS_gettid);
	for (long i = 0; i < rounds; i++) {
		await(p);
		p->came++;
		burn();
		if (i + 1 < rounds || p->number + 1 < nr)
			hand_on(&ring[(p->number + 1) % nr]);
	}
	getrusage(RUSAGE_THREAD, &p->usage);
	p->ran_ns = ran();
	return NULL;
}

static void connect_tcp(struct place *p)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);

	if (bind(listener, (void *)&at, size) || listen(listener, 1) ||
	    getsockname(listener, (void *)&at, &size))
		abort();
	p->out = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(p->out, (void *)&at, size))
		abort();
	p->in = accept(listener, NULL, NULL);
	close(listener);
}

int main(int argc, char **argv)
{
	nr = argc > 2 ? atoi(argv[2]) : 3;
	rounds = argc > 3 ? atol(argv[3]) : 100;
	kind = argc > 1 ? *argv[1] : 'f';
	if (getenv("HOLD"))
		getchar();
	for (int i = 0; i < nr; i++) {
		int fds[2];

		ring[i].number = i;
		pthread_mutex_init(&ring[i].lock, NULL);
		pthread_cond_init(&ring[i].changed, NULL);
		if (kind == 'p' && !pipe(fds)) {
			ring[i].in = fds[0];
			ring[i].out = fds[1];
		} else if (kind == 't') {
			connect_tcp(&ring[i]);
		}
	}
	for (int i = 0; i < nr; i++)
		pthread_create(&ring[i].thread, NULL, thread, &ring[i]);
	usleep(100000); /* all wait by now */
	hand_on(&ring[0]);
	for (int i = 0; i < nr; i++)
		pthread_join(ring[i].thread, NULL);
	for (int i = 0; i < nr; i++)
		printf("%d %d %ld %ld %ld %ld\n", ring[i].tid, ring[(i + nr - 1) % nr].tid,
		       ring[i].came, ring[i].usage.ru_nvcsw, ring[i].usage.ru_nivcsw,
		       ring[i].ran_ns);
	return 0;
}
