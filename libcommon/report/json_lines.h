/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads JSON lines that may contain anything, one object at a time. The first error is kept, with
 * its line number, and ends the lines. So read freely, and check once.
 */
#ifndef EHPERF_REPORT_JSON_LINES_H
#define EHPERF_REPORT_JSON_LINES_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/json.h"

/* a line that is longer, or has more values, is wrong: no tool writes such */
#define JSON_LINE_BYTES  (16 << 20)
#define JSON_LINE_VALUES (1 << 20)
#define JSON_LINE_DEPTH  16

struct json_lines {
	FILE *in;
	uint64_t number; /* of the line read last, from 1 */
	char wrong[160]; /* what is wrong with it; "": nothing */
	/* private */
	char *line;
	size_t room;
	struct json_tokener *tokener;
};

/* 0 or -ENOMEM */
int json_lines_init(struct json_lines *lines, FILE *in);
void json_lines_free(struct json_lines *lines);

/* The next line's object, which the caller puts. NULL: there is none, or it is wrong */
struct json_object *json_lines_next(struct json_lines *lines);
/* Says what is wrong with this line, unless something is wrong already. */
void json_lines_wrong(struct json_lines *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Get a field of an object. If it is missing, they return false or NULL, and change nothing else.
 * If it has another type, or a number is not from 0 to max, they also do that, and it is an error.
 */
bool json_lines_get_number(struct json_lines *lines, struct json_object *object, const char *name,
			   uint64_t max, uint64_t *value);
bool json_lines_get_address(struct json_lines *lines, struct json_object *object, const char *name,
			    uint64_t *value);
bool json_lines_get_bool(struct json_lines *lines, struct json_object *object, const char *name);
const char *json_lines_get_string(struct json_lines *lines, struct json_object *object,
				  const char *name);
struct json_object *json_lines_get(struct json_lines *lines, struct json_object *object,
				   const char *name, enum json_type type);
/*
 * A required number; if it is missing, that is an error, and the result is 0. A required string;
 * then the result is ""
 */
uint64_t json_lines_number(struct json_lines *lines, struct json_object *object, const char *name,
			   uint64_t max);
const char *json_lines_string(struct json_lines *lines, struct json_object *object,
			      const char *name);
/* json_time()'s; 0: it is missing */
uint64_t json_lines_get_time(struct json_lines *lines, struct json_object *object,
			     const char *name);

#endif
