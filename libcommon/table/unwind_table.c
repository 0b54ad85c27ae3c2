// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/unwind_table.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "dwarf/cfi.h"
#include "table/cfi_states.h"
#include "table/fde_index.h"
#include "table/gaps.h"
#include "table/go_rows.h"
#include "table/known_functions.h"
#include "table/machine.h"
#include "table/row_writer.h"

/* ---- the program of an FDE ---- */

#define MAX_REMEMBERED 16

/* the FDE's program as it runs; all of it is kept in registers, since its functions are inlined */
struct program {
	const uint8_t *p, *end;
	/* of the current row's start; at: its offset in the file, at most `limit` */
	uint64_t vaddr;
	uint64_t at, limit;
	uint32_t state;
	uint32_t nr_remembered;
	uint64_t nr_rows;
};

static inline bool ends_ops(uint8_t op)
{
	return (op & 0xc0) == DW_CFA_advance_loc ||
	       (op >= DW_CFA_set_loc && op <= DW_CFA_advance_loc4) ||
	       op == DW_CFA_MIPS_advance_loc8 || op == DW_CFA_nop || op == DW_CFA_remember_state ||
	       op == DW_CFA_restore_state;
}

/*
 * Where the string of instructions from p on ends that cfi_states_apply() takes in one piece:
 * before the next one that advances, remembers or restores a state, or does nothing. NULL: it does
 * not decode
 */
static inline const uint8_t *end_of_ops(const uint8_t *p, const uint8_t *end)
{
	struct cursor c = cursor_over(p, end - p);
	struct cfi_insn insn;

	while (c.p < end && !ends_ops(*c.p)) {
		/*
		 * nearly all there is: DW_CFA_offset, DW_CFA_def_cfa_offset and _register, with a
		 * one-byte operand
		 */
		if (((*c.p & 0xc0) == DW_CFA_offset || *c.p == DW_CFA_def_cfa_offset ||
		     *c.p == DW_CFA_def_cfa_register) &&
		    end - c.p > 1 && c.p[1] < 0x80)
			c.p += 2;
		else if ((*c.p & 0xc0) == DW_CFA_restore)
			c.p++;
		/* DW_CFA_set_loc is not among them */
		else if (!cfi_decode(&c, DW_EH_PE_omit, 0, &insn))
			return NULL;
	}
	return c.p;
}

/*
 * Ends the current row: the next one starts delta * align higher. false: that is beyond all
 * addresses
 */
static inline bool advance(struct program *r, struct row_writer *w, uint64_t delta, uint64_t align)
{
	if (__builtin_mul_overflow(delta, align, &delta) ||
	    __builtin_add_overflow(r->vaddr, delta, &r->vaddr))
		return false;
	r->nr_rows++;
	if (delta && r->at < r->limit)
		row_writer_add(w, r->at, r->state);
	/* rows from the limit on are decoded and counted, but the next FDE's hold there */
	r->at = delta < r->limit - r->at ? r->at + delta : r->limit;
	return true;
}

/* The same for the longer forms of an advance. false also where they do not decode */
static inline bool advance_long(struct program *r, struct row_writer *w,
				const struct cie_class *class, uint64_t pc_bias)
{
	struct cursor c = cursor_over(r->p, r->end - r->p);
	uint64_t align = class->code_align;
	struct cfi_insn insn;

	if (!cfi_decode(&c, class->fde_encoding, pc_bias, &insn))
		return false;
	/* to an address. The way to one that is lower overflows. */
	if (insn.op == DW_CFA_set_loc) {
		insn.first -= r->vaddr;
		align = 1;
	}
	r->p = c.p;
	return advance(r, w, insn.first, align);
}

/*
 * Runs the whole program; false where it does not decode, r->at being the row where that happened.
 */
static inline bool run(struct program *r, struct row_writer *w, struct cfi_states *states,
		       const struct fde_span *span, uint64_t pc_bias)
{
	const struct cie_class *class = &states->classes[span->class];
	uint32_t remembered[MAX_REMEMBERED];
	const uint8_t *next;

	while (r->p < r->end) {
		uint8_t op = *r->p;

		if ((op & 0xc0) == DW_CFA_advance_loc) { /* first: every other instruction is one */
			r->p++;
			if (!advance(r, w, op & 0x3f, class->code_align))
				return false;
		} else if (!ends_ops(op)) {
			next = end_of_ops(r->p, r->end);
			if (!next)
				return false;
			r->state = cfi_states_apply(states, span->class, r->state, r->p,
						    next - r->p, r->end);
			r->p = next;
		} else if (op == DW_CFA_nop) {
			r->p++;
		} else if (op == DW_CFA_remember_state) {
			if (r->nr_remembered == MAX_REMEMBERED)
				return false;
			remembered[r->nr_remembered++] = r->state;
			r->p++;
		} else if (op == DW_CFA_restore_state) {
			/*
			 * DWARF 5, 6.4.2.4, speaks of the rules of every register. The CFA's rule
			 * comes back as well: compilers count on it, and libgcc and gdb do so.
			 */
			if (!r->nr_remembered)
				return false;
			r->state = remembered[--r->nr_remembered];
			r->p++;
		} else if (!advance_long(r, w, class, pc_bias)) {
			return false;
		}
	}
	return true;
}

