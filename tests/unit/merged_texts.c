// SPDX-License-Identifier: GPL-2.0-or-later
/* Equal texts are one; very many stacks take little more than the numbers of their frames. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"
#include "report/merged_texts.h"

/* what is printed, "TEXT VALUE|" each */
static bool prints(struct merged_texts *texts, const char *expected)
{
	char *printed;
	size_t bytes, nr = merged_texts_sort(texts);
	FILE *out = open_memstream(&printed, &bytes);
	bool same;

	for (size_t i = 0; i < nr; i++)
		fprintf(out, " %u|", (unsigned)merged_texts_print(texts, out, i));
	fclose(out);
	same = !strcmp(printed, expected);
	if (!same)
		printf("# %s\n", printed);
	free(printed);
	return same;
}

static void test_merging(void)
{
	struct merged_texts *texts = merged_texts_new();
	char *large = malloc(20001), expected[20100];

	check(prints(texts, "") && !merged_texts_sum(texts), "none");
	check(!merged_texts_add(texts, "a;b;c", 1) && !merged_texts_add(texts, "a;b", 5) &&
	      !merged_texts_add(texts, "", 2) && !merged_texts_add(texts, "a;b;c", 3) &&
	      !merged_texts_add(texts, "a;b;", 5) && !merged_texts_add(texts, "c\nb;a\n", 4));
	check(prints(texts, "a;b 5|a;b; 5|a;b;c 4|c\nb;a\n 4| 2|"),
	      "the largest first, equal values by text");
	check(merged_texts_sum(texts) == 20);
	check(!merged_texts_add(texts, "a;b;c", 10) &&
		      prints(texts, "a;b;c 14|a;b 5|a;b; 5|c\nb;a\n 4| 2|"),
	      "after sorting, too");
	merged_texts_free(texts);

	texts = merged_texts_new();
	memset(large, 'x', 20000);
	large[20000] = 0;
	snprintf(expected, sizeof(expected), "%s 3|", large);
	check(!merged_texts_add(texts, large, 1) && !merged_texts_add(texts, large, 2) &&
		      prints(texts, expected),
	      "a name that is longer than a label");
	large[19999] = 'y';
	check(!merged_texts_add(texts, large, 9) && merged_texts_sort(texts) == 2,
	      "and differs at its end");
	merged_texts_free(texts);
	free(large);
}

#define NR_STACKS 250000
#define NR_FRAMES 20

static void test_very_many(void)
{
	struct merged_texts *texts = merged_texts_new();
	char text[NR_FRAMES * 64];
	size_t bytes = 0;
	struct rusage usage;
	int error = 0;

	for (uint32_t i = 0; i < NR_STACKS && !error; i++) {
		uint32_t bits = i;
		char *at = text;

		for (int k = 0; k < NR_FRAMES; k++, bits = bits / 2)
			at += sprintf(at, "a_function_of_frame_%d_with_a_name_%u;", k, bits & 1);
		bytes += at - text;
		error = merged_texts_add(texts, text, 1);
	}
	check(!error && merged_texts_sort(texts) == NR_STACKS &&
	      merged_texts_sum(texts) == NR_STACKS);
	merged_texts_free(texts);
	getrusage(RUSAGE_SELF, &usage);
	check(usage.ru_maxrss < 64 << 10, "%ld KiB for %zu KiB of text", usage.ru_maxrss,
	      bytes >> 10);
}

int main(void)
{
	test_merging();
	test_very_many();
	return check_done();
}
