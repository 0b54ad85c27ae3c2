// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of stacks: the table of functions, what is merged, and what is left out. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "report/stack_report.h"

enum { LIBA = 1, LIBB, PROG, OTHER_LIBA, NR_FILES = OTHER_LIBA };

static const char *const paths[] = {
	[LIBA] = "/lib/liba.so",
	[LIBB] = "/lib/libb.so",
	[PROG] = "/bin/prog",
	[OTHER_LIBA] = "/opt/liba.so",
};

static struct stack_frames *stack_of(uint32_t nr, const uint64_t *frames)
{
	struct stack_frames *stack = malloc(sizeof(*stack) + nr * sizeof(*frames));

	*stack = (struct stack_frames){ .nr = nr };
	memcpy(stack->frames, frames, nr * sizeof(*frames));
	return stack;
}

/* unnamed, so that each file is a function "[file]" */
#define IN(file) ((uint64_t)(file) << FRAME_OFFSET_BITS | 0x1000)
#define ENTRY(thread, name, n, ...)                                       \
	{                                                                 \
		.key = { .pid = 7, .tid = thread, .comm = name },         \
		.value = { .count = n, .blocked_ns = 1000 * (n) },        \
		.user = stack_of(sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, \
				 (uint64_t[]){ __VA_ARGS__ }),            \
	}

static uint64_t blocked(const struct stack_value *value)
{
	return value->blocked_ns;
}

static const struct measure samples = { .value = measure_count, .counted = "samples" },
			    times = { .value = blocked, .counted = "samples", .is_time = true };

/* the text of the entries; the caller frees it */
static char *text_of(const struct measure *measure, const struct stack_entry *entries, size_t nr,
		     size_t top)
{
	static const struct file_key key;
	struct stack_summary summary = { .tool = "test", .measure = measure };
	char *text;
	size_t bytes;
	struct stack_writer w = {
		.out = open_memstream(&text, &bytes),
		.names = { .modules = modules_new() },
		.top = top,
	};

	for (uint32_t id = 1; id <= NR_FILES; id++) {
		check(!modules_adopt(w.names.modules, id,
				     &(struct mapped_file){ .path = (char *)paths[id] }, &key));
		modules_get(w.names.modules, id)->symbols_tried = true;
	}
	check(!stack_report_text(&w, &summary, entries, nr));
	fclose(w.out);
	modules_free(w.names.modules);
	return text;
}

static void is(const struct measure *measure, const struct stack_entry *entries, size_t nr,
	       size_t top, const char *expected)
{
	char *text = text_of(measure, entries, nr, top);

	if (!check(!strcmp(text, expected), "%zu entries, top %zu", nr, top))
		printf("# instead of\n%s\n# it is\n%s\n", expected, text);
	free(text);
}

static void test_table(void)
{
	const struct stack_entry entries[] = {
		/* recursion counts once */
		ENTRY(7, "a", 50, IN(LIBA), IN(PROG), IN(LIBB), IN(PROG), IN(PROG)),
		ENTRY(7, "a", 30, IN(LIBB), IN(PROG)),
		ENTRY(7, "a", 20, IN(OTHER_LIBA), IN(LIBB)),
	};

	is(&samples, entries, 0, 0, "");
	is(&samples, entries, 3, 0,
	   "self %  total %  samples  function   module\n"
	   "  50.0     50.0       50  [liba.so]  liba.so\n"
	   "  30.0    100.0       30  [libb.so]  libb.so\n"
	   "  20.0     20.0       20  [liba.so]  liba.so\n"
	   "   0.0     80.0        0  [prog]     prog\n\n"
	   "    [liba.so]\n    [libb.so]\n    -                a (7)\n        20 samples, 20.0 % of all\n\n"
	   "    [libb.so]\n    [prog]\n    -                a (7)\n        30 samples, 30.0 % of all\n\n"
	   "    [liba.so]\n    [prog]\n    [libb.so]\n    [prog]\n    [prog]\n    -                a (7)\n"
	   "        50 samples, 50.0 % of all\n\n");
	is(&times, entries, 3, 1,
	   "self %  total %  us  function   module\n"
	   "  50.0     50.0  50  [liba.so]  liba.so\n"
	   "  50.0           50  (3 more functions: --top=all shows all)\n\n"
	   "    [liba.so]\n    [prog]\n    [libb.so]\n    [prog]\n    [prog]\n    -                a (7)\n"
	   "        50 us, 50.0 % of all\n\n"
	   "not shown: 2 stacks, 50.0 % of all time; --top=all shows all\n");
}

