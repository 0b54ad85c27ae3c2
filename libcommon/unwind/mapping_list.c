// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/mapping_list.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "unwind/regions.h"

int mapping_list_make_tables(struct tables *tables, const struct proc_maps *maps,
			     struct mapped_modules *mapped)
{
	int error = mapped_modules_update(mapped, tables_modules(tables), maps);

	for (size_t i = 0; i < mapped->nr && !error; i++)
		error = tables_make(tables, mapped->of[i].module_id);
	return error;
}

static size_t list_bytes(size_t nr)
{
	return sizeof(struct published_process) + nr * sizeof(struct published_mapping);
}

/* 0 with errno set */
static loc_t take(struct tables *tables, size_t size)
{
	loc_t loc = slabs_alloc(tables_slabs(tables), size);

	if (!loc && errno == ENOSPC && tables_make_room(tables))
		loc = slabs_alloc(tables_slabs(tables), size);
	return loc;
}

/*
 * the place of the module's struct published_module, which the list uses from now on; 0: it has
 * none
 */
static loc_t use(struct tables *tables, uint32_t module_id)
{
	tables_make(tables, module_id); /* again, if its table was dropped to make room */
	tables_use(tables, module_id);
	return tables_loc(tables, module_id);
}

static uint64_t in_pages(uint64_t bytes)
{
	uint64_t page = sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/*
 * The kernel does not tell that it has cut the mapping of a program or its interpreter, and other
 * code may lie behind the cut: arm64's vDSO in the hole between two segments of ld.so.
 */
static uint64_t end_of(const struct module *module, const struct proc_mapping *m)
{
	uint64_t bytes = m->end - m->start;

	return module && module->cut && module->cut < module->whole &&
			       bytes == in_pages(module->whole)
		       ? m->start + in_pages(module->cut)
		       : m->end;
}

static struct published_mapping mapping_of(struct tables *tables,
					   const struct mapping_contents *contents, size_t i)
{
	const struct proc_mapping *m = &contents->maps->mappings[i];
	struct published_mapping mapping = {
		.start = m->start,
		.end = m->end,
		.file_offset = m->file_offset,
		.module_id = contents->mapped->of[i].module_id,
	};

	if (mapping.module_id) {
		mapping.end = end_of(modules_get(tables_modules(tables), mapping.module_id), m);
		mapping.module = use(tables, mapping.module_id);
	} else if (contents->generated && proc_mapping_is_anonymous(m)) {
		mapping.module = contents->generated;
		mapping.file_offset = anonymous_offset(m->start);
	} else if (contents->regions && proc_mapping_is_anonymous(m)) {
		mapping.module = regions_use(contents->regions, tables, m);
		mapping.file_offset = 0;
	}
	return mapping;
}

int mapping_list_write(struct tables *tables, const struct mapping_contents *contents,
		       struct mapping_list *list)
{
	size_t nr = contents->maps->nr < MAX_MAPPINGS ? contents->maps->nr : MAX_MAPPINGS,
	       size = list_bytes(nr);
	loc_t loc = take(tables, size);
	struct published_process *written = slabs_at(tables_slabs(tables), loc);

	if (!loc)
		return -errno;
	/*
	 * A walk may still hold the handle of an older list at this place. The generation is 0
	 * while the list is being written, and set last: see struct published_process.
	 */
	__atomic_store_n(&written->generation, 0, __ATOMIC_SEQ_CST);
	written->image = contents->image;
	written->changes = contents->changes;
	written->runtimes = contents->runtimes;
	written->nr_mappings = nr;
	written->refused = contents->refused;
	written->quiet_until_ns = contents->quiet_until_ns;
	for (size_t i = 0; i < nr; i++)
		written->mappings[i] = mapping_of(tables, contents, i);
	__atomic_store_n(&written->generation, contents->generation, __ATOMIC_SEQ_CST);
	*list = (struct mapping_list){ .loc = loc, .bytes = size };
	return 0;
}

void mapping_list_cut(struct tables *tables, const struct proc_maps *maps,
		      const struct mapped_modules *mapped, loc_t loc)
{
	struct published_process *list = slabs_at(tables_slabs(tables), loc);

	for (size_t i = 0; i < list->nr_mappings && i < mapped->nr && i < maps->nr; i++) {
		const struct module *module =
			modules_get(tables_modules(tables), mapped->of[i].module_id);
		uint64_t end = end_of(module, &maps->mappings[i]);

		if (list->mappings[i].end != end)
			__atomic_store_n(&list->mappings[i].end, end, __ATOMIC_RELAXED);
	}
}

void mapping_list_unwind(struct tables *tables, loc_t list, const struct host_registers *registers,
			 struct host_memory memory, uint32_t max_depth, struct host_stack *stack)
{
	do
		host_unwind(tables_slabs(tables), list, registers, memory, max_depth, stack);
	while (stack->wants_table && tables_want(tables, stack->wants_table));
}

int mapping_list_share(struct mapping_list *list, struct mapping_list *share)
{
	if (!list->nr_users) {
		list->nr_users = malloc(sizeof(*list->nr_users));
		if (!list->nr_users)
			return -ENOMEM;
		*list->nr_users = 1;
	}
	++*list->nr_users;
	*share = *list;
	return 0;
}

/*
 * Tables that only this list used may be freed: it is invalid, and walks that still read it are
 * discarded.
 */
static void give_back(struct tables *tables, const struct mapping_list *list)
{
	const struct published_process *written = slabs_at(tables_slabs(tables), list->loc);

	for (uint32_t i = 0; i < written->nr_mappings; i++) {
		const struct published_mapping *mapping = &written->mappings[i];

		if (mapping->module && mapping->module_id)
			tables_unuse(tables, mapping->module_id);
		else if (mapping->module) /* or a runtime's own */
			tables_unuse_region(tables, mapping->module);
	}
	slabs_release(tables_slabs(tables), list->loc, list->bytes);
}

void mapping_list_unshare(struct tables *tables, struct mapping_list *share)
{
	if (!share->nr_users || !--*share->nr_users) {
		free(share->nr_users);
		if (share->loc)
			give_back(tables, share);
	}
	*share = (struct mapping_list){};
}

void mapping_list_release(struct tables *tables, struct mapping_list *list)
{
	struct published_process *written = slabs_at(tables_slabs(tables), list->loc);

	if (list->loc)
		__atomic_store_n(&written->generation, 0, __ATOMIC_SEQ_CST);
	mapping_list_unshare(tables, list);
}
