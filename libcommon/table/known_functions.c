// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/known_functions.h"

#include <errno.h>

#include "dwarf/exports.h"
#include "table/machine.h"

#define MAX_FUNCTION_BYTES 4096
#define MAX_PIECE_BYTES    128

/* a span for each row. at: of the code that the piece is in */
static int add_rows(struct fde_index *index, const struct elf_file *file,
		    const struct known_code *piece, uint64_t vaddr)
{
	for (size_t i = 0; i < piece->nr_rows; i++) {
		size_t at = piece->rows[i].at,
		       end = i + 1 < piece->nr_rows ? piece->rows[i + 1].at : piece->end;
		struct fde_span span = {
			.length = end - at,
			.class = SPAN_RULE,
			.vaddr = vaddr + at,
			.program = (const uint8_t *)&piece->rows[i].rule,
		};
		int error = elf_file_offset_of(file, span.vaddr, &span.start)
				    ? fde_index_add_span(index, &span)
				    : 0;

		if (error)
			return error;
	}
	return 0;
}

/*
 * The piece that the code takes the address of: its rows count from *vaddr. 0, -ENOMEM, or another:
 * there is none
 */
static int find_taken(const struct elf_file *file, const struct known_export *export,
		      const uint8_t *code, size_t bytes, struct known_code *piece, uint64_t *vaddr)
{
	uint64_t to, of_code = *vaddr;
	size_t at = 0;

	while ((at = machine_next_address(code, bytes, at, of_code, &to))) {
		uint64_t left = MAX_PIECE_BYTES;
		const uint8_t *target;
		int error = elf_file_code_at(file, to, &left, &target);

		*vaddr = to;
		if (error == -ENOMEM ||
		    (!error && known_code_at(export->piece, target, left, piece)))
			return error;
	}
	return -ENOENT;
}

/* as find_taken() */
static int find_piece(struct elf_file *file, const struct known_export *export,
		      struct known_code *piece, uint64_t *vaddr)
{
	const uint8_t *code;
	uint64_t size;
	int error = exports_find(file, export->symbol, vaddr, &size);

	if (error)
		return error;
	if (size > MAX_FUNCTION_BYTES)
		size = MAX_FUNCTION_BYTES;
	error = elf_file_code_at(file, *vaddr, &size, &code);
	if (error)
		return error;
	if (export->address_taken)
		return find_taken(file, export, code, size, piece, vaddr);
	return known_code_in(export->piece, code, size, piece) ? 0 : -ENOENT;
}

int known_functions_add(struct known_functions *k, struct fde_index *index, struct elf_file *file)
{
	const struct known_export *export;
	int error = 0;

	for (export = known_exports; export->symbol && !error && k->nr < MAX_KNOWN_FUNCTIONS;
	     export ++) {
		struct known_code *piece = &k->pieces[k->nr];
		uint64_t vaddr;

		error = find_piece(file, export, piece, &vaddr);
		if (!error) {
			k->nr++;
			error = add_rows(index, file, piece, vaddr);
		}
		error = error == -ENOMEM ? error : 0;
	}
	return error;
}

static int add_stg_run(struct known_functions *k, struct fde_index *index,
		       const struct elf_file *file, const struct fde *fde)
{
	uint8_t code[STG_RUN_BYTES];
	uint64_t start;

	if (k->has_stg_run || k->nr == MAX_KNOWN_FUNCTIONS ||
	    !elf_file_offset_of(file, fde->start, &start) ||
	    elf_file_read(file, start, code, sizeof(code)) ||
	    !known_code_in(STG_RUN, code, sizeof(code), &k->pieces[k->nr]))
		return 0;
	k->has_stg_run = true;
	return add_rows(index, file, &k->pieces[k->nr++], fde->start);
}

int known_functions_add_fde(struct known_functions *k, struct fde_index *index,
			    const struct elf_file *file, const struct fde *fde)
{
	uint8_t code[RETURN_THUNK_BYTES];
	struct fde_span span = {
		.length = 1,
		.class = SPAN_RULE,
		.vaddr = fde->start + RETURN_THUNK_BYTES - 1,
		.program = (const uint8_t *)&known_return_thunk,
	};
	uint64_t start;

	if (fde->length == STG_RUN_BYTES)
		return add_stg_run(k, index, file, fde);
	if (!known_is_return_thunk_fde(fde->length, fde->program, fde->program_bytes) ||
	    !elf_file_offset_of(file, fde->start, &start) ||
	    elf_file_read(file, start, code, sizeof(code)) || !known_is_return_thunk(code))
		return 0;
	span.start = start + RETURN_THUNK_BYTES - 1;
	return fde_index_add_span(index, &span);
}

int known_functions_add_plt(struct fde_index *index, const struct elf_file *file)
{
	static const struct eh_rule at_entry = {
		.kind = RULE_REG,
		.cfa_reg = REG_SP,
		.cfa_offset = CFA_AT_ENTRY,
		.saved = { [0 ... SAVED_RA - 1] = SAVED_SAME, [SAVED_RA] = RA_AT_ENTRY },
	};
	GElf_Shdr plt;
	struct fde_span span = { .class = SPAN_RULE, .program = (const uint8_t *)&at_entry };

	if (!PLT_HEADER_BYTES || !elf_file_header(file, SHT_PROGBITS, ".plt", &plt) ||
	    plt.sh_size <= PLT_HEADER_BYTES || plt.sh_size > UINT32_MAX ||
	    !elf_file_offset_of(file, plt.sh_addr + PLT_HEADER_BYTES, &span.start) ||
	    span.start > file->file_bytes || plt.sh_size > file->file_bytes - span.start)
		return 0;
	span.vaddr = plt.sh_addr + PLT_HEADER_BYTES;
	span.length = plt.sh_size - PLT_HEADER_BYTES;
	return fde_index_add_span(index, &span);
}
