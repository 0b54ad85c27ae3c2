/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What json-c leaves open: names that are no UTF-8, and one object a line. */
#ifndef EHPERF_REPORT_JSON_H
#define EHPERF_REPORT_JSON_H

#include <json-c/json.h>
#include <stdio.h>

/* a string; what is no UTF-8 in it becomes U+FFFD */
struct json_object *json_name(const char *name);

/* prints the object and a line end, and frees it */
void json_print(FILE *out, struct json_object *object);

#endif
