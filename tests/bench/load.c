// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long the tools' BPF programs take to load: the verifier's share as the kernel tells it, program by
 * program, and the whole of bpf_object__load() with maps and libbpf's own work. The median of ten loads each.
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/load.h"
#include "bpf/object.h"
#include "process/clock.h"

#define LOADS 10
#define MAX_PROGRAMS 32
#define LOG_STATS 4	/* BPF_LOG_STATS: "verification time N usec" */

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

static void bench(const char *path)
{
	static char logs[MAX_PROGRAMS][4096];
	static double verified_ms[MAX_PROGRAMS][LOADS];
	static char names[MAX_PROGRAMS][64];
	double loaded_ms[LOADS], sum = 0;
	unsigned int instructions[MAX_PROGRAMS], nr = 0;

	for (int load = 0; load < LOADS; load++) {
		struct bpf_object *object = bpf_object__open(path);
		struct bpf_program *program;
		double from;

		if (!object)
			exit(EXIT_FAILURE);
		nr = 0;
		bpf_object__for_each_program(program, object) {
			logs[nr][0] = 0;	/* one that this kernel does not load writes nothing */
			bpf_program__set_log_level(program, LOG_STATS);
			bpf_program__set_log_buf(program, logs[nr], sizeof(logs[nr]));
			if (++nr == MAX_PROGRAMS)
				break;
		}
		from = clock_seconds();
		if (bpf_object__load(object))
			exit(EXIT_FAILURE);
		loaded_ms[load] = (clock_seconds() - from) * 1e3;
		nr = 0;
		bpf_object__for_each_program(program, object) {
			const char *time = strstr(logs[nr], "verification time ");

			verified_ms[nr][load] = time ? atof(time + strlen("verification time ")) / 1e3 : 0;
			instructions[nr] = program_verified(program);
			snprintf(names[nr], sizeof(names[nr]), "%s", bpf_program__name(program));
			if (++nr == MAX_PROGRAMS)
				break;
		}
		bpf_object__close(object);
	}
	for (unsigned int i = 0; i < nr; i++) {
		double ms = median(verified_ms[i]);

		sum += ms;
		printf("  %-18s %6u instructions  %7.2f ms\n", names[i], instructions[i], ms);
	}
	printf("%s: verified in %.1f ms; loaded with all its maps in %.1f ms\n", path, sum, median(loaded_ms));
}

int main(int argc, char **argv)
{
	bpf_load_init(NULL);
	for (int i = 1; i < argc; i++)
		bench(argv[i]);
	return 0;
}
