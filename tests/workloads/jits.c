// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A runtime with two functions made at run time, and what it tells of them:
 *   jits map          /tmp/perf-PID.map has early() at once, and late() only when that has run for
 *                     a second of CPU time
 *   jits memfd        the same, with the functions in a memfd, which is mapped once for writing and
 *                     once for running
 *   jits shared       the same, in memory that it would share with its children (/dev/zero in maps)
 *   jits shm          the same, in a file of /dev/shm that is deleted
 *   jits sysv         the same, in a segment of shmget()
 *   jits named        the same, in memory with a name of its own ([anon:jits] in maps)
 *   jits KIND unnamed as one of these, but without a map; prints the line of /proc/self/maps that
 *     has the code
 *   jits dump         ./jit-PID.dump: early() runs for a second, moves, and runs there; where it
 *                     was comes other(), which never runs
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

typedef void code_fn(unsigned rounds);

#ifdef __aarch64__
/* stp x29, x30, [sp, #-16]!; mov x29, sp; 1: subs w0, w0, #1; b.ne 1b; ldp x29, x30, [sp], #16; ret */
static const uint32_t code[] = { 0xa9bf7bfd, 0x910003fd, 0x71000400,
				 0x54ffffe1, 0xa8c17bfd, 0xd65f03c0 };
#else
/* push %rbp; mov %rsp,%rbp; 1: dec %edi; jnz 1b; pop %rbp; ret */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xcf, 0x75, 0xfc, 0x5d, 0xc3 };
#endif

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void run_for(uint8_t *at, double time_s)
{
	double end = seconds(CLOCK_PROCESS_CPUTIME_ID) + time_s;

	while (seconds(CLOCK_PROCESS_CPUTIME_ID) < end)
		((code_fn *)at)(1000000);
}

/* ---- a perf map ---- */

static void write_map(uint8_t *early, uint8_t *late)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	fprintf(map, "%lx %zx early\n", (long)early, sizeof(code));
	fflush(map);
	run_for(early, 1);
	run_for(late, 1);
	fprintf(map, "%lx %zx late\n", (long)late, sizeof(code));
	fclose(map);
	run_for(late, 1);
}

/* ---- a jitdump ---- */

struct record {
	uint32_t type, bytes;
	uint64_t time_ns;
};

static void put_record(FILE *dump, uint32_t type, const void *body, size_t bytes)
{
	struct record record = { type, sizeof(record) + bytes, seconds(CLOCK_MONOTONIC) * 1e9 };

	fwrite(&record, sizeof(record), 1, dump);
	fwrite(body, bytes, 1, dump);
	fflush(dump);
}

static void put_load(FILE *dump, uint8_t *at, uint64_t index, const char *name)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, addr, size, index;
		char rest[16 + sizeof(code)];
	} load = { getpid(), getpid(), (uintptr_t)at, (uintptr_t)at, sizeof(code), index, "" };
	size_t length = strlen(strcpy(load.rest, name)) + 1;

	memcpy(load.rest + length, code, sizeof(code));
	put_record(dump, 0, &load, 40 + length + sizeof(code));
}

static void put_move(FILE *dump, uint8_t *from, uint8_t *to, uint64_t index)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, old_addr, new_addr, size, index;
	} move = { getpid(),      getpid(),     (uintptr_t)to, (uintptr_t)from,
		   (uintptr_t)to, sizeof(code), index };

	put_record(dump, 1, &move, sizeof(move));
}

static void write_dump(uint8_t *first, uint8_t *second)
{
	struct {
		uint32_t magic, version, bytes, machine, pad, pid;
		uint64_t time_ns, flags;
	} header = { 0x4a695444, 1, sizeof(header), 62, 0, getpid(), seconds(CLOCK_MONOTONIC) * 1e9,
		     0 };
	char path[64];
	FILE *dump;

	snprintf(path, sizeof(path), "jit-%d.dump", getpid());
	dump = fopen(path, "w+");
	fwrite(&header, sizeof(header), 1, dump);
	fflush(dump);
	/* this is how perf and others notice it */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		exit(1);
	put_load(dump, first, 1, "early");
	run_for(first, 1);
	put_move(dump, first, second, 1);
	put_load(dump, first, 2, "other");
	run_for(second, 1);
	fclose(dump);
}

/* memory of this kind, mapped for writing and for running; exits if it cannot be had */
static void map_code(const char *kind, uint8_t **written, uint8_t **run)
{
	const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
	char name[32];
	int fd = -1;

	snprintf(name, sizeof(name), "/jits-%d", getpid());
	if (!strcmp(kind, "memfd"))
		fd = memfd_create("jits", 0);
	else if (!strcmp(kind, "shm"))
		fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd >= 0 && ftruncate(fd, 8192))
		exit(2);
	if (!strcmp(kind, "shm"))
		shm_unlink(name);
	if (!strcmp(kind, "sysv")) {
		int id = shmget(IPC_PRIVATE, 8192, 0700);

		*written = *run = shmat(id, NULL, SHM_EXEC);
		shmctl(id, IPC_RMID, NULL);
	} else if (fd >= 0) {
		*written = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		*run = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	} else {
		*written = *run =
			mmap(NULL, 8192, all,
			     (strcmp(kind, "shared") ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS,
			     -1, 0);
	}
	if (*written == MAP_FAILED || *run == MAP_FAILED)
		exit(2);
	if (!strcmp(kind, "named") &&
	    prctl(0x53564d41 /* PR_SET_VMA */, 0 /* PR_SET_VMA_ANON_NAME */, *run, 8192, "jits"))
		exit(3);
}

static void print_mapping(const uint8_t *code_at)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512];

	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && (uintptr_t)code_at >= start &&
		    (uintptr_t)code_at < end)
			fputs(line, stdout);
	fclose(maps);
}

int main(int argc, char **argv)
{
	uint8_t *written, *run;

	if (argc != 2 && argc != 3)
		return 2;
	map_code(argv[1], &written, &run);
	memcpy(written, code, sizeof(code));
	memcpy(written + 4096, code, sizeof(code));
	__builtin___clear_cache((char *)run, (char *)run + 4096 + sizeof(code));
	if (argc == 3) {
		print_mapping(run);
		fflush(stdout);
		run_for(run, 1);
		return 0;
	}
	(strcmp(argv[1], "dump") ? write_map : write_dump)(run, run + 4096);
	return 0;
}
