// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/go_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int copy_names(struct symbol_table *table, const struct gopclntab *go, size_t max_bytes)
{
	size_t bytes = go->names_end - go->names;

	if (bytes >= SYMBOL_TABLE_MAX_STRINGS || bytes >= max_bytes)
		return -EFBIG;
	table->strings = malloc(bytes + 1);
	if (!table->strings)
		return -ENOMEM;
	memcpy(table->strings, go->bytes + go->names, bytes);
	table->strings[bytes] = 0;
	table->string_bytes = bytes;
	return 0;
}

static int add_functions(struct symbol_table *table, const struct gopclntab *go, size_t max_bytes)
{
	size_t max_entries = (max_bytes - table->string_bytes) / sizeof(struct symbol_entry);
	struct go_function f;
	int error = 0;

	if (max_entries > SYMBOL_TABLE_MAX_SYMBOLS)
		max_entries = SYMBOL_TABLE_MAX_SYMBOLS;
	for (uint64_t i = 0; i < go->nr && !error; i++) {
		size_t name;

		if (!gopclntab_function(go, i, &f) || !*f.name)
			continue;
		name = f.name - (const char *)(go->bytes + go->names);
		if (name >= table->string_bytes || f.size > UINT32_MAX || f.start > UINT64_MAX - f.size)
			continue;
		error = table->nr >= max_entries ? -EFBIG : symbol_table_add(table, &(struct symbol_entry){
			.start = f.start, .size = f.size, .name = name, .rank = SYMBOL_TABLE_BEST_RANK,
		});
	}
	return error;
}

int go_symbols_read(struct symbol_table *table, struct elf_file *file, size_t max_bytes)
{
	struct gopclntab go;
	int error = gopclntab_open(&go, file);

	*table = (struct symbol_table){};
	if (error)
		return error == -ENOENT ? 0 : error;
	error = copy_names(table, &go, max_bytes);
	if (!error)
		error = add_functions(table, &go, max_bytes);
	if (!error)
		symbol_table_finish(table);
	if (error || !table->nr)
		symbol_table_free(table);
	return error;
}
