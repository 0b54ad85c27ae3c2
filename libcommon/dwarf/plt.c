// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/plt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define MAX_PLT_BYTES        (16 << 20)
#define MAX_RELOCATION_BYTES (64 << 20)

struct slot {
	uint64_t vaddr; /* in the GOT */
	uint32_t name;  /* in .dynstr */
};

struct slots {
	struct slot *all;
	size_t nr;
};

static int by_vaddr(const void *left, const void *right)
{
	const struct slot *l = left, *r = right;

	return order_of(l->vaddr, r->vaddr);
}

static int add_slots(struct slots *slots, struct elf_file *file, const char *section,
		     const struct elf_section *dynsym)
{
	struct elf_section relocations;
	struct slot *more;
	size_t nr;

	if (elf_file_section(file, section, &relocations) ||
	    relocations.size > MAX_RELOCATION_BYTES)
		return 0;
	nr = relocations.size / sizeof(Elf64_Rela);
	more = reallocarray(slots->all, slots->nr + nr + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	slots->all = more;
	for (size_t i = 0; i < nr; i++) {
		Elf64_Rela relocation;
		Elf64_Sym symbol;
		uint64_t index;

		memcpy(&relocation, relocations.bytes + i * sizeof(relocation), sizeof(relocation));
		index = ELF64_R_SYM(relocation.r_info);
		if (!index || index >= dynsym->size / sizeof(symbol))
			continue;
		memcpy(&symbol, dynsym->bytes + index * sizeof(symbol), sizeof(symbol));
		slots->all[slots->nr++] = (struct slot){ relocation.r_offset, symbol.st_name };
	}
	return 0;
}

/*
 * the slot that the x86-64 entry at bytes[at] jumps through: [endbr64] [bnd] jmp *slot(%rip). 0: it
 * is no such entry
 */
static uint64_t x86_slot(const struct elf_section *plt, size_t at)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct cursor c = cursor_over(plt->bytes + at, plt->size - at);
	int32_t displacement;

	if (cursor_left(&c) >= sizeof(endbr64) && !memcmp(c.p, endbr64, sizeof(endbr64)))
		cursor_bytes(&c, sizeof(endbr64));
	if (cursor_left(&c) && *c.p == 0xf2)
		cursor_u8(&c);
	if (cursor_u16(&c) != 0x25ff)
		return 0;
	displacement = cursor_u32(&c);
	return c.bad ? 0 : plt->vaddr + (c.p - plt->bytes) + displacement;
}

/* adrp x16, page; ldr x17, [x16, #offset] */
static uint64_t arm_slot(const struct elf_section *plt, size_t at)
{
	struct cursor c = cursor_over(plt->bytes + at, plt->size - at);
	uint32_t adrp = cursor_u32(&c), ldr = cursor_u32(&c);
	int64_t pages =
		(int64_t)((uint64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3)) << 43) >> 43;

	if (c.bad || (adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return 0;
	return ((plt->vaddr + at) & ~0xfffULL) + (uint64_t)pages * 4096 + (ldr >> 10 & 0xfff) * 8;
}

static const struct slot *find_slot(const struct slots *slots, uint64_t vaddr)
{
	struct slot key = { .vaddr = vaddr };

	return vaddr && slots->nr ? bsearch(&key, slots->all, slots->nr, sizeof(key), by_vaddr)
				  : NULL;
}

static int add_entries(struct symbol_table *table, struct elf_file *file, const char *section,
		       const struct slots *slots)
{
	bool arm = file->header.e_machine == EM_AARCH64;
	struct elf_section plt;
	GElf_Shdr header;
	size_t step = 16;
	int error = 0;

	if (!elf_file_header(file, SHT_PROGBITS, section, &header) ||
	    header.sh_size > MAX_PLT_BYTES || elf_file_section(file, section, &plt))
		return 0;
	if (arm)
		step = 4;
	else if (header.sh_entsize == 8) /* .plt.got without IBT */
		step = 8;
	for (size_t at = 0; at < plt.size && !error; at += step) {
		const struct slot *slot =
			find_slot(slots, arm ? arm_slot(&plt, at) : x86_slot(&plt, at));

		if (slot && slot->name < table->string_bytes && table->strings[slot->name])
			error = symbol_table_add(table, &(struct symbol_entry){
								.start = plt.vaddr + at,
								.size = arm ? 16 : step,
								.name = slot->name,
								.rank = SYMBOL_TABLE_BEST_RANK,
							});
	}
	return error;
}

static int copy_strings(struct symbol_table *table, struct elf_file *file)
{
	struct elf_section strings;

	if (elf_file_section(file, ".dynstr", &strings) || strings.size >= SYMBOL_TABLE_MAX_STRINGS)
		return -EBADMSG;
	table->strings = malloc(strings.size + 1);
	if (!table->strings)
		return -ENOMEM;
	memcpy(table->strings, strings.bytes, strings.size);
	table->strings[strings.size] = 0;
	table->string_bytes = strings.size;
	return 0;
}

static int read_entries(struct symbol_table *table, struct elf_file *file, struct slots *slots)
{
	static const char *const sections[] = { ".plt", ".plt.sec", ".plt.got" };
	struct elf_section dynsym;
	GElf_Shdr header;
	int error;

	if (elf_file_section(file, ".dynsym", &dynsym))
		return 0;
	error = add_slots(slots, file, ".rela.plt", &dynsym);
	if (!error && elf_file_header(file, 0, ".plt.got", &header))
		error = add_slots(slots, file, ".rela.dyn", &dynsym);
	if (error || !slots->nr)
		return error;
	qsort(slots->all, slots->nr, sizeof(*slots->all), by_vaddr);
	error = copy_strings(table, file);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]) && !error; i++)
		error = add_entries(table, file, sections[i], slots);
	return error;
}

int plt_read(struct symbol_table *table, struct elf_file *file)
{
	struct slots slots = {};
	int error;

	*table = (struct symbol_table){};
	if (file->header.e_machine != EM_X86_64 && file->header.e_machine != EM_AARCH64)
		return 0;
	error = read_entries(table, file, &slots);
	free(slots.all);
	if (!error)
		symbol_table_finish(table);
	if (error || !table->nr)
		symbol_table_free(table);
	return error;
}
