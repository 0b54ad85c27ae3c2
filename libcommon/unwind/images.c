// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/images.h"

#include <errno.h>

#include "unwind/tables.h"
#include "processes_abi.h"

int image_find_modules(struct modules *modules, struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->nr; i++) {
		struct module *module;
		int error;

		if (maps->mappings[i].module_id)
			continue;
		error = modules_find(modules, maps->tid, &maps->mappings[i], &module);
		if (error == -ENOMEM)
			return error;
		if (!error && module)
			maps->mappings[i].module_id = module->id;
	}
	return 0;
}

int image_make_tables(struct slabs *slabs, struct modules *modules, struct proc_maps *maps)
{
	int error = image_find_modules(modules, maps);

	for (size_t i = 0; i < maps->nr && !error; i++) {
		struct module *module = modules_get(modules, maps->mappings[i].module_id);
		struct unwind_table table;

		if (!module || module->compiled)
			continue;
		module_compile(module, &table);
		error = upload_module(slabs, module, &table);
	}
	return error;
}

/* a power of two: so sized, what one list leaves another can use */
static size_t list_bytes(size_t nr)
{
	size_t wanted = sizeof(struct eh_process) + nr * sizeof(struct eh_mapping), size = 256;

	while (size < wanted)
		size *= 2;
	return size <= SLAB_BYTES / 2 ? size : wanted;
}

int image_write(struct slabs *slabs, struct modules *modules, const struct proc_maps *maps, const struct eh_image *image,
		uint32_t changes, uint32_t generation, loc_t *loc, size_t *bytes)
{
	size_t nr = maps->nr < MAX_MAPPINGS ? maps->nr : MAX_MAPPINGS, size = list_bytes(nr);
	loc_t at = slabs_alloc(slabs, size);
	struct eh_process *written = slabs_at(slabs, at);

	if (!at)
		return -errno;
	__atomic_store_n(&written->generation, 0, __ATOMIC_SEQ_CST);
	written->image = *image;
	written->changes = changes;
	written->nr_mappings = nr;
	written->quiet_until_ns = 0;
	for (size_t i = 0; i < nr; i++) {
		const struct proc_mapping *m = &maps->mappings[i];
		const struct module *module = modules_get(modules, m->module_id);

		written->mappings[i] = (struct eh_mapping){
			.start = m->start, .end = m->end, .file_offset = m->file_offset,
			.module = module ? module->loc : 0, .module_id = m->module_id,
		};
	}
	__atomic_store_n(&written->generation, generation, __ATOMIC_SEQ_CST);
	*loc = at;
	*bytes = size;
	return 0;
}

void image_unwind(struct slabs *slabs, struct modules *modules, loc_t process, const struct host_registers *registers,
		  struct host_memory memory, uint32_t max_depth, struct host_stack *stack)
{
	struct unwind_table table;
	struct module *module;

	for (;;) {
		host_unwind(slabs, process, registers, memory, max_depth, stack);
		module = modules_get(modules, stack->wants_code);
		if (!module)
			return;
		module_compile_code(module, &table);
		upload_code(slabs, module, &table);	/* without memory there is none */
	}
}

void image_release(struct slabs *slabs, loc_t loc, size_t bytes)
{
	struct eh_process *written = slabs_at(slabs, loc);

	if (!loc)
		return;
	__atomic_store_n(&written->generation, 0, __ATOMIC_SEQ_CST);
	slabs_release(slabs, loc, bytes);
}
