// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load BUILD OTHER TOOL...: how long the tools' BPF programs take to load: the verifier's share as
 * the kernel tells it, program by program, and the whole of bpf_object__load() with maps and
 * libbpf's own work. The median of ten loads each. BUILD: the directory with the build; OTHER: that
 * of another commit, whose programs are loaded by turns, or empty
 */
#include <bpf/libbpf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/load.h"
#include "kernel/object.h"

#define LOADS        10
#define MAX_PROGRAMS 32
#define LOG_STATS    4 /* BPF_LOG_STATS: "verification time N usec" */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, LOADS, sizeof(*values), ascending);
	return values[LOADS / 2];
}

struct loads {
	char names[MAX_PROGRAMS][64];
	unsigned int instructions[MAX_PROGRAMS], nr;
	double verified_ms[MAX_PROGRAMS][LOADS], loaded_ms[LOADS];
};

static void load(const char *path, struct loads *l, int turn)
{
	static char logs[MAX_PROGRAMS][4096];
	struct bpf_object *object = bpf_object__open(path);
	struct bpf_program *program;
	double from;

	if (!object) {
		fprintf(stderr, "load: cannot open '%s'\n", path);
		exit(EXIT_FAILURE);
	}
	l->nr = 0;
	bpf_object__for_each_program(program, object) {
		logs[l->nr][0] = 0; /* one that this kernel does not load writes nothing */
		bpf_program__set_log_level(program, LOG_STATS);
		bpf_program__set_log_buf(program, logs[l->nr], sizeof(logs[l->nr]));
		if (++l->nr == MAX_PROGRAMS)
			break;
	}
	from = clock_seconds();
	if (bpf_object__load(object))
		exit(EXIT_FAILURE);
	l->loaded_ms[turn] = (clock_seconds() - from) * 1e3;
	l->nr = 0;
	bpf_object__for_each_program(program, object) {
		const char *time = strstr(logs[l->nr], "verification time ");

		l->verified_ms[l->nr][turn] =
			time ? atof(time + strlen("verification time ")) / 1e3 : 0;
		l->instructions[l->nr] = program_verified(program);
		snprintf(l->names[l->nr], sizeof(l->names[l->nr]), "%s",
			 bpf_program__name(program));
		if (++l->nr == MAX_PROGRAMS)
			break;
	}
	bpf_object__close(object);
}

/* all programs' milliseconds in the verifier */
static double print_loads(const char *path, struct loads *l)
{
	double sum = 0;

	for (unsigned int i = 0; i < l->nr; i++) {
		double ms = median(l->verified_ms[i]);

		sum += ms;
		printf("  %-18s %6u instructions  %7.2f ms\n", l->names[i], l->instructions[i], ms);
	}
	printf("%s: verified in %.1f ms; loaded with all its maps in %.1f ms\n", path, sum,
	       median(l->loaded_ms));
	return sum;
}

/* false: that build has no such tool */
static bool find_object(char path[PATH_MAX], const char *build, const char *tool)
{
	snprintf(path, PATH_MAX, "%s/tools/%s/%s.bpf.o", build, tool, tool);
	return access(path, R_OK) == 0;
}

static void bench(const char *build, const char *other_build, const char *tool)
{
	static struct loads own, others;
	char path[PATH_MAX], other[PATH_MAX];
	bool beside = *other_build && find_object(other, other_build, tool);
	double own_ms, others_ms;

	find_object(path, build, tool);
	for (int turn = 0; turn < LOADS; turn++) {
		load(path, &own, turn);
		if (beside)
			load(other, &others, turn);
	}
	own_ms = print_loads(path, &own);
	if (!beside)
		return;
	others_ms = print_loads(other, &others);
	printf("%s: %.2f x as long in the verifier\n", tool, own_ms / others_ms);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: load BUILD OTHER TOOL...\n");
		return EXIT_FAILURE;
	}
	bpf_load_init(NULL);
	for (int i = 3; i < argc; i++)
		bench(argv[1], argv[2], argv[i]);
	return 0;
}
