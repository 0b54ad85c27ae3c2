// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Perf maps and jitdumps: growing, garbage, code that moves, code over other code; look-ups against
 * a plain search.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "runtimes/jit/jit_processes.h"

static void put(int fd, const void *bytes, size_t size)
{
	if (write(fd, bytes, size) != (ssize_t)size)
		abort();
}

static bool is(struct jit_names *names, uint64_t addr, uint64_t time_ns, const char *expected)
{
	uint64_t start;
	const char *name = jit_names_find(names, addr, time_ns, &start);

	if (!name || !expected)
		return name == expected;
	return start <= addr && !strcmp(name, expected);
}

static void check_perf_map(void)
{
	static const char first[] = "7f0010 20 one\n"
				    "0x7f0030 0x10 two with blanks \r\n"
				    "\n"
				    "garbage\n"
				    "7f0040 8\n"
				    "7f0040 zz name\n"
				    "11111111111111111 8 too large\n"
				    "ffffffffffffffff 8 around the end\n"
				    "7f0050 0 empty\n"
				    "7f0060 10 ha",
			  second[] = "lf\n7f0018 4 newer\n";
	struct jit_names names = {};
	struct perf_map map = {};
	int fd = memfd_create("map", 0);

	check(!perf_map_read(&map, fd, &names) && is(&names, 0x7f0010, UINT64_MAX, NULL));
	put(fd, first, sizeof(first) - 1);
	check(!perf_map_read(&map, fd, &names));
	check(names.nr == 2 && names.bad == 5, "%zu, %lu bad", names.nr, names.bad);
	check(is(&names, 0x7f0010, UINT64_MAX, "one") && is(&names, 0x7f002f, UINT64_MAX, "one"));
	check(is(&names, 0x7f0030, UINT64_MAX, "two with blanks") &&
	      is(&names, 0x7f0040, UINT64_MAX, NULL));
	check(is(&names, 0x7f000f, UINT64_MAX, NULL) && is(&names, 0x7f0060, UINT64_MAX, NULL));
	put(fd, second, sizeof(second) - 1);
	check(!perf_map_read(&map, fd, &names) && names.nr == 4);
	check(is(&names, 0x7f0060, UINT64_MAX, "half"));
	check(is(&names, 0x7f0017, UINT64_MAX, "one") &&
	      is(&names, 0x7f0018, UINT64_MAX, "newer") && is(&names, 0x7f001c, UINT64_MAX, "one"));
	check(!ftruncate(fd, 0) && !lseek(fd, 0, SEEK_SET));
	put(fd, "7f0010 20 anew\n", 15);
	check(!perf_map_read(&map, fd, &names) && is(&names, 0x7f0018, UINT64_MAX, "anew") &&
	      is(&names, 0x7f0030, UINT64_MAX, "two with blanks"));
	/* written anew, and longer than before */
	check(!ftruncate(fd, 0) && !lseek(fd, 0, SEEK_SET));
	put(fd, "7f0010 20 other\n7f0050 10 more\n", 31);
	check(!perf_map_read(&map, fd, &names) && is(&names, 0x7f0018, UINT64_MAX, "other") &&
	      is(&names, 0x7f0050, UINT64_MAX, "more"));
	close(fd);
	jit_names_free(&names);
}

