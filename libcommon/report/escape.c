// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/escape.h"

#include <string.h>
#include <unictype.h>
#include <unistr.h>

bool is_harmless(uint32_t c)
{
	const uint32_t categories = UC_CATEGORY_MASK_Cc | UC_CATEGORY_MASK_Cf |
				    UC_CATEGORY_MASK_Cs | UC_CATEGORY_MASK_Cn |
				    UC_CATEGORY_MASK_Zl | UC_CATEGORY_MASK_Zp;

	return c < 0x7f ? c >= ' ' : !uc_is_general_category_withtable(c, categories);
}

/* The first character of text, and how many bytes it has; *harmless: it is one, and may be shown */
static int next_character(const char *text, size_t left, ucs4_t *c, bool *harmless)
{
	int bytes = 1;

	*c = (unsigned char)*text;
	if (*c >= 0x80)
		bytes = u8_mbtoucr(c, (const uint8_t *)text, left);
	*harmless = bytes > 0 && is_harmless(*c);
	return bytes > 0 ? bytes : 1;
}

/*
 * Prints the characters at the start of text that are harmless and not `also`, and returns how many
 * bytes they have.
 */
static size_t print_harmless(FILE *out, const char *text, size_t left, char also)
{
	size_t bytes = 0;
	bool harmless = true;
	ucs4_t c;

	while (bytes < left && text[bytes] != also) {
		int next = next_character(text + bytes, left - bytes, &c, &harmless);

		if (!harmless)
			break;
		bytes += next;
	}
	fwrite(text, 1, bytes, out);
	return bytes;
}

static void print(FILE *out, const char *text, char also)
{
	size_t left = strlen(text), bytes;

	for (; (bytes = print_harmless(out, text, left, also)) < left;
	     text += bytes, left -= bytes) {
		ucs4_t c;
		bool harmless;

		text += bytes;
		left -= bytes;
		bytes = next_character(text, left, &c, &harmless);
		for (size_t i = 0; i < bytes; i++)
			fprintf(out, "\\x%02x", (unsigned char)text[i]);
	}
}

void print_escaped(FILE *out, const char *name)
{
	print(out, name, ';');
}

void print_message(FILE *out, const char *message)
{
	print(out, message, 0);
}

void print_json_escaped(FILE *out, const char *json)
{
	size_t left = strlen(json), bytes;

	for (; (bytes = print_harmless(out, json, left, 0)) < left; json += bytes, left -= bytes) {
		ucs4_t c;
		bool harmless;
		uint16_t units[2];

		json += bytes;
		left -= bytes;
		bytes = next_character(json, left, &c, &harmless);
		for (int i = 0, nr = u16_uctomb(units, c, 2); i < nr; i++)
			fprintf(out, "\\u%04x", units[i]);
	}
}
