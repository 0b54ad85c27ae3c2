// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/json_lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"

int json_lines_init(struct json_lines *l, FILE *in)
{
	*l = (struct json_lines){ .in = in, .tokener = json_tokener_new_ex(JSON_LINE_DEPTH) };
	if (!l->tokener)
		return -ENOMEM;
	json_tokener_set_flags(l->tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	return 0;
}

void json_lines_free(struct json_lines *l)
{
	if (l->tokener)
		json_tokener_free(l->tokener);
	free(l->line);
}

void json_lines_wrong(struct json_lines *l, const char *format, ...)
{
	va_list args;

	if (*l->wrong)
		return;
	va_start(args, format);
	vsnprintf(l->wrong, sizeof(l->wrong), format, args);
	va_end(args);
}

/* Reads a line, without its end. How many bytes it has, or 0: there is none, or it is wrong */
static size_t read_line(struct json_lines *l)
{
	size_t length = 0, values = 1;
	int c;

	l->number++;
	while ((c = getc_unlocked(l->in)) != EOF && c != '\n') {
		values += c == ',';
		if (length == JSON_LINE_BYTES || values > JSON_LINE_VALUES) {
			json_lines_wrong(l, "the line is too long");
			return 0;
		}
		if (array_reserve(&l->line, &l->room, length + 1)) {
			json_lines_wrong(l, "no memory");
			return 0;
		}
		l->line[length++] = c;
	}
	if (c == EOF && ferror(l->in))
		json_lines_wrong(l, "reading it failed: %s", strerror(errno));
	else if (c == EOF && length)
		json_lines_wrong(l, "the line is cut");
	else if (c != EOF && !length)
		json_lines_wrong(l, "the line is empty");
	return length;
}

struct json_object *json_lines_next(struct json_lines *l)
{
	size_t length = *l->wrong ? 0 : read_line(l);
	struct json_object *object = NULL;

	if (*l->wrong || !length)
		return NULL;
	json_tokener_reset(l->tokener);
	object = json_tokener_parse_ex(l->tokener, l->line, length);
	if (json_tokener_get_error(l->tokener) == json_tokener_continue)
		json_lines_wrong(l, "the line is cut");
	else if (json_tokener_get_error(l->tokener) == json_tokener_error_depth)
		json_lines_wrong(l, "it is nested too deeply");
	else if (json_tokener_get_error(l->tokener) != json_tokener_success)
		json_lines_wrong(l, "it is not JSON: %s",
				 json_tokener_error_desc(json_tokener_get_error(l->tokener)));
	else if (!json_object_is_type(object, json_type_object))
		json_lines_wrong(l, "it is not an object");
	if (!*l->wrong)
		return object;
	json_object_put(object);
	return NULL;
}

struct json_object *json_lines_get(struct json_lines *l, struct json_object *object,
				   const char *name, enum json_type type)
{
	struct json_object *field = NULL;

	if (!json_object_object_get_ex(object, name, &field))
		return NULL;
	if (json_object_is_type(field, type))
		return field;
	json_lines_wrong(l, "'%s' is not a JSON %s", name, json_type_to_name(type));
	return NULL;
}

bool json_lines_get_number(struct json_lines *l, struct json_object *object, const char *name,
			   uint64_t max, uint64_t *value)
{
	struct json_object *field = json_lines_get(l, object, name, json_type_int);

	if (!field)
		return false;
	/* json-c makes numbers out of range the nearest ones */
	if (json_object_get_int64(field) < 0 || json_object_get_uint64(field) > max) {
		json_lines_wrong(l, "'%s' is out of range", name);
		return false;
	}
	*value = json_object_get_uint64(field);
	return true;
}

const char *json_lines_get_string(struct json_lines *l, struct json_object *object,
				  const char *name)
{
	struct json_object *field = json_lines_get(l, object, name, json_type_string);
	const char *text = field ? json_object_get_string(field) : NULL;

	if (text && strlen(text) != (size_t)json_object_get_string_len(field)) {
		json_lines_wrong(l, "'%s' has a NUL in it", name);
		return NULL;
	}
	return text;
}

bool json_lines_get_address(struct json_lines *l, struct json_object *object, const char *name,
			    uint64_t *value)
{
	const char *text = json_lines_get_string(l, object, name);
	unsigned long long address;
	char *end;

	if (!text)
		return false;
	errno = 0;
	address = strncmp(text, "0x", 2) ? 0 : strtoull(text, &end, 16);
	if (strncmp(text, "0x", 2) || errno || !text[2] ||
	    text[2 + strspn(text + 2, "0123456789abcdef")]) {
		json_lines_wrong(l, "'%s' is not an address", name);
		return false;
	}
	*value = address;
	return true;
}

bool json_lines_get_bool(struct json_lines *l, struct json_object *object, const char *name)
{
	struct json_object *field = json_lines_get(l, object, name, json_type_boolean);

	return field && json_object_get_boolean(field);
}

uint64_t json_lines_number(struct json_lines *l, struct json_object *object, const char *name,
			   uint64_t max)
{
	uint64_t value = 0;

	if (!json_lines_get_number(l, object, name, max, &value))
		json_lines_wrong(l, "'%s' is missing", name);
	return value;
}

const char *json_lines_string(struct json_lines *l, struct json_object *object, const char *name)
{
	const char *text = json_lines_get_string(l, object, name);

	if (!text)
		json_lines_wrong(l, "'%s' is missing", name);
	return text ? text : "";
}

uint64_t json_lines_get_time(struct json_lines *l, struct json_object *object, const char *name)
{
	const char *text = json_lines_get_string(l, object, name), *rest;
	struct tm utc = {};
	unsigned ns = 0;
	int used = 0;

	if (!text)
		return 0;
	rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
	if (!rest || sscanf(rest, ".%9u%n", &ns, &used) != 1 || used != 10 ||
	    strcmp(rest + used, "Z") || timegm(&utc) < 0) {
		json_lines_wrong(l, "'%s' is not a time", name);
		return 0;
	}
	return timegm(&utc) * 1000000000ULL + ns;
}
