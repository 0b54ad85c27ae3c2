// SPDX-License-Identifier: GPL-2.0-or-later
/* IDs of files: each is one file's, until it is forgotten and a minute is over. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/name_sources.h"
#include "report/stack_summary.h"
#include "unwind/modules.h"
#include "check.h"

static int find(struct modules *modules, uint64_t inode, struct module **module)
{
	struct proc_mapping mapping = {
		.start = 0x1000,
		.end = 0x2000,
		.inode = inode,
		.path = "/file",
		.looked = true,
	};

	mapping.file = (struct file_key){ .dev = 1, .inode = inode };
	return modules_find(modules, 1, &mapping, module);
}

static char *said(const struct modules *modules)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		abort();
	stack_summary_crowded(out, "tool", modules);
	fclose(out);
	return text;
}

static time_t later_s;

/* Time passes by later_s alone. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ .tv_sec = 1000 + later_s };
	return 0;
}

static bool *used;

/* None but the first is in use. */
static void forget_others(struct modules *modules)
{
	modules_forget(modules, used);
	modules_forget(modules, used);
}

#define NR 1000

/* Do nr new files have these IDs, one after the other? */
static bool have_ids(struct modules *modules, uint64_t inode, uint32_t id, size_t nr)
{
	struct module *module;

	while (nr && !find(modules, inode++, &module) && module->id == id++)
		nr--;
	return !nr;
}

static void test_ids_are_given_again(void)
{
	struct modules *modules = modules_new();
	struct module *first, *module;
	uint64_t inode = 10 * NR;

	check(!find(modules, 1, &first));
	used[first->id] = true;
	check(have_ids(modules, 2, 2, NR - 1));
	forget_others(modules);
	check(modules_get(modules, first->id) == first && !modules_get(modules, 2));
	check(have_ids(modules, 2, NR + 1, NR - 1)); /* too early for the others */
	later_s += 62;
	check(have_ids(modules, NR + 1, 2, NR - 1));
	check(modules_get(modules, 2)->serial == 2 * NR);
	check(!find(modules, 2 * NR, &module) && module->id == 2 * NR);
	check(modules_last_id(modules) == 2 * NR && modules_nr_seen(modules) == 3 * NR - 1);
	forget_others(modules);
	used[2 * NR] = true; /* a stack came late, and names it */
	modules_forget(modules, used);
	used[2 * NR] = false;
	later_s += 62;
	while (!find(modules, ++inode, &module) && module->id <= 2 * NR && module->id != 2 * NR)
		;
	check(module->id == 2 * NR + 1, "no file gets an ID that a stack has: %u", module->id);
	modules_free(modules);
}

/* One that is found again between two looks at what is in use stays. */
static void test_found_again(void)
{
	struct modules *modules = modules_new();
	struct module *module;

	check(!find(modules, 1, &module) && !find(modules, 2, &module));
	modules_forget(modules, used);
	check(!find(modules, 2, &module));
	modules_forget(modules, used);
	check(modules_get(modules, 2) == module);
	modules_forget(modules, used);
	check(!modules_get(modules, 2));
	modules_free(modules);
}

static uint64_t frame_in(const struct module *module)
{
	return (uint64_t)module->id << FRAME_OFFSET_BITS | 0x1234;
}

/* A name is of a file, and not of another that gets its ID. */
static void test_names(void)
{
	struct modules *modules = modules_new();
	struct module *module;
	struct name_sources names;
	struct name_source *source;
	struct named_frame named = {};
	uint64_t key, frame;

	name_sources_init(&names, modules);
	check(!find(modules, 1, &module) && !find(modules, 2, &module));
	frame = named.frame = frame_in(module);
	key = name_source_key(&names, 7, frame);
	source = name_sources_get(&names, key);
	check(source && !name_sources_add(&names, source, &named, "old", NULL));
	check(name_sources_known(&names, key, frame));
	check(name_sources_module(&names, key) == module);
	forget_others(modules);
	check(name_source_is_forgotten(&names, key));
	later_s += 62;
	check(!find(modules, 3, &module) && frame_in(module) == frame);
	check(name_source_key(&names, 7, frame) != key && name_source_is_forgotten(&names, key));
	check(!name_sources_known(&names, name_source_key(&names, 7, frame), frame));
	check(name_source_may_have(name_source_key(&names, 7, frame), frame));
	name_sources_free(&names);
	modules_free(modules);
}

/* In a worker: a file with the ID and even the path of another one */
static void test_adopted(void)
{
	struct modules *modules = modules_new();
	struct mapped_file file = { .path = (char *)"/file" };
	struct file_key key = { .dev = 1, .inode = 2 }, other = { .dev = 1, .inode = 3 };

	check(!modules_adopt(modules, 5, &file, &key) &&
	      modules_has_adopted(modules, 5, &file, &key));
	modules_get(modules, 5)->symbols_tried = true;
	check(!modules_adopt(modules, 5, &file, &key) && modules_get(modules, 5)->symbols_tried);
	check(!modules_has_adopted(modules, 5, &file, &other));
	check(!modules_adopt(modules, 5, &file, &other) && !modules_get(modules, 5)->symbols_tried);
	check(modules_get(modules, 5)->key.inode == 3);
	check(!modules_adopt_vdso(modules, 5) && modules_get(modules, 5)->image);
	check(!modules_adopt(modules, 5, &file, &other) && !modules_get(modules, 5)->image);
	modules_free(modules);
}

static void test_all_ids(void)
{
	struct modules *modules = modules_new();
	struct module *first, *module;
	uint64_t nr = 1;
	char *text;
	int error;

	check(!find(modules, 1, &first));
	text = said(modules);
	check(!*text, "%s", text);
	free(text);
	do {
		error = find(modules, ++nr, &module);
		if (nr % 100000 == 0) /* they are gone, but their IDs must rest */
			forget_others(modules);
	} while (!error && nr < MAX_MODULES);
	check(error == -ENOSPC && nr == MAX_MODULES, "%d after %lu", error, nr);
	check(!find(modules, 1, &module) && module == first);
	text = said(modules);
	check(strstr(text, "tool: 2097151 files had code at a time") == text, "%s", text);
	free(text);
	forget_others(modules);
	later_s += 62;
	check(!find(modules, nr, &module) && module->id == 2);
	modules_free(modules);
}

int main(void)
{
	used = calloc(MAX_MODULES, sizeof(*used));
	if (!used)
		return 1;
	test_ids_are_given_again();
	test_found_again();
	test_names();
	test_adopted();
	test_all_ids();
	free(used);
	return check_done();
}
