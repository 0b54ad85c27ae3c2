// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * upload N: what it takes to give the kernel the tables of N libraries, beyond parsing, of a
 * process that maps one after the other: an inner map for each, inserted one by one; the same,
 * inserted by one batch; and slabs as the tools use them, with the process's mapping list published
 * anew after each library. Names of ELF files on stdin; their tables are used in turn.
 *
 * A grace period is what one insert into an idle ARRAY_OF_MAPS takes, the median of nine.
 */
#include <bpf/bpf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/slab_maps.h"
#include "unwind/mapping_list.h"
#include "unwind/table_upload.h"
#include "processes_abi.h"
#include "tables_abi.h"

#define MAX_LIBRARIES 10000
#define PAGE          4096

static struct unwind_table tables[MAX_LIBRARIES];
static size_t nr_tables;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void read_tables(size_t wanted)
{
	char name[4096];

	while (nr_tables < wanted && fgets(name, sizeof(name), stdin)) {
		struct elf_file file;
		int fd;

		name[strcspn(name, "\n")] = 0;
		fd = open(name, O_RDONLY);
		if (fd < 0 || elf_file_open(&file, fd))
			continue;
		if (!unwind_table_build(&tables[nr_tables], &file) && tables[nr_tables].nr_pages &&
		    unwind_table_bytes(&tables[nr_tables]) < SLAB_BYTES)
			nr_tables++;
		elf_file_close(&file);
		close(fd);
	}
	if (!nr_tables)
		die("no tables");
}

/* ---- a map for each ---- */

static int inner_map(size_t bytes, bool filled, const struct unwind_table *table)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	size_t pages = (bytes + PAGE - 1) / PAGE;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "library", 4, PAGE, pages, &options);
	uint8_t *memory;

	if (fd < 0)
		die("inner map");
	if (filled) {
		memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (memory == MAP_FAILED)
			die("mmap");
		memcpy(memory, table->rows, table->nr_rows * ROW_BYTES);
		munmap(memory, pages * PAGE);
	}
	return fd;
}

static int outer_map(size_t nr)
{
	int template = inner_map(PAGE, false, NULL);
	LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = template);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "libraries", 4, 4, nr, &options);

	if (fd < 0)
		die("outer map");
	close(template);
	return fd;
}

static double one_by_one(size_t nr)
{
	double began = clock_seconds();
	int outer = outer_map(nr);

	for (__u32 i = 0; i < nr; i++) {
		const struct unwind_table *table = &tables[i % nr_tables];
		int inner = inner_map(unwind_table_bytes(table), true, table);

		if (bpf_map_update_elem(outer, &i, &inner, BPF_ANY))
			die("insert");
		close(inner);
	}
	close(outer);
	return clock_seconds() - began;
}

static double in_a_batch(size_t nr)
{
	double began = clock_seconds();
	int outer = outer_map(nr), *inner = calloc(nr, sizeof(*inner));
	__u32 *keys = calloc(nr, sizeof(*keys)), done = nr;

	for (size_t i = 0; i < nr; i++) {
		const struct unwind_table *table = &tables[i % nr_tables];

		keys[i] = i;
		inner[i] = inner_map(unwind_table_bytes(table), true, table);
	}
	if (bpf_map_update_batch(outer, keys, inner, &done, NULL))
		die("batch");
	for (size_t i = 0; i < nr; i++)
		close(inner[i]);
	free(inner);
	free(keys);
	close(outer);
	return clock_seconds() - began;
}

/* ---- slabs ---- */

struct ours {
	int outer, procs;
	struct bpf_slabs *source;
	struct slabs *slabs;
};

static int slab_template(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "slab", 4, SLAB_VALUE_SIZE, 1, &options);
}

static void open_ours(struct ours *o)
{
	int template = slab_template();
	LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = template);

	o->outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "slabs", 4, 4, NR_SLABS, &options);
	o->procs = bpf_map_create(BPF_MAP_TYPE_HASH, "procs", 4, 8, 1024, NULL);
	if (template <0 || o->outer < 0 || o->procs < 0 ||
		      bpf_slabs_new(&o->source, o->outer, UINT64_MAX) ||
		      slabs_new(&o->slabs, bpf_slabs_source(o->source)))
		die("slabs");
	close(template);
}

