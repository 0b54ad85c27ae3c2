// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Regions of our own memory: code is written there, replaced, and unmapped, and what walks would
 * find is looked at.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "table/machine.h"
#include "tables_abi.h"
#include "unwind/mapping_list.h"
#include "unwind/regions.h"

static struct slabs *slabs;
static struct modules *modules;
static struct tables *tables;
static struct mapped_modules mapped;
static struct regions regions;
static struct proc_maps maps;
static struct mapping_list list;
static uint32_t generation;
static uint8_t *code; /* a page of our own */

#define PAGE 4096

static int add_slab(void *arg, uint32_t number, uint8_t **bytes)
{
	(void)arg, (void)number;
	*bytes = calloc(1, SLAB_VALUE_SIZE);
	return *bytes ? 0 : -ENOMEM;
}

/* sub $frame, %rsp; nop; add $frame, %rsp; ret */
static void write_function(uint8_t *at, uint8_t frame)
{
	const uint8_t bytes[] = { 0x48, 0x83, 0xec, frame, 0x90, 0x48, 0x83, 0xc4, frame, 0xc3 };

	memcpy(at, bytes, sizeof(bytes));
}

#define IN_FRAME 4 /* offset of the nop */

/* the list is written anew, with what is mapped now */
static void publish(void)
{
	const struct mapping_contents contents = {
		.image = { .tgid = getpid() },
		.generation = ++generation,
		.maps = &maps,
		.mapped = &mapped,
		.regions = &regions,
	};
	struct mapping_list old = list;

	check(!mapped_modules_update(&mapped, modules, &maps) &&
	      !mapping_list_write(tables, &contents, &list));
	if (old.loc)
		mapping_list_release(tables, &old);
	regions_forget(&regions, tables, &maps);
}

static struct published_mapping *mapping_of(const uint8_t *address)
{
	struct published_process *written = slabs_at(slabs, list.loc);

	for (uint32_t i = 0; i < written->nr_mappings; i++)
		if (written->mappings[i].start == (uintptr_t)address)
			return &written->mappings[i];
	return NULL;
}

static const struct published_module *module_of(const uint8_t *address)
{
	return mapping_of(address)->module ? slabs_at(slabs, mapping_of(address)->module) : NULL;
}

static bool asks(void)
{
	return module_of(code) && module_of(code)->pending & PENDING_REGION;
}

static bool want(void)
{
	bool given_up;

	return regions_want(&regions, tables, getpid(), mapping_of(code), maps.mappings[0].number,
			    &given_up);
}

/*
 * the CFA's offset from sp, by the rule that the kernel would find; 0: it would find none. *holds:
 * the note's word is there
 */
static int cfa_and_note_at(uint32_t offset, bool *holds)
{
	const struct published_table *table = &module_of(code)->tables[TABLE_CFI];
	const struct table_page *page = slabs_at(slabs, table->pages);
	const struct eh_rule *rule;
	struct rule_note note;
	uint32_t row = 0;

	if (!table->nr_pages)
		return 0;
	for (uint32_t i = 0; i < page->nr_rows; i++) {
		uint32_t next = 0;

		memcpy(&next, (uint8_t *)slabs_at(slabs, page->rows) + i * ROW_BYTES, ROW_BYTES);
		if (ROW_PC(next) <= offset)
			row = next;
	}
	rule = (struct eh_rule *)slabs_at(slabs, table->rules) + page->rule_base * RULE_BASE_UNIT +
	       ROW_RULE(row);
	if (rule->kind != RULE_REG || rule->cfa_reg != EH_RSP || !(rule->flags & RULE_NOTED))
		return 0;
	memcpy(&note, rule + 1, sizeof(note));
	*holds = !memcmp((const void *)(uintptr_t)note.at, &note.word, sizeof(note.word)) &&
		 !note.tag;
	return rule->cfa_offset;
}

static int cfa_at(uint32_t offset)
{
	bool holds = true;
	int cfa = cfa_and_note_at(offset, &holds);

	return holds ? cfa : 0;
}

static void wait_for_pause(void)
{
	for (int i = 0; i < 1000 && !asks(); i++) {
		usleep(10000);
		regions_resume(&regions, tables);
	}
}

static void test_reading(void)
{
	check(asks() && !module_of(code)->tables[TABLE_CFI].nr_pages,
	      "it is not read before a walk ends there");
	check(want() && cfa_at(0) == 8 && cfa_at(IN_FRAME) == 8 + 0x20, "it has rules then");
	check(!asks() && !want(), "and is not read again at once");
	wait_for_pause();
	check(asks() && !want() && cfa_at(IN_FRAME) == 8 + 0x20,
	      "when it is, and nothing has changed, the table stays");
	publish();
	check(cfa_at(IN_FRAME) == 8 + 0x20, "so it does in the next list");
}

static void test_changed_code(void)
{
	write_function(code, 0x40);
	check(cfa_at(0) == 0 && cfa_at(IN_FRAME) == 0, "the rules do not hold for other code");
	wait_for_pause();
	check(want() && cfa_at(IN_FRAME) == 8 + 0x40, "other code has other rules");
}

static void test_replaced_mapping(void)
{
	maps.mappings[0].number++;
	publish();
	check(asks() && cfa_at(IN_FRAME) == 0 && regions.nr == 0,
	      "another mapping there is another region");
}

/* the memory that tables take is given back */
static void test_memory(void)
{
	loc_t few = 0, many = 0;

	for (int i = 0; i < 200; i++) {
		loc_t *last = i < 20 ? &few : &many;

		maps.mappings[0].number++;
		publish();
		check(want());
		if (mapping_of(code)->module > *last)
			*last = mapping_of(code)->module;
	}
	check(many <= few, "many readings take no more than a few do");
}

static void test_hopeless(void)
{
	/* push %rbp; mov %rsp, %rbp; pop; ret */
	static const uint8_t with_fp[] = { 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3 };

	memset(code, 0, PAGE);
	memcpy(code, with_fp, sizeof(with_fp));
	for (int i = 0; i < 40 && asks(); i++) {
		check(!want() && !asks() && cfa_at(1) == 0,
		      "code that keeps frame pointers has no rules");
		maps.mappings[0].number++;
		publish();
	}
	check(!asks(), "a process with many such regions is not asked any more");
}

int main(void)
{
	struct proc_mapping mapping = { .number = 1000, .path = (char *)"" };

	code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	write_function(code, 0x20);
	mapping.start = (uintptr_t)code;
	mapping.end = mapping.start + PAGE;
	modules = modules_new();
	check(modules && !slabs_new(&slabs, (struct slab_source){ .add = add_slab }) &&
	      !tables_new(&tables, slabs, modules) && !proc_maps_append(&maps, &mapping));
	maps.tid = getpid();
	publish();

	test_reading();
	test_changed_code();
	test_replaced_mapping();
	test_memory();
	test_hopeless();

	regions_free(&regions, tables);
	mapping_list_release(tables, &list);
	mapped_modules_free(&mapped);
	proc_maps_free(&maps);
	tables_free(tables);
	modules_free(modules);
	slabs_free(slabs);
	return check_done();
}
