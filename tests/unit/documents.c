// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Documents in groups: what is kept is the end of a plain list, from the beginning of a group on,
 * within the limits.
 */
#include "live/documents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define NR        1000
#define MAX_BYTES 500
#define KEEP_NS   100

/* as they were added */
static struct {
	char text[32];
	bool begins;
	uint64_t ns;
} plain[NR];

static bool is_kept(const struct documents *d, uint64_t number)
{
	const struct document *document = documents_get(d, number);

	return document && document->number == number && document->begins == plain[number].begins &&
	       document->bytes == strlen(plain[number].text) &&
	       !memcmp(document->text, plain[number].text, document->bytes);
}

static size_t bytes_from(size_t first, size_t nr)
{
	size_t bytes = 0;

	for (size_t i = first; i < nr; i++)
		bytes += strlen(plain[i].text);
	return bytes;
}

/* what must be kept of the first nr documents: the first one's number */
static size_t first_kept(size_t nr)
{
	for (size_t first = 0, next;; first = next) {
		for (next = first + 1; next < nr && !plain[next].begins; next++)
			;
		if (next == nr || (bytes_from(first, nr) <= MAX_BYTES &&
				   plain[nr - 1].ns - plain[next - 1].ns <= KEEP_NS))
			return first;
	}
}

static void test_kept(void)
{
	struct documents d = { .max_bytes = MAX_BYTES, .keep_ns = KEEP_NS };
	bool same = true, bounds = true, last = true;
	uint64_t ns = 0, newest = 0;

	srand(1);
	for (size_t i = 0; i < NR; i++) {
		ns += rand() % (i < NR / 2 ? 2 : 20);
		plain[i].begins = !i || rand() % 5 == 0;
		plain[i].ns = ns;
		snprintf(plain[i].text, sizeof(plain[i].text), "%zu %.*s", i, rand() % 20,
			 "xxxxxxxxxxxxxxxxxxxx");
		if (plain[i].begins)
			newest = i;
		if (documents_add(&d, strdup(plain[i].text), strlen(plain[i].text), plain[i].begins,
				  ns))
			abort();
		bounds &= documents_first(&d) == first_kept(i + 1) && documents_next(&d) == i + 1;
		last &= documents_last_group(&d) == newest;
		for (size_t number = 0; number < i + 2; number++)
			same &= number >= documents_first(&d) && number <= i
					? is_kept(&d, number)
					: !documents_get(&d, number);
	}
	check(bounds, "whole groups are kept, as many as the limits allow, and the last one");
	check(same, "what is kept is what was added, and nothing else is there");
	check(last, "the last group's beginning is known");
	documents_free(&d);
}

static void test_first(void)
{
	struct documents d = { .max_bytes = MAX_BYTES, .keep_ns = KEEP_NS };

	check(!documents_get(&d, 0) && !documents_first(&d) && !documents_next(&d) &&
		      !documents_last_group(&d),
	      "nothing is there at first");
	check(!documents_add(&d, strdup("x"), 1, false, 0) && documents_get(&d, 0)->begins,
	      "the first one needs none before it");
	documents_free(&d);
}

int main(void)
{
	test_first();
	test_kept();
	return check_done();
}
