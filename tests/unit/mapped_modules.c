// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of mappings that cannot be identified: they are no memory, each path has its own module, and they are looked up again. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "unwind/mapped_modules.h"

static struct modules *modules;
static struct mapped_modules mapped;

/* the module of a mapping of our own program whose path is said to be this one */
static struct module *module_of(struct proc_maps *maps, const char *path)
{
	for (size_t i = 0; i < maps->nr; i++) {
		if (strcmp(maps->mappings[i].path, path))
			continue;
		check(!mapped_modules_update(&mapped, modules, maps));
		return modules_get(modules, mapped.of[i].module_id);
	}
	exit(1);
}

/* our own program's mapping */
static struct proc_mapping *find_program(struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->nr; i++)
		if (strstr(maps->mappings[i].path, "mapped_modules"))
			return &maps->mappings[i];
	exit(1);
}

int main(void)
{
	struct proc_maps maps = {};
	struct proc_mapping *program;
	struct module *first, *second, *found;
	char *path;

	modules = modules_new();
	if (!modules || proc_maps_read(&maps, getpid()))
		return 1;
	maps.tid = 0;	/* no process has it: what has no path any more is not found */
	program = find_program(&maps);
	path = program->path;
	program->path = "/no/such/file";
	first = module_of(&maps, "/no/such/file");
	check(first && first->error && !strcmp(first->path, "/no/such/file"), "a file that is not found has its path, and an error");
	program->path = "/no/other/file";
	program->number++;
	second = module_of(&maps, "/no/other/file");
	check(second && second != first && !strcmp(second->path, "/no/other/file"), "another file of this number has its own path");
	program->path = "/memfd:code (deleted)";
	program->number++;
	check(!module_of(&maps, "/memfd:code (deleted)"), "shared memory that has gone is memory");
	program->path = "/no/such/file";
	program->number++;
	check(module_of(&maps, "/no/such/file") == first, "the first is known again");
	program->path = path;
	found = module_of(&maps, path);
	check(found && found != first && !found->error && !strcmp(found->path, path), "it is found when it is there again");
	mapped_modules_free(&mapped);
	proc_maps_free(&maps);
	modules_free(modules);
	return check_done();
}
