// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/symbol_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"
#include "base/search.h"

#define CHUNK_SYMBOLS 2048
/* an entry that lies within more than this many others is hostile */
#define MAX_NESTING 256

#define RANK_SIZED       16
#define RANK_PUBLIC      8 /* global or weak */
#define RANK_UNDERSCORES 2 /* times 0 to 3 */
#define RANK_GLOBAL      1

struct reading {
	struct symbol_table *table;
	struct elf_file *file;
	const struct elf_file *code;
	size_t max_entries;
};

int symbol_table_add(struct symbol_table *table, const struct symbol_entry *entry)
{
	if (array_reserve(&table->entries, &table->room, table->nr + 1))
		return -ENOMEM;
	table->entries[table->nr++] = *entry;
	return 0;
}

static bool in_code(const struct elf_file *code, uint64_t vaddr)
{
	for (size_t i = 0; i < code->nr_segments; i++) {
		const struct elf_segment *s = &code->segments[i];

		if (s->executable && vaddr >= s->vaddr && vaddr - s->vaddr < s->size)
			return true;
	}
	return false;
}

static unsigned rank(const Elf64_Sym *symbol, const char *name)
{
	unsigned char binding = ELF64_ST_BIND(symbol->st_info);
	size_t underscores = strspn(name, "_");
	unsigned rank = symbol->st_size ? RANK_SIZED : 0;

	if (binding != STB_LOCAL)
		rank |= RANK_PUBLIC;
	if (binding == STB_GLOBAL || binding == STB_GNU_UNIQUE)
		rank |= RANK_GLOBAL;
	return rank + RANK_UNDERSCORES * (underscores < 3 ? 3 - underscores : 0);
}

/* a function, or a label of assembly, with a name; not aarch64's marks of code and data ($x, $d) */
static bool is_function(const struct reading *r, const Elf64_Sym *symbol)
{
	unsigned char type = ELF64_ST_TYPE(symbol->st_info);
	const char *name;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
	    symbol->st_name >= r->table->string_bytes ||
	    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
	    !in_code(r->code, symbol->st_value))
		return false;
	name = r->table->strings + symbol->st_name;
	return *name && (type != STT_NOTYPE || *name != '$');
}

static int add_symbol(struct reading *r, const Elf64_Sym *symbol)
{
	struct symbol_entry entry;

	if (!is_function(r, symbol))
		return 0;
	if (r->table->nr >= r->max_entries)
		return r->max_entries < SYMBOL_TABLE_MAX_SYMBOLS ? -ENOMEM : -EFBIG;
	entry = (struct symbol_entry){
		.start = symbol->st_value,
		.size = symbol->st_size < UINT32_MAX ? symbol->st_size : UINT32_MAX,
		.name = symbol->st_name,
		.rank = rank(symbol, r->table->strings + symbol->st_name),
		.around = symbol->st_shndx, /* until symbol_table_finish() */
	};
	if (entry.size > UINT64_MAX - entry.start)
		return 0;
	return symbol_table_add(r->table, &entry);
}

static int read_strings(struct reading *r, uint32_t link, size_t max_bytes)
{
	struct symbol_table *table = r->table;
	Elf_Scn *scn = elf_getscn(r->file->elf, link);
	GElf_Shdr header;
	int error;

	if (!scn || !gelf_getshdr(scn, &header) || header.sh_type != SHT_STRTAB ||
	    header.sh_flags & SHF_COMPRESSED)
		return -EBADMSG;
	if (header.sh_size >= SYMBOL_TABLE_MAX_STRINGS)
		return -EFBIG;
	table->strings = header.sh_size < max_bytes ? malloc(header.sh_size + 1) : NULL;
	if (!table->strings)
		return -ENOMEM;
	error = elf_file_read(r->file, header.sh_offset, table->strings, header.sh_size);
	table->strings[header.sh_size] = 0;
	table->string_bytes = header.sh_size;
	return error;
}

/* one entry of the file, of either class */
static Elf64_Sym symbol_at(const uint8_t *entry, bool is_64)
{
	Elf32_Sym small;
	Elf64_Sym symbol;

	if (is_64) {
		memcpy(&symbol, entry, sizeof(symbol));
		return symbol;
	}
	memcpy(&small, entry, sizeof(small));
	return (Elf64_Sym){
		.st_name = small.st_name,
		.st_info = small.st_info,
		.st_other = small.st_other,
		.st_shndx = small.st_shndx,
		.st_value = small.st_value,
		.st_size = small.st_size,
	};
}

static int read_symbols(struct reading *r, const GElf_Shdr *header)
{
	uint64_t nr = header->sh_size / header->sh_entsize;
	bool is_64 = header->sh_entsize == sizeof(Elf64_Sym);
	uint8_t chunk[CHUNK_SYMBOLS * sizeof(Elf64_Sym)];
	int error = 0;

	if (header->sh_offset > r->file->file_bytes ||
	    header->sh_size > r->file->file_bytes - header->sh_offset)
		return -EBADMSG;
	for (uint64_t at = 0; at < nr && !error; at += CHUNK_SYMBOLS) {
		size_t n = nr - at < CHUNK_SYMBOLS ? nr - at : CHUNK_SYMBOLS;

		error = elf_file_read(r->file, header->sh_offset + at * header->sh_entsize, chunk,
				      n * header->sh_entsize);
		for (size_t i = 0; i < n && !error; i++) {
			Elf64_Sym symbol = symbol_at(chunk + i * header->sh_entsize, is_64);

			error = add_symbol(r, &symbol);
		}
	}
	return error;
}

