/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tool's table of losses, and of other deviations that its user should know: printed as text and
 * as JSON.
 */
#ifndef EHPERF_REPORT_LOSSES_H
#define EHPERF_REPORT_LOSSES_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct loss {
	const char *name; /* in JSON; NULL: left out there */
	uint64_t count;
	const char *what; /* in text, after the count; NULL: left out there */
	bool lost;        /* missing in the results: the sum of these is "lost" in JSON */
	/* counted on the whole machine, also if only some processes are measured */
	bool of_machine;
};

#define MAX_LOSSES 24 /* in one report */

/* Copies two tables into one. Returns the number of rows; those beyond MAX_LOSSES are left out */
size_t losses_join(struct loss all[MAX_LOSSES], const struct loss *first, size_t nr_first,
		   const struct loss *second, size_t nr_second);

/* the sum of those with .lost */
uint64_t losses_total(const struct loss *losses, size_t nr);
/* how much of that was counted on the whole machine */
uint64_t losses_of_machine(const struct loss *losses, size_t nr);
/* Is more than 0.1 % missing? taken: how many are in the results */
bool losses_matter(const struct loss *losses, size_t nr, uint64_t taken);
/*
 * "TOOL: COUNT WHAT", a line for each whose count is not 0; for those with .lost only if they
 * matter
 */
void losses_print(FILE *out, const char *tool, const struct loss *losses, size_t nr,
		  uint64_t taken);
/* "lost", "machine_lost" of it, and each by its name, into an object */
void losses_json(struct json_object *object, const struct loss *losses, size_t nr);

#endif
