// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistr.h>

#include "base/clock.h"
#include "report/escape.h"

static struct json_object *json_utc(uint64_t realtime_ns, int digits)
{
	char seconds[32], nanoseconds[16], text[64];
	time_t time = realtime_ns / 1000000000;
	struct tm utc;

	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", gmtime_r(&time, &utc));
	snprintf(nanoseconds, sizeof(nanoseconds), "%09" PRIu64, realtime_ns % 1000000000);
	snprintf(text, sizeof(text), "%s.%.*sZ", seconds, digits, nanoseconds);
	return json_object_new_string(text);
}

struct json_object *json_time(uint64_t realtime_ns)
{
	return json_utc(realtime_ns, 9);
}

struct json_object *json_start(void)
{
	struct json_object *start = json_object_new_object();
	struct utsname machine = {};

	uname(&machine);
	json_object_object_add(start, "type", json_object_new_string("start"));
	json_object_object_add(start, "schema", json_object_new_int(JSON_SCHEMA));
	json_object_object_add(start, "tool", json_name(program_invocation_short_name));
	json_object_object_add(start, "version", json_object_new_string(EHPERF_VERSION));
	json_object_object_add(start, "host", json_name(machine.nodename));
	json_object_object_add(start, "kernel", json_name(machine.release));
	json_object_object_add(start, "time", json_utc(clock_realtime_ns(clock_ns()), 3));
	return start;
}

struct json_object *json_name(const char *name)
{
	size_t left = strlen(name), at = 0;
	uint8_t *text = malloc(3 * left + 1);
	struct json_object *object;

	if (!text)
		return NULL;
	while (left) {
		ucs4_t c;
		int used = u8_mbtouc(&c, (const uint8_t *)name, left);

		at += u8_uctomb(text + at, c, 6);
		name += used;
		left -= used;
	}
	object = json_object_new_string_len((char *)text, at);
	free(text);
	return object;
}

void json_add_name(struct json_object *object, const char *field, const char *name)
{
	if (name)
		json_object_object_add(object, field, json_name(name));
}

struct json_object *json_number(uint64_t number)
{
	return json_object_new_uint64(number < JSON_MAX_NUMBER ? number : JSON_MAX_NUMBER);
}

struct json_object *json_address(uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return json_object_new_string(text);
}

const char *json_text(struct json_object *object)
{
	return json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							      JSON_C_TO_STRING_NOSLASHESCAPE);
}

void json_print(FILE *out, struct json_object *object)
{
	print_json_escaped(out, json_text(object));
	putc('\n', out);
	json_object_put(object);
}