/*
 * Runs one FDE's program (DWARF 5, 6.4.3) and writes the rows of the part of the FDE that applies:
 * [span->start, end), offsets in the file. The whole program is decoded, and its number of rows, as
 * the standard counts them (one for each advance, and one at the end), is added to *nr_rows. false:
 * the program does not decode; RULE_UNSUPPORTED holds from that row up to `end`. pc_bias as for
 * eh_frame_pointer().
 */
static bool fde_rows_write(struct row_writer *w, struct cfi_states *states,
			   const struct fde_span *span, uint64_t end, uint64_t pc_bias,
			   uint64_t *nr_rows)
{
	static const struct eh_rule unsupported = { .kind = RULE_UNSUPPORTED };
	const struct cie_class *class = &states->classes[span->class];
	struct program r = {
		.p = span->program,
		.end = span->program + span->program_bytes,
		.vaddr = span->vaddr,
		.at = span->start,
		.limit = end,
		.state = class->initial,
		.nr_rows = 1,
	};
	bool good = !class->bad && run(&r, w, states, span, pc_bias);

	*nr_rows += r.nr_rows;
	if (r.at < end)
		row_writer_add(w, r.at, good ? r.state : cfi_states_of_rule(states, &unsupported));
	return good;
}

/* ---- all of a file ---- */

/*
 * How CFI becomes a table: each FDE of the section is put into an index (fde_index.h), and each CIE
 * is run once (cfi_states.h). Then the programs of the FDEs are run (fde_rows_write()) by rising
 * address, and the code between FDEs is looked at (gaps.h). Each row is written when it is found
 * (row_writer.h). A table of the code that no FDE covers is made in the same order, and the bytes
 * that FDEs cover have no rules in it.
 *
 * The index alone decides which source covers a byte: known code (known_functions.h) comes first,
 * then Go's functions, whose rows are from Go's own table (go_rows.h), then FDEs.
 */
struct compilation {
	struct unwind_table table;
	const struct elf_file *file;
	struct elf_file *known; /* where to look for known functions: the file, or NULL */
	bool of_code;           /* the table of the code that no FDE covers */
	uint64_t pc_bias;
	struct fde_index fdes;
	struct cfi_states states;
	struct row_writer writer;
	struct gaps gaps;
	struct go_rows go;
	struct known_functions functions;
};

static int error_of(const struct compilation *c)
{
	return c->states.error ?: c->writer.error ?: c->gaps.error;
}

static int add_fde(struct compilation *c, const struct fde *fde)
{
	int class = cfi_states_class(&c->states, fde->cie);
	int error = class < 0 ? 0 : fde_index_add(&c->fdes, c->file, fde, class);

	if (class < 0)
		c->table.skipped[SKIP_BAD_CIE]++;
	if (error == -ERANGE) {
		c->table.skipped[fde->length ? SKIP_OUTSIDE : SKIP_EMPTY]++;
		error = 0;
	} else if (!error && c->known && known_functions_has_length(fde->length)) {
		error = known_functions_add_fde(&c->functions, &c->fdes, c->known, fde);
	}
	return c->states.error ? c->states.error : error;
}

static int index_fdes(struct compilation *c, struct eh_frame *frame)
{
	bool has_both = frame->debug_frame;
	struct fde fde;
	int error = 0;

	c->pc_bias = frame->vaddr - (uintptr_t)frame->bytes;
	if (c->known)
		error = known_functions_add(&c->functions, &c->fdes, c->known);
	if (c->known && !error)
		error = known_functions_add_plt(&c->fdes, c->known);
	if (!error && c->go.present)
		error = go_rows_add_functions(&c->go, &c->fdes, c->file);
	while (!error && eh_frame_next(frame, &fde)) {
		if (has_both && frame->is_debug_frame) {
			has_both = false;
			c->fdes.nr_first = c->fdes.nr_spans;
			c->states.last_cie = UINT64_MAX; /* it was an offset in the other section */
		}
		error = add_fde(c, &fde);
	}
	c->table.nr_cies = frame->nr_cies;
	c->table.nr_fdes = frame->nr_fdes;
	for (int i = 0; i < NR_EH_FRAME_SKIPS; i++)
		c->table.skipped[i] += frame->skipped[i];
	return error ? error : fde_index_sort(&c->fdes);
}

