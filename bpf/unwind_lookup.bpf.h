/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a pc's mapping in the process's list, and its rule in the tables of the mapping's file. */
#ifndef EHPERF_UNWIND_LOOKUP_BPF_H
#define EHPERF_UNWIND_LOOKUP_BPF_H

#include "unwind_state.bpf.h"

/* where loc points to; SLAB_SLACK bytes may be read there */
static __always_inline void *slab_at(struct eh_unwind *u, loc_t loc)
{
	void *slab = slab_of(u, loc);

	return slab ? slab + LOC_OFFSET(loc) : NULL;
}

/*
 * Both searches below halve a range [at, at + nr) whose first element is known not to lie after the
 * target. Either way out of a comparison leaves the same nr and an `at` the verifier knows nothing of,
 * so that it follows one path and not two to the power of the steps.
 */

/* the last of nr mappings that does not begin after pc, or the first one */
static __always_inline struct eh_mapping *search_mappings(void *slab, loc_t process, __u32 nr, __u64 pc)
{
	__u32 at = process + sizeof(struct eh_process), half, i;
	struct eh_mapping *mapping;

	for (i = 0; i < MAX_MAPPINGS_SHIFT && nr > 1; i++) {
		half = nr / 2;
		mapping = slab + LOC_OFFSET(at + half * sizeof(*mapping));
		if (mapping->start <= pc)
			at += half * sizeof(*mapping);
		nr -= half;
	}
	return slab + LOC_OFFSET(at);
}

/* The mapping that holds pc, into u->mapping and u->module. */
static __always_inline bool find_mapping(struct eh_unwind *u, __u64 pc)
{
	struct eh_mapping *mapping;
	struct eh_module *module;
	void *slab;

	if (pc >= u->mapping.start && pc < u->mapping.end)
		return true;
	slab = slab_of(u, u->process);
	if (!slab || !u->nr_mappings)
		return false;
	mapping = search_mappings(slab, u->process, u->nr_mappings, pc);
	if (pc < mapping->start || pc >= mapping->end)
		return false;
	u->mapping = *mapping;
	u->module = (struct eh_module){};
	if (mapping->module) {
		module = slab_at(u, mapping->module);
		if (module)
			u->module = *module;
	}
	return true;
}

/* The rule for this offset in the file of u->module, into u->rule; RULE_NONE where the table has none. */
static __always_inline void find_rule(struct eh_unwind *u, __u32 table_nr, __u64 file_offset)
{
	const struct eh_table *table = &u->module.tables[table_nr & (NR_TABLES - 1)];
	__u64 page_nr = (file_offset >> PAGE_ROWS_SHIFT) - table->first_page;
	__u32 pc = file_offset & (MAX_PAGE_ROWS - 1), at, nr, half, i, row;
	struct eh_page *page;
	struct eh_rule *rule;
	void *slab;

	u->rule = (struct eh_rule){};
	if (page_nr >= table->nr_pages)
		return;
	page = slab_at(u, table->pages + page_nr * sizeof(*page));
	if (!page)
		return;
	at = page->rows;
	nr = page->nr_rows;
	slab = slab_of(u, at);
	if (!slab)
		return;
	for (i = 0; i < PAGE_ROWS_SHIFT && nr > 1; i++) {
		half = nr / 2;
		row = *(__u32 *)(slab + LOC_OFFSET(at + half * ROW_BYTES));
		if (ROW_PC(row) <= pc)
			at += half * ROW_BYTES;
		nr -= half;
	}
	row = *(__u32 *)(slab + LOC_OFFSET(at));
	rule = slab_at(u, table->rules + (page->rule_base * RULE_BASE_UNIT + ROW_RULE(row)) * sizeof(*rule));
	if (rule)
		u->rule = *rule;
}

#endif
