// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/page_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistr.h>

#include "report/escape.h"

static void put_clean(FILE *out, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		uint8_t bytes[6];
		ucs4_t c;
		int used = u8_mbtouc(&c, (const uint8_t *)text, left), nr;

		if (!is_harmless(c)) { /* also those that XML does not allow: they are unassigned */
			fprintf(out, "\\u{%" PRIx32 "}", (uint32_t)c);
		} else {
			nr = u8_uctomb(bytes, c, sizeof(bytes));
			fwrite(bytes, 1, nr > 0 ? nr : 0, out);
		}
		text += used;
		left -= used;
	}
}

char *page_text(const char *text)
{
	char *clean = NULL;
	size_t bytes;
	FILE *out = open_memstream(&clean, &bytes);

	if (!out)
		return NULL;
	put_clean(out, text);
	if (!fclose(out))
		return clean;
	free(clean);
	return NULL;
}

void page_put_xml(FILE *out, const char *text)
{
	char *clean = page_text(text);

	for (const char *c = clean; c && *c; c++) {
		if (strchr("&<>\"'", *c))
			fprintf(out, "&#%d;", *c);
		else
			putc(*c, out);
	}
	free(clean);
}

struct json_object *page_json(const char *text)
{
	char *clean = page_text(text);
	struct json_object *object = clean ? json_object_new_string(clean) : NULL;

	free(clean);
	return object;
}

void page_put_json(FILE *out, struct json_object *object)
{
	const char *text =
		json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							       JSON_C_TO_STRING_NOSLASHESCAPE);

	/* these are in strings only, where they can be escaped */
	for (const char *c = text; c && *c; c++) {
		if (strchr("<>&", *c))
			fprintf(out, "\\u%04x", *c);
		else
			putc(*c, out);
	}
	json_object_put(object);
}
