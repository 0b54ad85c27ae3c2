/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What json-c lacks: names that are not UTF-8, and output of one object per line. */
#ifndef EHPERF_REPORT_JSON_H
#define EHPERF_REPORT_JSON_H

#include <json-c/json.h>
#include <stdio.h>

/* a string, in which U+FFFD replaces invalid UTF-8 */
struct json_object *json_name(const char *name);

/* prints the object and a line end, and frees it */
void json_print(FILE *out, struct json_object *object);

#endif
