/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a pc's mapping in the process's list, and its rule in the tables of the mapping's file. */
#ifndef EHPERF_WALK_LOOKUP_BPF_H
#define EHPERF_WALK_LOOKUP_BPF_H

#include "walk/state.bpf.h"

/* where loc points to; SLAB_SLACK bytes may be read there */
static __always_inline void *slab_at(struct user_walk *u, loc_t loc)
{
	void *slab = slab_of(u, loc);

	return slab ? slab + LOC_OFFSET(loc) : NULL;
}

/*
 * Both searches below halve a range [*at, *at + *nr) whose first element is known not to lie after
 * the target, until *nr is 1. Both results of a comparison leave the same *nr, and the verifier
 * knows nothing of *at. So it follows one path, and not two to the power of the steps. And the
 * steps are written out: in a loop, the verifier looks for a state that it has seen before only now
 * and then, and follows three times as much.
 */
#define FOUR_AND(step) ((step) && (step) && (step) && (step))

static __always_inline bool halve_mappings(void *slab, __u32 *at, __u32 *nr, __u64 pc)
{
	__u32 half = *nr / 2;
	struct published_mapping *mapping = slab + LOC_OFFSET(*at + half * sizeof(*mapping));

	if (*nr <= 1)
		return false;
	if (mapping->start <= pc)
		*at += half * sizeof(*mapping);
	*nr -= half;
	return true;
}

/* the last of nr mappings that does not begin after pc, or the first one */
static __always_inline struct published_mapping *search_mappings(void *slab, loc_t process,
								 __u32 nr, __u64 pc)
{
	__u32 at = process + sizeof(struct published_process);

	(void)FOUR_AND(FOUR_AND(halve_mappings(slab, &at, &nr, pc))); /* MAX_MAPPINGS_SHIFT times */
	return slab + LOC_OFFSET(at);
}

static __always_inline bool halve_rows(void *slab, __u32 *at, __u32 *nr, __u32 pc)
{
	__u32 half = *nr / 2;

	if (*nr <= 1)
		return false;
	if (ROW_PC(*(loose_u32 *)(slab + LOC_OFFSET(*at + half * ROW_BYTES))) <= pc)
		*at += half * ROW_BYTES;
	*nr -= half;
	return true;
}

/* the last of nr rows that does not begin after pc, or the first one */
static __always_inline __u32 search_rows(void *slab, loc_t at, __u32 nr, __u32 pc)
{
	/* PAGE_ROWS_SHIFT times */
	(void)(FOUR_AND(halve_rows(slab, &at, &nr, pc)) &&
	       FOUR_AND(halve_rows(slab, &at, &nr, pc)) &&
	       FOUR_AND(halve_rows(slab, &at, &nr, pc)));
	return *(loose_u32 *)(slab + LOC_OFFSET(at));
}
_Static_assert(MAX_MAPPINGS_SHIFT == 16 && PAGE_ROWS_SHIFT == 12, "as many steps");

/* find_mapping() if the pc is not in the last mapping */
VERIFIED_ONCE int find_other_mapping(struct user_walk *u, __u64 pc)
{
	struct published_mapping *mapping;
	struct published_module *module;
	void *slab;

	if (!u || !u->nr_mappings)
		return false;
	slab = slab_of(u, u->process);
	if (!slab)
		return false;
	mapping = search_mappings(slab, u->process, u->nr_mappings, pc);
	if (pc < mapping->start || pc >= mapping->end)
		return false;
	u->mapping = *mapping;
	u->module = (struct published_module){};
	if (mapping->module) {
		module = slab_at(u, mapping->module);
		if (module)
			u->module = *module;
	}
	return true;
}

/* The mapping that holds pc, into u->mapping and u->module. */
static __always_inline bool find_mapping(struct user_walk *u, __u64 pc)
{
	return (pc >= u->mapping.start && pc < u->mapping.end) || CALL(find_other_mapping, u, pc);
}

/* Where the rule lies for this offset in the file of u->module, or NULL */
static __always_inline struct eh_rule *rule_at(struct user_walk *u, __u32 table_nr,
					       __u64 file_offset)
{
	const struct published_table *table = &u->module.tables[table_nr & (NR_TABLES - 1)];
	__u64 page_nr = (file_offset >> PAGE_ROWS_SHIFT) - table->first_page;
	struct table_page page;
	__u64 *packed;
	__u32 row;
	loc_t rules = table->rules;
	void *slab;

	if (page_nr >= table->nr_pages)
		return NULL;
	packed = slab_at(u, table->pages + page_nr * sizeof(page));
	if (!packed)
		return NULL;
	u->page = *(volatile __u64 *)packed;
	__builtin_memcpy(&page, &u->page, sizeof(page));
	slab = slab_of(u, page.rows);
	if (!slab)
		return NULL;
	row = search_rows(slab, page.rows, page.nr_rows, file_offset & (MAX_PAGE_ROWS - 1));
	if (!rules)
		rules = RULES_BEHIND(page.rows, page.nr_rows);
	return slab_at(u, rules + (page.rule_base * RULE_BASE_UNIT + ROW_RULE(row)) *
					  sizeof(struct eh_rule));
}

/*
 * The rule for this offset in the file of u->module, into u->rule; RULE_NONE where the table has
 * none.
 */
static __always_inline void find_rule(struct user_walk *u, __u32 table_nr, __u64 file_offset)
{
	const struct eh_rule *rule = rule_at(u, table_nr, file_offset);

	if (!rule) {
		u->rule = (struct eh_rule){};
		return;
	}
	u->rule = *rule;
	if (u->rule.flags & RULE_NOTED)
		__builtin_memcpy(&u->note, rule + 1, sizeof(u->note));
}

#endif
