/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared parts of all tools' JSON (ehperf-json(5)): the first line, names that are not UTF-8,
 * addresses, and one object per line.
 */
#ifndef EHPERF_REPORT_JSON_H
#define EHPERF_REPORT_JSON_H

#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>

/* of the objects of all tools; a field that goes, or means something else, makes a new version */
#define JSON_SCHEMA 2

/* {"type":"start",…}: a new object with the fields that all tools have */
struct json_object *json_start(void);

/* a string, in which U+FFFD replaces invalid UTF-8 */
struct json_object *json_name(const char *name);
/* adds json_name() to the object, if there is one */
void json_add_name(struct json_object *object, const char *field, const char *name);

/* a number, 2^53 - 1 at most, because jq and JavaScript round larger ones */
#define JSON_MAX_NUMBER ((1ULL << 53) - 1)
struct json_object *json_number(uint64_t number);

/* "0x…": a string, because jq and JavaScript round large numbers */
struct json_object *json_address(uint64_t address);

/* a time of CLOCK_REALTIME: "2026-11-22T07:25:00.123456789Z" */
struct json_object *json_time(uint64_t realtime_ns);

/* one line, valid until the object is freed, changed or asked again */
const char *json_text(struct json_object *object);
/* prints the object and a line end, and frees it */
void json_print(FILE *out, struct json_object *object);

#endif