/* the offset of the first byte that may be code, whether or not an FDE covers it */
static uint64_t first_code(const struct compilation *c)
{
	uint64_t first = fde_index_start(&c->fdes, 0);

	for (size_t i = 0; i < c->file->nr_segments; i++)
		if (c->file->segments[i].executable && c->file->segments[i].file_offset < first)
			first = c->file->segments[i].file_offset;
	return first;
}

/* Writes the rows of this span, up to `end`. */
static void write_fde(struct compilation *c, const struct fde_span *span, uint64_t end)
{
	if (c->of_code) {
		row_writer_add(&c->writer, span->start, c->gaps.nothing);
		return;
	}
	if (span->class == SPAN_RULE) {
		row_writer_add(&c->writer, span->start,
			       cfi_states_of_rule(&c->states,
						  (const struct eh_rule *)span->program));
		return;
	}
	if (span->class == GO_CLASS) {
		c->table.nr_go_functions++;
		c->gaps.error = go_rows_write(&c->go, &c->writer, &c->states, span, end,
					      &c->table.nr_cfi_rows);
		return;
	}
	if (!fde_rows_write(&c->writer, &c->states, span, end, c->pc_bias, &c->table.nr_cfi_rows))
		c->table.skipped[SKIP_BAD_PROGRAM]++;
	c->table.nr_placed_fdes++;
}

static int write_rows(struct compilation *c)
{
	uint64_t first_fde = fde_index_start(&c->fdes, 0), start = first_code(c);

	row_writer_begin(&c->writer, &c->table, &c->states,
			 (c->of_code ? start : first_fde) >> PAGE_ROWS_SHIFT, c->gaps.nothing);
	if (start < first_fde && !c->writer.error)
		gaps_write(&c->gaps, start, first_fde);
	for (size_t i = 0; i < c->fdes.nr && !error_of(c); i++) {
		const struct fde_span *span = fde_index_at(&c->fdes, i);
		uint64_t end = span->start + span->length, next = fde_index_start(&c->fdes, i + 1);

		write_fde(c, span, next < end ? next : end);
		if (next > end)
			gaps_write(&c->gaps, end, next);
	}
	row_writer_end(&c->writer);
	return error_of(c);
}

static int make_table(struct compilation *c, struct eh_frame *frame)
{
	int error;

	cfi_states_init(&c->states);
	error = index_fdes(c, frame);
	c->gaps = (struct gaps){
		.table = &c->table,
		.file = c->file,
		.keeps_fp = gopclntab_is_go(c->file) && !c->go.present,
		.states = &c->states,
		.writer = &c->writer,
		.of_code = c->of_code,
		.is_stg = c->functions.has_stg_run,
		.nothing = cfi_states_of_rule(&c->states, &(struct eh_rule){ .kind = RULE_NONE }),
	};
	if (error || c->states.error)
		return error ? error : c->states.error;
	elf_file_code(c->file, &c->gaps.code_start, &c->gaps.code_end);
	error = gaps_find_entry(&c->table, c->file, &c->fdes);
	if (error)
		return error;
	if (c->fdes.nr || c->of_code)
		return write_rows(c);
	c->table.has_other_code = true;
	gaps_look(&c->gaps, 0, UINT64_MAX);
	return error_of(c);
}

/*
 * known: where to look for known functions, or NULL. go: Go's table, or NULL; if it is present,
 * *frame has no FDEs of Go's functions
 */
static int compile(struct unwind_table *table, const struct elf_file *file, struct elf_file *known,
		   const struct go_rows *go, struct eh_frame *frame, bool of_code)
{
	struct compilation *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return -ENOMEM;
	c->file = file;
	c->known = known;
	c->of_code = of_code;
	if (go)
		c->go = *go;
	error = make_table(c, frame);
	if (error)
		unwind_table_free(&c->table);
	else
		*table = c->table;
	fde_index_free(&c->fdes);
	cfi_states_free(&c->states);
	free(c);
	return error;
}

int unwind_table_compile(struct unwind_table *table, const struct elf_file *file,
			 struct eh_frame *frame)
{
	return compile(table, file, NULL, NULL, frame, false);
}

int unwind_table_build_without_cfi(struct unwind_table *table, const struct elf_file *file)
{
	struct eh_frame none = eh_frame_over(NULL, 0, 0);

	return compile(table, file, NULL, NULL, &none, false);
}