/* one text for the threads of a process that have one name, and how many they are */
static void test_threads(void)
{
	const struct stack_entry entries[] = {
		ENTRY(8, "a", 1, IN(LIBA)), ENTRY(7, "a", 1, IN(LIBA)), ENTRY(8, "a", 1, IN(LIBA)),
		ENTRY(7, "a", 1, IN(LIBA)), ENTRY(9, "b", 3, IN(LIBA)), ENTRY(7, "a", 1, IN(LIBB)),
		ENTRY(7, "a", 1, IN(LIBB)),
	};

	is(&samples, entries, 7, TOP_ALL,
	   "self %  total %  samples  function   module\n"
	   "  77.8     77.8        7  [liba.so]  liba.so\n"
	   "  22.2     22.2        2  [libb.so]  libb.so\n\n"
	   "    [libb.so]\n    -                a (7)\n        2 samples, 22.2 % of all\n\n"
	   "    [liba.so]\n    -                b (7)\n        3 samples, 33.3 % of all\n\n"
	   "    [liba.so]\n    -                a (7), 2 threads\n        4 samples, 44.4 % of all\n\n");
}

/* no frames, and marks in place of frames and of stacks */
static void test_no_functions(void)
{
	struct stack_entry entries[] = {
		ENTRY(7, "a", 1, IN(LIBA), FRAME_CUT(3), IN(PROG)),
		ENTRY(7, "a", 2, FRAME_SUMMED(5)),
		ENTRY(7, "a", 3, 0),
	};

	entries[2].user = NULL;
	is(&samples, entries, 3, 0,
	   "self %  total %  samples  function        module\n"
	   "  50.0     50.0        3  [no stack]\n"
	   "  33.3     33.3        2  [other stacks]\n"
	   "  16.7     16.7        1  [liba.so]       liba.so\n"
	   "   0.0     16.7        0  [prog]          prog\n\n"
	   "    [liba.so]\n    [...]\n    [prog]\n    -                a (7)\n        1 sample, 16.7 % of all\n\n"
	   "    [other stacks]\n    -                a (7)\n        2 samples, 33.3 % of all\n\n"
	   "    -                a (7)\n        3 samples, 50.0 % of all\n\n");
}

/* a long stack is whole only if that is asked for */
static void test_cut(void)
{
	uint64_t frames[100];
	struct stack_entry entry = ENTRY(7, "a", 1, 0), waker = ENTRY(9, "b", 1, 0);
	char *text;
	size_t nr = 0;

	for (size_t i = 0; i < 100; i++)
		frames[i] = IN(i < 50 ? LIBA : PROG);
	entry.user = waker.user = stack_of(100, frames);
	entry.waker = &waker;
	text = text_of(&samples, &entry, 1, 0);
	check(strstr(text,
		     "\n    waker:           b (7)\n    [prog]\n    [prog]\n    [prog]\n    [prog]\n    … 86 frames …\n    [liba.so]\n"),
	      "the waker's: %s", text);
	check(strstr(text, "    [liba.so]\n    --\n    [liba.so]\n"));
	check(strstr(
		text,
		"    [liba.so]\n    … 86 frames …\n    [prog]\n    [prog]\n    [prog]\n    [prog]\n    -                a (7)\n"));
	free(text);
	text = text_of(&samples, &entry, 1, 1);
	check(!strstr(text, "…"));
	for (const char *at = text; (at = strstr(at, "\n    [")); at++)
		nr++;
	check(nr == 200, "%zu lines", nr);
	free(text);
}

int main(void)
{
	test_table();
	test_threads();
	test_no_functions();
	test_cut();
	return check_done();
}
