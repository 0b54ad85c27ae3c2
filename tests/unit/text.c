// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

static bool is(char *text, const char *expected)
{
	bool same = text && !strcmp(text, expected);

	free(text);
	return same;
}

int main(void)
{
	struct text *first = text_begin(), *second, *again;
	size_t bytes = 1 << 20;
	char *large;

	fputs("a text of some length", first->out);
	second = text_begin();
	check(second && second != first, "two at a time");
	fputs("another", second->out);
	check(is(text_end(first), "a text of some length"));
	again = text_begin();
	check(again == first, "the stream is used again");
	fputs("short", again->out);
	check(is(text_end(again), "short"), "nothing is left of the text before");
	check(is(text_end(second), "another"));
	check(is(text_end(text_begin()), ""), "nothing was printed");
	again = text_begin();
	for (size_t i = 0; i < bytes; i++)
		putc('x', again->out);
	large = text_end(again);
	check(large && strlen(large) == bytes && strspn(large, "x") == bytes, "a long one");
	free(large);
	check(is(text_end(text_begin()), ""));
	return check_done();
}
