// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/known_functions.h"

#include <errno.h>
#include <string.h>

#include "dwarf/exports.h"
#include "table/machine.h"

#define MAX_FUNCTION_BYTES 4096
#define MAX_PIECE_BYTES 128

/* the code at vaddr, at most `size` bytes; NULL: there is none */
static const uint8_t *code_at(const struct elf_file *file, uint64_t vaddr, size_t size, size_t *bytes)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct elf_segment *s = &file->segments[i];
		const Elf_Data *data;

		if (!s->executable || vaddr < s->vaddr || vaddr - s->vaddr >= s->size)
			continue;
		*bytes = s->size - (vaddr - s->vaddr) < size ? s->size - (vaddr - s->vaddr) : size;
		data = elf_getdata_rawchunk(file->elf, s->file_offset + (vaddr - s->vaddr), *bytes, ELF_T_BYTE);
		return data ? data->d_buf : NULL;
	}
	return NULL;
}

/* a span for each row. at: of the code that the piece is in */
static int add_rows(struct fde_index *index, const struct elf_file *file, const struct known_code *piece,
		    uint64_t vaddr)
{
	for (size_t i = 0; i < piece->nr_rows; i++) {
		size_t at = piece->rows[i].at, end = i + 1 < piece->nr_rows ? piece->rows[i + 1].at : piece->end;
		struct fde_span span = {
			.length = end - at, .class = SPAN_RULE, .vaddr = vaddr + at,
			.program = (const uint8_t *)&piece->rows[i].rule,
		};
		int error = elf_file_offset_of(file, span.vaddr, &span.start) ? fde_index_add_span(index, &span) : 0;

		if (error)
			return error;
	}
	return 0;
}

/* the piece that the code takes the address of: its rows count from *vaddr */
static bool find_taken(const struct elf_file *file, const struct known_export *export, const uint8_t *code,
		       size_t bytes, struct known_code *piece, uint64_t *vaddr)
{
	uint64_t to, of_code = *vaddr;
	size_t at = 0, left;

	while ((at = machine_next_address(code, bytes, at, of_code, &to))) {
		const uint8_t *target = code_at(file, to, MAX_PIECE_BYTES, &left);

		*vaddr = to;
		if (target && known_code_at(export->piece, target, left, piece))
			return true;
	}
	return false;
}

int known_functions_add(struct known_functions *k, struct fde_index *index, struct elf_file *file)
{
	const struct known_export *export;
	int error = 0;

	for (export = known_exports; export->symbol && !error && k->nr < MAX_KNOWN_FUNCTIONS; export++) {
		struct known_code *piece = &k->pieces[k->nr];
		uint64_t vaddr, size;
		const uint8_t *code;
		size_t bytes;

		if (exports_find(file, export->symbol, &vaddr, &size))
			continue;
		code = code_at(file, vaddr, size < MAX_FUNCTION_BYTES ? size : MAX_FUNCTION_BYTES, &bytes);
		if (!code || !(export->address_taken ? find_taken(file, export, code, bytes, piece, &vaddr)
						     : known_code_in(export->piece, code, bytes, piece)))
			continue;
		k->nr++;
		error = add_rows(index, file, piece, vaddr);
	}
	return error;
}
