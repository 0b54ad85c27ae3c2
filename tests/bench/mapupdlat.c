// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench/mapupdlat BUILD: what a million updates of a hash by two threads cost, alone, under
 * `mapupdlat`, under bpftrace's plain histogram of the same calls, and under mapupdlat's two ways
 * to see them where the kernel may preempt; and what a system call costs that is none of theirs.
 * The least of five rounds, in turns, in one run.
 */
#include <linux/bpf.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define UPDATES 1000000
#define OTHERS  3000000
#define ROUNDS  5

static int map;

static void *update(void *arg)
{
	uint32_t key = (uintptr_t)arg, value = 0;
	union bpf_attr attr = { .map_fd = map, .key = (uintptr_t)&key, .value = (uintptr_t)&value };

	for (int i = 0; i < UPDATES / 2; i++, key += 2) {
		key %= 1024;
		if (syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr))) {
			perror("update");
			exit(1);
		}
	}
	return NULL;
}

/* ns a call, as each thread sees it */
static double updates(void)
{
	double began = clock_seconds();
	pthread_t other;

	pthread_create(&other, NULL, update, (void *)1);
	update(NULL);
	pthread_join(other, NULL);
	return (clock_seconds() - began) * 1e9 / (UPDATES / 2);
}

static double others(void)
{
	double began = clock_seconds();

	for (int i = 0; i < OTHERS; i++)
		syscall(SYS_getppid);
	return (clock_seconds() - began) * 1e9 / OTHERS;
}

/* a shell command that watches us, when it is up */
static pid_t watch(const char *command)
{
	pid_t pid = fork();

	if (!pid) {
		setpgid(0, 0);
		execl("/bin/bash", "bash", "-c", command, NULL);
		_exit(127);
	}
	sleep(3);
	return pid;
}

static void stop(pid_t pid)
{
	kill(-pid, SIGINT);
	waitpid(pid, NULL, 0);
}

struct way {
	const char *name;
	char watcher[1024], count[256]; /* shell commands; count: prints how many calls it saw */
	double updates_ns, others_ns;
	long seen;
};

static void measure(struct way *w)
{
	pid_t pid = *w->watcher ? watch(w->watcher) : 0;
	double updates_ns = updates(), others_ns = others();
	FILE *count;

	if (!w->updates_ns || updates_ns < w->updates_ns)
		w->updates_ns = updates_ns;
	if (!w->others_ns || others_ns < w->others_ns)
		w->others_ns = others_ns;
	if (!pid)
		return;
	stop(pid);
	count = popen(w->count, "r");
	if (!count || fscanf(count, "%ld", &w->seen) != 1)
		w->seen = -1;
	pclose(count);
}

int main(int argc, char **argv)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_HASH,
				.key_size = 4,
				.value_size = 4,
				.max_entries = 2048,
				.map_name = "bench" };
	struct way ways[] = { { "alone" }, { "mapupdlat" }, { "bpftrace" }, { "two ways" } };
	char name[] = "/tmp/bench-mapupdlat.XXXXXX";

	if (argc != 2 || close(mkstemp(name)))
		return 2;
	map = syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	if (map < 0) {
		perror("create");
		return 1;
	}
	snprintf(ways[1].watcher, sizeof(ways[1].watcher), "exec '%s/mapupdlat' -j -p %d >%s",
		 argv[1], getpid(), name);
	snprintf(ways[1].count, sizeof(ways[1].count),
		 "jq -s 'map(select(.type == \"histogram\").count) | add' %s", name);
	snprintf(
		ways[2].watcher, sizeof(ways[2].watcher),
		"exec unshare -m bash -c 'mount -t tracefs tracefs /sys/kernel/tracing; "
		"exec bpftrace -e \"tracepoint:syscalls:sys_enter_bpf /pid == %d && args->cmd == 2/ { @began[tid] = nsecs } "
		"tracepoint:syscalls:sys_exit_bpf /@began[tid]/ { @usecs = hist((nsecs - @began[tid]) / 1000); delete(@began[tid]); }\" >%s'",
		getpid(), name);
	/* as where the kernel may preempt: the tool sees another command line of the kernel's */
	snprintf(
		ways[3].watcher, sizeof(ways[3].watcher),
		"exec unshare -m bash -c 'echo preempt=full >%s.cmdline; mount --bind %s.cmdline /proc/cmdline; rm %s.cmdline; "
		"exec %s/mapupdlat -j -p %d >%s'",
		name, name, name, argv[1], getpid(), name);
	strcpy(ways[3].count, ways[1].count);
	snprintf(ways[2].count, sizeof(ways[2].count),
		 "awk '/^\\[/ { sub(/^[^)\\]]*[)\\]]/, \"\"); n += $1 } END { print n + 0 }' %s",
		 name);
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
			measure(&ways[i]);
	unlink(name);

	printf("%-10s %12s %9s %14s %9s %10s\n", "", "ns/update", "slower", "ns/getppid", "slower",
	       "seen");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		printf("%-10s %12.0f %8.2fx %14.1f %8.2fx %10ld\n", ways[i].name,
		       ways[i].updates_ns, ways[i].updates_ns / ways[0].updates_ns,
		       ways[i].others_ns, ways[i].others_ns / ways[0].others_ns,
		       i ? ways[i].seen : (long)UPDATES);
	printf("mapupdlat costs %.2f of what bpftrace costs\n",
	       (ways[1].updates_ns - ways[0].updates_ns) /
		       (ways[2].updates_ns - ways[0].updates_ns));
	return 0;
}