/*
 * Opens the sources of the file's rules: Go's table and the CFI. no_cfi: it is no error if the file
 * has neither
 */
static int open_sources(struct elf_file *file, bool no_cfi, struct go_rows *go,
			struct eh_frame *frame)
{
	struct elf_section section;
	int error;

	*frame = eh_frame_over(NULL, 0, 0);
	if (file->header.e_machine != MACHINE)
		return -ENOTSUP;
	error = go_rows_open(go, file);
	if (error)
		return error;
	/* Go's linker makes .debug_frame from the same table, and with less in it */
	error = go->present ? elf_file_eh_frame(file, &section, frame)
			    : elf_file_cfi(file, &section, frame);
	return error == -ENOENT && (go->present || no_cfi) ? 0 : error;
}

static int build(struct unwind_table *table, struct elf_file *file, bool of_code)
{
	struct eh_frame frame;
	struct go_rows go = {};
	int error = open_sources(file, of_code, &go, &frame);

	return error ? error : compile(table, file, file, &go, &frame, of_code);
}

int unwind_table_build(struct unwind_table *table, struct elf_file *file)
{
	return build(table, file, false);
}

int unwind_table_build_code(struct unwind_table *table, struct elf_file *file)
{
	return build(table, file, true);
}

static enum rule_source source_in(const struct fde_index *index, uint64_t file_offset)
{
	const struct fde_span *span = fde_index_covering(index, file_offset);

	if (!span)
		return SOURCE_NONE;
	if (span->class == SPAN_RULE)
		return SOURCE_KNOWN_CODE;
	return span->class == GO_CLASS ? SOURCE_GO : SOURCE_FDE;
}

int unwind_table_source(struct elf_file *file, uint64_t file_offset, enum rule_source *source)
{
	struct compilation *c = calloc(1, sizeof(*c));
	struct eh_frame frame;
	int error = c ? open_sources(file, true, &c->go, &frame) : -ENOMEM;

	if (!error) {
		c->file = c->known = file;
		cfi_states_init(&c->states);
		error = index_fdes(c, &frame);
		if (!error)
			*source = source_in(&c->fdes, file_offset);
		fde_index_free(&c->fdes);
		cfi_states_free(&c->states);
	}
	free(c);
	return error;
}

void unwind_table_free(struct unwind_table *table)
{
	free(table->rules);
	free(table->pages);
	free(table->rows);
	*table = (struct unwind_table){};
}

/* a quarter of a slab, so that at most a quarter stays unused at a slab's end */
#define MAX_EXTENT_ROWS (SLAB_BYTES / 4 / ROW_BYTES)

static uint64_t row_after(const struct unwind_table *table, uint32_t page)
{
	return (uint64_t)table->pages[page].rows + table->pages[page].nr_rows;
}

uint32_t unwind_table_extent_end(const struct unwind_table *table, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < table->nr_pages &&
	       row_after(table, end) - table->pages[first].rows <= MAX_EXTENT_ROWS)
		end++;
	return end;
}

uint64_t unwind_table_bytes(const struct unwind_table *table)
{
	uint64_t bytes = 0;

	if (!table->nr_pages)
		return 0;
	for (uint32_t first = 0, end; first < table->nr_pages; first = end) {
		end = unwind_table_extent_end(table, first);
		bytes += extent_bytes((row_after(table, end - 1) - table->pages[first].rows) *
				      ROW_BYTES);
	}
	return bytes + extent_bytes(table->nr_pages * sizeof(*table->pages)) +
	       extent_bytes(table->nr_rules * sizeof(*table->rules)) +
	       extent_bytes(sizeof(struct published_module));
}

struct eh_rule unwind_table_lookup(const struct unwind_table *table, uint64_t file_offset)
{
	uint64_t page_nr = (file_offset >> PAGE_ROWS_SHIFT) - table->first_page;
	uint32_t pc = file_offset & (MAX_PAGE_ROWS - 1), nr;
	const struct table_page *page;
	const uint8_t *at;

	if (page_nr >= table->nr_pages)
		return (struct eh_rule){};
	page = &table->pages[page_nr];
	at = table->rows + (size_t)page->rows * ROW_BYTES;
	for (nr = page->nr_rows; nr > 1; nr -= nr / 2)
		if (ROW_PC(row_at(at + nr / 2 * ROW_BYTES)) <= pc)
			at += nr / 2 * ROW_BYTES;
	return table->rules[page->rule_base * RULE_BASE_UNIT + ROW_RULE(row_at(at))];
}
