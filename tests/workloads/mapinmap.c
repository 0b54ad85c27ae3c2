// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mapinmap TYPE CALLS [THREADS [BATCH [NAME]]]: THREADS threads make CALLS updates in all of a map
 * of TYPE, array, hash, array_of_maps or hash_of_maps, one element each, or BATCH elements by one
 * call. Prints how long each call took, in nanoseconds, as its own clock saw it: "TYPE NS", a line
 * each; and at the end "busy NS", how long its threads ran or waited for a CPU, by the kernel's
 * account. With HOLD in the environment, it says "ready ID" when the map is there and waits for a
 * line on standard input. With BEGUN=FILE there, of 8 bytes, it counts the calls begun in that
 * file.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const struct {
	const char *name;
	enum bpf_map_type type;
	int nested;
} types[] = {
	{ "array", BPF_MAP_TYPE_ARRAY, 0 },
	{ "hash", BPF_MAP_TYPE_HASH, 0 },
	{ "array_of_maps", BPF_MAP_TYPE_ARRAY_OF_MAPS, 1 },
	{ "hash_of_maps", BPF_MAP_TYPE_HASH_OF_MAPS, 1 },
};
static const __typeof__(types[0]) *type;

static int map, inner;
static unsigned int calls, nr_threads = 1, batch;
static uint64_t *took_ns, unread, *begun = &unread, busy_ns;

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int create(enum bpf_map_type type, unsigned int entries, int inner, const char *name)
{
	union bpf_attr attr = { .map_type = type,
				.key_size = 4,
				.value_size = 4,
				.max_entries = entries,
				.inner_map_fd = inner };
	int fd;

	strncpy(attr.map_name, name, sizeof(attr.map_name) - 1);
	fd = bpf(BPF_MAP_CREATE, &attr);
	if (fd < 0) {
		perror("create");
		exit(1);
	}
	return fd;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void call(unsigned int i)
{
	static __thread uint32_t *keys, *values;
	unsigned int nr = batch ? batch : 1;
	union bpf_attr attr = {};
	uint64_t began;

	if (!keys) {
		keys = calloc(nr, sizeof(*keys));
		values = calloc(nr, sizeof(*values));
	}
	for (unsigned int j = 0; j < nr; j++) {
		keys[j] = (i * nr + j) % 4096;
		values[j] = type->nested ? inner : i;
	}
	if (batch) {
		attr.batch.map_fd = map;
		attr.batch.keys = (uintptr_t)keys;
		attr.batch.values = (uintptr_t)values;
		attr.batch.count = nr;
	} else {
		attr.map_fd = map;
		attr.key = (uintptr_t)keys;
		attr.value = (uintptr_t)values;
	}
	__atomic_fetch_add(begun, 1, __ATOMIC_RELAXED);
	began = now_ns();
	if (bpf(batch ? BPF_MAP_UPDATE_BATCH : BPF_MAP_UPDATE_ELEM, &attr)) {
		perror("update");
		exit(1);
	}
	took_ns[i] = now_ns() - began;
}

/* adds how long the thread has run so far, and waited for a CPU */
static void add_busy(void)
{
	FILE *account = fopen("/proc/thread-self/schedstat", "r");
	unsigned long long ran = 0, waited = 0;

	if (!account || fscanf(account, "%llu %llu", &ran, &waited) != 2)
		exit(1);
	fclose(account);
	__atomic_fetch_add(&busy_ns, ran + waited, __ATOMIC_RELAXED);
}

static void *update(void *arg)
{
	for (unsigned int i = (uintptr_t)arg; i < calls; i += nr_threads)
		call(i);
	add_busy();
	return NULL;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(argv[1], types[i].name))
			type = &types[i];
	if (!type)
		return 2;
	calls = atoi(argv[2]);
	nr_threads = argc > 3 ? atoi(argv[3]) : 1;
	batch = argc > 4 ? atoi(argv[4]) : 0;
	took_ns = calloc(calls + 1, sizeof(*took_ns));
	if (getenv("BEGUN"))
		begun = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED,
			     open(getenv("BEGUN"), O_RDWR), 0);
	if (begun == MAP_FAILED)
		return 1;
	inner = create(BPF_MAP_TYPE_ARRAY, 1, 0, "inner");
	map = create(type->type, 4096, type->nested ? inner : 0, argc > 5 ? argv[5] : "mapinmap");
	if (getenv("HOLD")) {
		struct bpf_map_info about = {};
		union bpf_attr attr = { .info = { .bpf_fd = map,
						  .info_len = sizeof(about),
						  .info = (uintptr_t)&about } };

		bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
		printf("ready %u\n", about.id);
		fflush(stdout);
		getchar();
	}

	pthread_t threads[nr_threads];

	for (uintptr_t i = 0; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, update, (void *)i);
	for (unsigned int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < calls; i++)
		printf("%s %llu\n", type->name, (unsigned long long)took_ns[i]);
	printf("busy %llu\n", (unsigned long long)busy_ns);
	return 0;
}
