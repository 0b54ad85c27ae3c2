// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Characters by what the Unicode standard's character database says of them: text and pages show
 * the same ones.
 */
#include <stdlib.h>
#include <string.h>

#include "report/escape.h"
#include "report/page_text.h"
#include "check.h"

static const struct {
	const char *name, *page; /* page NULL: as in the name */
} characters[] = {
	{ "a" },
	{ " " },
	{ "~" },
	{ "\u00e9" },
	{ "\u20ac" },
	{ "\U0001f600" },
	{ "\ufffd" },
	{ "\n", "\\u{a}" },
	{ "\033", "\\u{1b}" },
	{ "\177", "\\u{7f}" }, /* control characters */
	{ "\xc2\x9b", "\\u{9b}" },
	{ "\u200e", "\\u{200e}" },
	{ "\u202e", "\\u{202e}" }, /* directions of writing */
	{ "\u2028", "\\u{2028}" },
	{ "\u2029", "\\u{2029}" }, /* line separators */
	/* not in XML, or no characters */
	{ "\xef\xbf\xbe", "\\u{fffe}" },
	{ "\xf4\x8f\xbf\xbf", "\\u{10ffff}" },
	{ "\xef\xb7\x90", "\\u{fdd0}" },
	{ "\xcd\xb8", "\\u{378}" },
};

static void test_character(const char *name, const char *page)
{
	char *escaped, *clean = page_text(name);
	size_t bytes;
	FILE *out = open_memstream(&escaped, &bytes);

	print_escaped(out, name);
	fclose(out);
	check(clean && !strcmp(clean, page ? page : name), "in a page: %s", clean);
	check(!strcmp(escaped, name) == !page && (!page || !strncmp(escaped, "\\x", 2)),
	      "in text: %s", escaped);
	free(clean);
	free(escaped);
}

int main(void)
{
	char *clean = page_text("a\xff"
				"b");

	for (size_t i = 0; i < sizeof(characters) / sizeof(characters[0]); i++)
		test_character(characters[i].name, characters[i].page);
	check(clean && !strcmp(clean, "a\ufffd"
				      "b"),
	      "no UTF-8: %s", clean);
	free(clean);
	return check_done();
}
