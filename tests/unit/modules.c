// SPDX-License-Identifier: GPL-2.0-or-later
/* More files than have numbers: those that have one keep it, and what is missing is said. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(void)
{
	struct modules *modules = modules_new();
	bool *used = calloc(MAX_MODULES, sizeof(*used));
	struct module *first, *module;
	uint64_t nr = 1;
	char *text;
	int error;

	if (!modules || !used)
		return 1;
	check(!find(modules, 1, &first));
	used[first->id] = true;
	text = said(modules);
	check(!*text, "%s", text);
	free(text);
	do {
		error = find(modules, ++nr, &module);
		if (nr % 100000 == 0) /* they are gone */
			modules_forget(modules, used);
	} while (!error && nr < MAX_MODULES);
	check(error == -ENOSPC && nr == MAX_MODULES, "%d after %lu", error, nr);
	check(!find(modules, 1, &module) && module == first);
	text = said(modules);
	check(strstr(text, "tool: 2097151 files had code") == text, "%s", text);
	free(text);
	modules_free(modules);
	free(used);
	return check_done();
}