/* published anew after each library, as after each dlopen() */
static double by_slabs(size_t nr, struct bpf_slabs_counts *counts, double *start)
{
	double began = clock_seconds(), running;
	struct mapped_modules mapped = {};
	struct proc_maps maps = {};
	struct mapping_contents contents = { .image.tgid = 1, .maps = &maps, .mapped = &mapped };
	struct mapping_list list = {};
	struct tables *made;
	struct ours o;

	open_ours(&o);
	if (tables_new(&made, o.slabs, modules_new()))
		die("tables");
	/* the first slab, which start pays for */
	slabs_release(o.slabs, slabs_alloc(o.slabs, 16), 16);
	if (bpf_slabs_settle(o.source))
		die("settle");
	running = clock_seconds();
	*start = running - began;
	for (size_t i = 0; i < nr; i++) {
		struct proc_mapping mapping = { .start = (i + 1) << 24,
						.end = ((i + 1) << 24) + PAGE,
						.path = "" };
		struct mapping_list old = list;
		__u64 handle;
		loc_t module;

		contents.generation = i + 1;
		if (table_upload(o.slabs, i + 1, &tables[i % nr_tables], &module) ||
		    proc_maps_add(&maps, &mapping) ||
		    mapping_list_make_tables(made, &maps, &mapped) ||
		    mapping_list_write(made, &contents, &list) || bpf_slabs_settle(o.source))
			die("publish");
		handle = HANDLE(list.loc, contents.generation);
		if (bpf_map_update_elem(o.procs, &contents.image.tgid, &handle, BPF_ANY))
			die("publish");
		mapping_list_release(made, &old);
	}
	running = clock_seconds() - running;
	*counts = bpf_slabs_counts(o.source);
	slabs_free(o.slabs);
	bpf_slabs_free(o.source);
	return running;
}

/* all tables first, then what waits for slabs, once: as at a tool's start */
static double all_at_start(size_t nr, double *waited)
{
	double began = clock_seconds();
	struct ours o;
	loc_t module;

	open_ours(&o);
	for (size_t i = 0; i < nr; i++)
		if (table_upload(o.slabs, i + 1, &tables[i % nr_tables], &module))
			die("upload");
	*waited = clock_seconds();
	if (bpf_slabs_settle(o.source))
		die("settle");
	*waited = clock_seconds() - *waited;
	began = clock_seconds() - began;
	slabs_free(o.slabs);
	bpf_slabs_free(o.source);
	return began;
}

static int ascending(const void *left, const void *right)
{
	double l = *(const double *)left, r = *(const double *)right;

	return l < r ? -1 : l > r;
}

static double grace_period(void)
{
	double times[9];
	int outer = outer_map(1), inner = inner_map(PAGE, false, NULL);
	__u32 zero = 0;

	for (int i = 0; i < 9; i++) {
		double began = clock_seconds();

		if (bpf_map_update_elem(outer, &zero, &inner, BPF_ANY))
			die("insert");
		times[i] = clock_seconds() - began;
		usleep(20000);
	}
	close(outer);
	close(inner);
	qsort(times, 9, sizeof(times[0]), ascending);
	return times[4];
}

static void say(const char *what, size_t nr, double seconds, double grace, const char *more)
{
	printf("%-44s %10.1f us a library  %9.1f ms in all  %8.1f grace periods%s\n", what,
	       seconds / nr * 1e6, seconds * 1e3, seconds / grace, more);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	size_t nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 1400;
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY }, files = { 65536, 65536 };
	struct bpf_slabs_counts counts;
	double grace, slow, batch, ours, start, at_start, waited;
	char more[128];

	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	setrlimit(RLIMIT_NOFILE, &files);
	read_tables(nr < MAX_LIBRARIES ? nr : MAX_LIBRARIES);
	grace = grace_period();
	printf("%zu libraries, %zu tables; a grace period takes %.2f ms here\n", nr, nr_tables,
	       grace * 1e3);
	ours = by_slabs(nr, &counts, &start);
	snprintf(more, sizeof(more), ", %zu waits of %.1f ms in all", counts.waits - 1,
		 counts.waited_s > start ? (counts.waited_s - start) * 1e3 : 0);
	say("slabs, published after each", nr, ours, grace, more);
	at_start = all_at_start(nr, &waited);
	snprintf(more, sizeof(more), ", %.1f of them spent waiting", waited / grace);
	say("slabs, all at start", nr, at_start, grace, more);
	batch = in_a_batch(nr);
	say("an inner map each, inserted as one batch", nr, batch, grace, "");
	slow = one_by_one(nr);
	say("an inner map each, inserted one by one", nr, slow, grace, "");
	printf("slabs take 1/%.0f of the time of one by one, 1/%.1f of a batch\n", slow / ours,
	       batch / ours);
	return 0;
}
