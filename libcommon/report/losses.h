/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is missing or not as it should be, counted: the tool's table, told on standard error and in the JSON. */
#ifndef EHPERF_REPORT_LOSSES_H
#define EHPERF_REPORT_LOSSES_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct loss {
	const char *name;	/* in JSON; NULL: not there */
	uint64_t count;
	const char *what;	/* in text, behind the count; NULL: not there */
	const char *before;	/* and before the count; NULL: nothing */
	bool lost;		/* is missing in what was measured: all such together are "lost" in JSON */
};

#define MAX_LOSSES	24	/* of one report */

/* Two tables, one behind the other, in all. How many they are; at most MAX_LOSSES are taken */
size_t losses_join(struct loss all[MAX_LOSSES], const struct loss *first, size_t nr_first, const struct loss *second,
		   size_t nr_second);

/* all that are lost */
uint64_t losses_total(const struct loss *losses, size_t nr);
/* "TOOL: COUNT WHAT", a line for each that there is */
void losses_print(FILE *out, const char *tool, const struct loss *losses, size_t nr);
/* "lost", and each by its name, into an object */
void losses_json(struct json_object *object, const struct loss *losses, size_t nr);

#endif