/* long lines, and lines that cross the reader's buffer */
static void check_long_lines(void)
{
	static char line[200000];
	struct jit_names names = {};
	struct perf_map map = {};
	int fd = memfd_create("map", 0);
	uint64_t start;
	bool right = true;

	memset(line, 'a', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	put(fd, line, sizeof(line));
	for (int i = 0; i < 20000; i++)
		dprintf(fd, "%x 10 function_%d\n", 0x1000 + 16 * i, i);
	memcpy(line, "100 10 ", 7);
	line[30000] = '\n';
	put(fd, line, 30001);
	check(!perf_map_read(&map, fd, &names) && names.nr == 20001, "%zu", names.nr);
	for (int i = 0; i < 20000; i++) {
		char name[32];

		sprintf(name, "function_%d", i);
		right &= is(&names, 0x1007 + 16 * i, UINT64_MAX, name);
	}
	check(right);
	check(strlen(jit_names_find(&names, 0x108, UINT64_MAX, &start)) == JIT_MAX_NAME);
	close(fd);
	jit_names_free(&names);
}

/* ---- jitdump ---- */

static void put_header(int fd, uint32_t version, uint64_t flags)
{
	struct {
		uint32_t magic, version, bytes, machine, padding, pid;
		uint64_t time, flags;
	} header = { 0x4a695444, version, sizeof(header), 62, 0, 1, 1, flags };

	put(fd, &header, sizeof(header));
}

struct record {
	uint32_t type, bytes;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, words[4];
} __attribute__((packed));

static void put_load(int fd, uint64_t time, uint64_t addr, uint64_t size, uint64_t index,
		     const char *name)
{
	static const uint8_t code[64];
	struct record r = {
		0, 56 + strlen(name) + 1 + sizeof(code), time, 1, 1, addr, { addr, size, index }
	};

	put(fd, &r, 56);
	put(fd, name, strlen(name) + 1);
	put(fd, code, sizeof(code));
}

static void put_move(int fd, uint64_t time, uint64_t from, uint64_t to, uint64_t size,
		     uint64_t index)
{
	struct record r = { 1, sizeof(r), time, 1, 1, from, { from, to, size, index } };

	put(fd, &r, sizeof(r));
}

static void check_jitdump(void)
{
	struct jit_names names = {};
	struct jitdump dump = {};
	int fd = memfd_create("dump", 0);

	check(!jitdump_read(&dump, fd, &names));
	put_header(fd, 1, 0);
	put_load(fd, 100, 0x1000, 64, 0, "f");
	put_load(fd, 110, 0x2000, 64, 1, "g");
	check(!jitdump_read(&dump, fd, &names));
	check(is(&names, 0x1010, UINT64_MAX, "f") && is(&names, 0x2010, 110, "g") &&
	      is(&names, 0x2010, 109, NULL));
	put_move(fd, 120, 0x1000, 0x3000, 64, 0);
	put(fd, "\2\0\0\0\x20\0\0\0", 8); /* debug info, not whole yet */
	check(!jitdump_read(&dump, fd, &names));
	check(is(&names, 0x1010, 119, "f") && is(&names, 0x1010, 120, NULL) &&
	      is(&names, 0x3010, 120, "f") && is(&names, 0x3010, 119, NULL));
	put(fd, "12345678________________", 24);
	put_load(fd, 130, 0x1020, 64, 2, "h"); /* where f was */
	check(!jitdump_read(&dump, fd, &names));
	check(is(&names, 0x1020, 119, "f") && is(&names, 0x1020, 130, "h") &&
	      is(&names, 0x1020, UINT64_MAX, "h"));
	put_move(fd, 140, 0, 0x9000, 64, 77); /* of nothing */
	put(fd, "\3\0\0\0\x10\0\0\0________", 16);
	put_load(fd, 150, 0x9000, 64, 3, "after the end");
	check(!jitdump_read(&dump, fd, &names) && dump.closed &&
	      is(&names, 0x9000, UINT64_MAX, NULL));
	close(fd);
	jit_names_free(&names);
}

static void check_bad_jitdumps(void)
{
	static const uint8_t swapped[40] = { 0x4a, 0x69, 0x54, 0x44 };
	struct jit_names names = {};
	int fd = memfd_create("dump", 0);

	put(fd, swapped, sizeof(swapped));
	check(jitdump_read(&(struct jitdump){}, fd, &names) == -EBADMSG);
	close(fd);
	fd = memfd_create("dump", 0);
	put_header(fd, 2, 0);
	check(jitdump_read(&(struct jitdump){}, fd, &names) == -ENOTSUP);
	close(fd);
	/* shorter than its own head: nobody knows where the next one begins */
	for (uint32_t bytes = 0; bytes < 16; bytes++) {
		struct {
			uint32_t type, bytes;
			uint64_t time;
		} record = { 0, bytes, 0 };
		struct jitdump dump = {};

		fd = memfd_create("dump", 0);
		put_header(fd, 1, 0);
		put(fd, &record, sizeof(record));
		check(!jitdump_read(&dump, fd, &names) && dump.closed && names.bad == 1 &&
			      !names.nr,
		      "%u bytes", bytes);
		close(fd);
		jit_names_free(&names);
	}
}

/* against a search through all */
static void check_random(void)
{
	enum { NR = 3000 };
	static struct jit_code codes[NR];
	struct jit_names names = {};
	int wrong = 0, error = 0;

	srandom(1);
	for (int i = 0; i < NR; i++) {
		char name[16];

		codes[i] = (struct jit_code){
			.start = random() % 20000,
			.until_ns = UINT64_MAX,
			.from_ns = random() % 3 ? i : 0,
		};
		codes[i].end =
			codes[i].start + 1 + (random() % 10 ? random() % 30 : random() % 5000);
		sprintf(name, "%d", i);
		error |= jit_names_add(&names, &codes[i], name, strlen(name));
	}
	for (uint64_t addr = 0; addr < 26000; addr += 7) {
		uint64_t time_ns = addr % 2 ? UINT64_MAX : (uint64_t)random() % NR;
		char name[16];
		int best = -1;

		for (int i = 0; i < NR; i++)
			if (addr >= codes[i].start && addr < codes[i].end &&
			    codes[i].from_ns <= time_ns &&
			    (best < 0 || codes[i].from_ns >= codes[best].from_ns))
				best = i;
		sprintf(name, "%d", best);
		wrong += !is(&names, addr, time_ns, best < 0 ? NULL : name);
	}
	check(!error && !wrong, "%d", wrong);
	jit_names_free(&names);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* more than there may be, all at one place: bounded in memory and in time */
static void check_hostile(void)
{
	struct jit_names names = {};
	struct jit_code code = { .start = 0x1000, .end = 0x2000, .until_ns = UINT64_MAX };
	double began = seconds();
	int error = 0;
	uint64_t start;

	for (unsigned i = 0; i < JIT_MAX_CODES + 100; i++)
		error |= jit_names_add(&names, &code, "same", 4);
	check(!error && names.forgotten == JIT_MAX_CODES / 2 && jit_names_bytes(&names) < 150 << 20,
	      "%zu bytes", jit_names_bytes(&names));
	for (int i = 0; i < 1000; i++)
		jit_names_find(&names, 0x1800, UINT64_MAX, &start);
	check(seconds() - began < 3, "%.2f s", seconds() - began);
	jit_names_free(&names);
}

/* Where there are too many, names are missing, and none is wrong: code's that lies there no more. */
static void check_forgotten(void)
{
	struct jit_names names = {};
	struct jit_code old = { .start = 0x1000, .end = 0x2000, .until_ns = UINT64_MAX }, new = old;
	struct jit_code moving = {
		.start = 0x100, .end = 0x110, .until_ns = UINT64_MAX, .index = 7
	};
	int error =
		jit_names_add(&names, &old, "old", 3) | jit_names_add(&names, &moving, "moving", 6);

	for (unsigned i = 2; i < JIT_MAX_CODES; i++) {
		struct jit_code code = { .start = 0x10000 + 16 * i,
					 .end = 0x10010 + 16 * i,
					 .until_ns = UINT64_MAX };
		char name[32];

		error |= jit_names_add(&names, &code, name, sprintf(name, "code_%u", i));
	}
	check(!error && is(&names, 0x1800, UINT64_MAX, "old") && !names.forgotten);
	error = jit_names_add(&names, &new, "new", 3);
	moving.start += 0x1000000000;
	moving.end += 0x1000000000;
	error |= jit_names_add(&names, &moving, NULL, 0);
	check(!error && is(&names, 0x1800, UINT64_MAX, "new"));
	check(is(&names, 0x10008 + 16 * 100, UINT64_MAX, NULL), "an old one");
	check(is(&names, 0x10008 + 16 * (JIT_MAX_CODES / 2), UINT64_MAX, "code_524288") &&
		      is(&names, 0x10008 + 16 * (JIT_MAX_CODES - 1), UINT64_MAX, "code_1048575"),
	      "those that are kept");
	check(is(&names, moving.start, UINT64_MAX, NULL), "nobody knows its name any more");
	jit_names_free(&names);
}

/* a file that has grown too fast: its end counts */
static void check_large_map(void)
{
	struct jit_names names = {};
	struct perf_map map = {};
	int fd = memfd_create("map", 0);

	put(fd, "7f0010 20 old\n7f0100 10 other\n", 30);
	check(!perf_map_read(&map, fd, &names) && is(&names, 0x7f0018, UINT64_MAX, "old"));
	put(fd, "7f0010 20 new\n", 14);
	check(!ftruncate(fd, PERF_MAP_MAX_BYTES + 1000) && lseek(fd, 0, SEEK_END) > 0);
	put(fd, "\n7f0200 10 last\n", 16);
	check(!perf_map_read(&map, fd, &names) && is(&names, 0x7f0208, UINT64_MAX, "last"));
	check(is(&names, 0x7f0018, UINT64_MAX, NULL), "what is there now was not read");
	put(fd, "7f0010 20 newest\n", 17);
	check(!perf_map_read(&map, fd, &names) && is(&names, 0x7f0018, UINT64_MAX, "newest"));
	close(fd);
	jit_names_free(&names);
}

static int count_descriptors(void)
{
	DIR *open = opendir("/proc/self/fd");
	int nr = 0;

	while (open && readdir(open))
		nr++;
	closedir(open);
	return nr;
}

/* Looks for our own files again, as namer.c has it done, and reads them. */
static int update(struct jit_files *files)
{
	struct jit_opened opened;
	int error;

	jit_files_open(&opened, getpid(), true);
	check(!opened.error && opened.fds[JIT_STAT] >= 0 && opened.fds[JIT_MAPS] >= 0);
	error = jit_files_update(files, &opened.fds[JIT_MAP], &opened.fds[JIT_DUMP]);
	jit_opened_close(&opened);
	return error;
}

static bool finds_none(void)
{
	struct jit_files files = JIT_FILES_NONE;
	bool none = !update(&files) && !jit_files_any(&files) && !files.names.nr;

	jit_files_close(&files);
	return none;
}

/* our own map, as a runtime would write it */
static void check_files(void)
{
	struct jit_files files = JIT_FILES_NONE;
	struct jit_opened opened;
	char path[64];
	FILE *map;
	int before = count_descriptors();

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	check(!update(&files) && !jit_files_any(&files) && !files.names.nr &&
	      jit_files_want_dump(&files));
	map = fopen(path, "w");
	fprintf(map, "1000 10 late\n");
	fflush(map);
	check(!update(&files) && is(&files.names, 0x1008, UINT64_MAX, "late") &&
	      jit_files_any(&files));
	unlink(path);
	fprintf(map, "2000 10 deleted\n");
	fclose(map);
	check(!update(&files) && is(&files.names, 0x2008, UINT64_MAX, "deleted"));
	jit_files_close(&files);
	check(!symlink("/etc/passwd", path) && finds_none());
	unlink(path);
	check(!mkfifo(path, 0600) && finds_none());
	unlink(path);
	map = fopen(path, "w");
	fclose(map);
	if (!chown(path, 12345, 12345))
		check(finds_none() || getuid() == 12345);
	unlink(path);
	jit_files_open(&opened, 1 << 30, true);
	check(opened.error == -ESRCH && opened.fds[JIT_MAP] < 0 && opened.fds[JIT_STAT] < 0);
	check(count_descriptors() == before, "no descriptor is left open");
}

/* a file with this text */
static int file_of(const char *text)
{
	int fd = memfd_create("made", MFD_CLOEXEC);

	put(fd, text, strlen(text));
	return fd;
}

/* an update of a process that was started then, whose map has this function */
static bool named(struct jit_processes *processes, pid_t pid, unsigned started,
		  const char *expected)
{
	struct jit_opened opened = { .fds = { -1, -1, -1, -1 } };
	char stat[200], map[200];
	const char *name = "";
	uint64_t start;
	int error;

	snprintf(stat, sizeof(stat), "%d (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 %u 20",
		 pid, started);
	snprintf(map, sizeof(map), "1000 10 %s\n", expected);
	opened.fds[JIT_STAT] = file_of(stat);
	opened.fds[JIT_MAP] = file_of(map);
	error = jit_processes_update(processes, pid, &opened);
	jit_opened_close(&opened);
	return !error &&
	       jit_processes_find(processes, pid, 0x1008, UINT64_MAX, &name, &start) == JIT_FOUND &&
	       !strcmp(name, expected);
}

static void check_max_bytes(void)
{
	struct jit_names names = { .max_bytes = 1 << 20 };
	struct jit_code code = { .until_ns = UINT64_MAX };
	char name[32];
	size_t most = 0;
	int error = 0;

	for (unsigned i = 0; i < 100000; i++) {
		code.start = 16 * i;
		code.end = 16 * i + 16;
		error |= jit_names_add(&names, &code, name, sprintf(name, "code_%u", i));
		if (jit_names_bytes(&names) > most)
			most = jit_names_bytes(&names);
	}
	check(!error && most <= 1 << 20 && most > 1 << 19, "%zu bytes", most);
	check(is(&names, 8, UINT64_MAX, NULL) && is(&names, 16 * 99999, UINT64_MAX, "code_99999"),
	      "the newer ones are kept");
	jit_names_free(&names);
	check(names.max_bytes == 1 << 20);
}

static void check_processes(void)
{
	struct jit_processes *processes = jit_processes_new(256 << 20);
	int before = count_descriptors(), failed = 0;

	for (pid_t pid = 1; pid <= 2 * JIT_MAX_PROCESSES; pid++)
		failed += !named(processes, pid, 1, "first");
	check(!failed, "later processes have names, too: %d have none", failed);
	check(count_descriptors() <= before + JIT_MAX_PROCESSES,
	      "and the files of no more are open");
	check(named(processes, 1, 1, "again"), "one that was forgotten is read again");
	check(named(processes, 1, 2, "reused"),
	      "a process with the number of another one has its own names");
	jit_processes_free(processes);
	check(count_descriptors() == before);
}

int main(void)
{
	check_perf_map();
	check_long_lines();
	check_jitdump();
	check_bad_jitdumps();
	check_random();
	check_hostile();
	check_forgotten();
	check_large_map();
	check_files();
	check_max_bytes();
	check_processes();
	return check_done();
}
