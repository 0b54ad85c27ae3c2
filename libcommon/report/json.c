// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/json.h"

#include <stdlib.h>
#include <string.h>
#include <unistr.h>

#include "report/escape.h"

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

void json_print(FILE *out, struct json_object *object)
{
	print_json_escaped(out, json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							       JSON_C_TO_STRING_NOSLASHESCAPE));
	putc('\n', out);
	json_object_put(object);
}
