// SPDX-License-Identifier: GPL-2.0-or-later
/* A whole file: headers, sections, tables, symbols. */
#include "fuzz.h"
#include "dwarf/symbols.h"
#include "table/code_entries.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size); /* libelf may write to it */
	struct symbol_options options = SYMBOL_OPTIONS_DEFAULT;
	struct symbols *symbols;
	uint64_t *entries;
	size_t nr;
	struct elf_section section;
	struct eh_frame frame;
	struct unwind_table table;
	struct symbol symbol;
	struct elf_file file;

	memcpy(copy, bytes, size);
	if (!elf_file_open_memory(&file, copy, size)) {
		if (!elf_file_cfi(&file, &section, &frame))
			fuzz_cfi(&file, frame);
		if (file.header.e_machine == EM_X86_64 && !unwind_table_build_code(&table, &file)) {
			check_table(&table);
			unwind_table_free(&table);
		}
		if (!symbols_read(&symbols, &file, &options)) {
			if (!code_entries(&file, &entries, &nr)) {
				for (size_t i = 1; i < nr; i++)
					must(entries[i - 1] <= entries[i], "entries rise");
				symbols_add_entries(symbols, entries, nr);
				free(entries);
			}
			for (uint64_t offset = 0; offset < size; offset += 61)
				symbols_find(symbols, offset, &symbol);
			symbols_free(symbols);
		}
		elf_file_close(&file);
	}
	free(copy);
	return 0;
}