/*
 * the end of the section that a sizeless symbol is in; a debug file keeps the sizes of those it
 * lacks
 */
static uint64_t section_end(struct elf_file *file, uint32_t index)
{
	Elf_Scn *scn = index < SHN_LORESERVE ? elf_getscn(file->elf, index) : NULL;
	GElf_Shdr header;

	return scn && gelf_getshdr(scn, &header) && header.sh_size <= UINT64_MAX - header.sh_addr
		       ? header.sh_addr + header.sh_size
		       : UINT64_MAX;
}

/* a bound for symbols without a size; the next symbol may bound them more */
static void bound_sizeless(struct symbol_table *table, struct elf_file *file)
{
	for (size_t i = 0; i < table->nr; i++) {
		struct symbol_entry *e = &table->entries[i];
		uint64_t end;

		if (e->rank & RANK_SIZED)
			continue;
		end = section_end(file, e->around);
		e->size = end <= e->start ? 0 : clamped(end - e->start, 0, UINT32_MAX);
	}
}

static int by_start(const void *left, const void *right)
{
	const struct symbol_entry *l = left, *r = right;

	if (l->start != r->start)
		return l->start < r->start ? -1 : 1;
	if (l->rank != r->rank)
		return (int)r->rank - (int)l->rank;
	return order_of(l->name, r->name);
}

static uint64_t end_of(const struct symbol_entry *e)
{
	return e->start + e->size;
}

static bool has_size(const struct symbol_entry *e)
{
	return e->rank & RANK_SIZED;
}

/* a label within a function is no function */
static bool is_needless(const struct symbol_table *table, size_t kept, uint32_t around,
			const struct symbol_entry *e)
{
	return (kept && table->entries[kept - 1].start == e->start) || (around && !has_size(e));
}

void symbol_table_finish(struct symbol_table *table)
{
	struct symbol_entry *entries = table->entries, *fitting;
	/* 1 + index, as in an entry: the innermost sized one that has not ended */
	uint32_t around = 0;
	size_t kept = 0;

	if (!table->nr)
		return;
	qsort(entries, table->nr, sizeof(*entries), by_start);
	for (size_t i = 0; i < table->nr; i++) {
		while (around && end_of(&entries[around - 1]) <= entries[i].start)
			around = entries[around - 1].around;
		if (is_needless(table, kept, around, &entries[i]))
			continue;
		if (kept && !has_size(&entries[kept - 1]) &&
		    end_of(&entries[kept - 1]) > entries[i].start)
			entries[kept - 1].size = entries[i].start - entries[kept - 1].start;
		entries[kept] = entries[i];
		entries[kept++].around = around;
		if (has_size(&entries[kept - 1]))
			around = kept;
	}
	table->nr = kept;
	fitting = reallocarray(entries, kept, sizeof(*entries));
	if (fitting) {
		table->entries = fitting;
		table->room = kept;
	}
}

int symbol_table_read(struct symbol_table *table, struct elf_file *file, uint32_t type,
		      const struct elf_file *code, size_t max_bytes)
{
	struct reading r = { .table = table, .file = file, .code = code };
	size_t entry_bytes = file->header.e_ident[EI_CLASS] == ELFCLASS64 ? sizeof(Elf64_Sym)
									  : sizeof(Elf32_Sym);
	GElf_Shdr header;
	int error;

	*table = (struct symbol_table){};
	if (!elf_file_header(file, type, NULL, &header) || header.sh_size < entry_bytes)
		return 0;
	if (header.sh_entsize != entry_bytes || header.sh_flags & SHF_COMPRESSED)
		return -EBADMSG;
	error = read_strings(&r, header.sh_link, max_bytes);
	if (!error) {
		r.max_entries = (max_bytes - table->string_bytes) / sizeof(struct symbol_entry);
		if (r.max_entries > SYMBOL_TABLE_MAX_SYMBOLS)
			r.max_entries = SYMBOL_TABLE_MAX_SYMBOLS;
		error = read_symbols(&r, &header);
	}
	if (error) {
		symbol_table_free(table);
		return error;
	}
	bound_sizeless(table, file);
	symbol_table_finish(table);
	if (!table->nr)
		symbol_table_free(table);
	return 0;
}

void symbol_table_free(struct symbol_table *table)
{
	free(table->entries);
	free(table->strings);
	*table = (struct symbol_table){};
}

size_t symbol_table_bytes(const struct symbol_table *table)
{
	return table->room * sizeof(*table->entries) + table->string_bytes;
}

bool symbol_table_find(const struct symbol_table *table, uint64_t vaddr, struct symbol_match *match)
{
	size_t nr = count_up_to(table->entries, table->nr, start, vaddr);

	for (int depth = 0; nr && depth < MAX_NESTING; depth++) {
		const struct symbol_entry *e = &table->entries[nr - 1];

		if (vaddr < end_of(e)) {
			*match = (struct symbol_match){
				.name = table->strings + e->name,
				.start = e->start,
				.size = e->size,
				.has_size = has_size(e),
			};
			return true;
		}
		nr = e->around;
	}
	return false;
}
