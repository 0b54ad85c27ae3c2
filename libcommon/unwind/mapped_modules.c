// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/mapped_modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The module ID that is known for this mapping, or 0. A piece of a mapping keeps its number and
 * lies within the old range, so both lists, sorted by address, are merged in one pass. *at: the
 * position in `known`.
 */
static uint32_t known_id(const struct mapped_modules *known, size_t *at,
			 const struct proc_mapping *mapping)
{
	while (*at < known->nr && known->of[*at].end <= mapping->start)
		++*at;
	return *at < known->nr && known->of[*at].number == mapping->number
		       ? known->of[*at].module_id
		       : 0;
}

static int find_id(struct modules *modules, pid_t tid, const struct proc_mapping *mapping,
		   uint32_t *id)
{
	struct module *module;
	int error = modules_find(modules, tid, mapping, &module);

	*id = !error && module ? module->id : 0;
	return error == -ENOMEM ? error : 0;
}

int mapped_modules_update(struct mapped_modules *mapped, struct modules *modules,
			  const struct proc_maps *maps)
{
	struct mapped_module *of = reallocarray(NULL, maps->nr + 1, sizeof(*of));
	int error = of ? 0 : -ENOMEM;

	for (size_t i = 0, at = 0; i < maps->nr && !error; i++) {
		const struct proc_mapping *m = &maps->mappings[i];

		of[i] = (struct mapped_module){ .number = m->number,
						.end = m->end,
						.module_id = known_id(mapped, &at, m) };
		if (!of[i].module_id)
			error = find_id(modules, maps->tid, m, &of[i].module_id);
	}
	if (error) {
		free(of);
		return error;
	}
	free(mapped->of);
	*mapped = (struct mapped_modules){ .of = of, .nr = maps->nr };
	return 0;
}

int mapped_modules_copy(struct mapped_modules *copy, const struct mapped_modules *mapped)
{
	struct mapped_module *of = reallocarray(NULL, mapped->nr + 1, sizeof(*of));

	if (!of)
		return -ENOMEM;
	if (mapped->nr)
		memcpy(of, mapped->of, mapped->nr * sizeof(*of));
	*copy = (struct mapped_modules){ .of = of, .nr = mapped->nr };
	return 0;
}

void mapped_modules_free(struct mapped_modules *mapped)
{
	free(mapped->of);
	*mapped = (struct mapped_modules){};
}
