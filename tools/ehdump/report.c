// SPDX-License-Identifier: GPL-2.0-or-later
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "cfi_rows.h"
#include "table/eh_rule.h"
#include "report/escape.h"
#include "report/json.h"
#include "dwarf/registers.h"
#include "dwarf/symbols.h"
#include "table/machine.h"
#include "tables_abi.h"

static const char *const kind_names[NR_RULE_KINDS] = {
	[RULE_NONE] = "none",
	[RULE_REG] = "register",
	[RULE_DEREF] = "dereference",
	[RULE_PLT] = "plt",
	[RULE_INDEXED] = "indexed",
	[RULE_SUM] = "sum",
	[RULE_UNSUPPORTED] = "unsupported",
	[RULE_OTHER_STACK] = "other stack",
};

/* ---- summaries ---- */

static void count_row(void *arg, const struct cfi_row *row, uint64_t end)
{
	(void)row;
	(void)end;
	++*(uint64_t *)arg;
}

static void count_rows(struct eh_summary *s, struct eh_frame frame)
{
	uint64_t bad_programs = 0;
	struct fde fde;

	s->rows = 0;
	while (eh_frame_next(&frame, &fde))
		bad_programs += cfi_rows(&fde, frame.vaddr - (uintptr_t)frame.bytes, count_row,
					 &s->rows) != 0;
	s->cies = frame.nr_cies;
	s->fdes = frame.nr_fdes;
	for (int i = 0; i < SKIP_EMPTY; i++)
		s->skipped[i] = frame.skipped[i];
	s->skipped[SKIP_BAD_PROGRAM] = bad_programs;
}

static void add_table(struct eh_summary *s, const struct unwind_table *table)
{
	s->cies = table->nr_cies;
	s->fdes = table->nr_fdes;
	s->rows = table->nr_cfi_rows;
	s->table_rows = table->nr_rows;
	s->table_pages = table->nr_pages;
	s->table_rules = table->nr_rules;
	s->table_bytes = unwind_table_bytes(table);
	for (uint32_t i = 0; i < table->nr_rules; i++)
		s->rules_of_kind[table->rules[i].kind]++;
	memcpy(s->skipped, table->skipped, sizeof(s->skipped));
}

/* Go's table of functions, where the rows come from it */
static bool find_go_section(struct elf_file *file, struct elf_section *section)
{
	return file->header.e_machine == MACHINE &&
	       (!elf_file_section(file, ".gopclntab", section) ||
		!elf_file_section(file, ".data.rel.ro.gopclntab", section));
}

int eh_summarize(struct eh_summary *summary, const char *path, struct elf_file *file,
		 struct unwind_table *table)
{
	struct eh_summary s = { .path = path, .files = 1 };
	struct elf_section section, go;
	struct eh_frame frame = eh_frame_over(NULL, 0, 0);
	bool is_go = find_go_section(file, &go);
	int error = is_go ? elf_file_eh_frame(file, &section, &frame)
			  : elf_file_cfi(file, &section, &frame);

	*table = (struct unwind_table){};
	if (is_go && error == -ENOENT) {
		section = go;
		error = 0;
	}
	if (error)
		return error;
	s.section = section.name;
	s.eh_frame_bytes = section.size;
	if (frame.debug_frame) {
		s.section = ".eh_frame and .debug_frame";
		s.eh_frame_bytes += frame.debug_frame_bytes;
	}
	for (size_t i = 0; i < file->build_id_bytes; i++)
		sprintf(s.build_id + 2 * i, "%02x", file->build_id[i]);
	s.machine = file->header.e_machine == EM_X86_64    ? "x86-64"
		    : file->header.e_machine == EM_AARCH64 ? "aarch64"
							   : NULL;
	if (!s.machine)
		return -ENOTSUP;
	s.has_table = file->header.e_machine == MACHINE;
	if (s.has_table) {
		error = unwind_table_build(table, file);
		if (error)
			return error;
		add_table(&s, table);
	}
	if (!s.has_table || table->nr_placed_fdes != table->nr_fdes)
		count_rows(&s, frame); /* FDEs that apply to no byte have rows, too */
	*summary = s;
	return 0;
}

void eh_summary_add(struct eh_summary *total, const struct eh_summary *file)
{
	total->files += file->files;
	total->cies += file->cies;
	total->fdes += file->fdes;
	total->rows += file->rows;
	total->eh_frame_bytes += file->eh_frame_bytes;
	total->has_table |= file->has_table;
	total->table_rows += file->table_rows;
	total->table_pages += file->table_pages;
	total->table_rules += file->table_rules;
	total->table_bytes += file->table_bytes;
	for (int i = 0; i < NR_RULE_KINDS; i++)
		total->rules_of_kind[i] += file->rules_of_kind[i];
	for (int i = 0; i < NR_EH_FRAME_SKIPS; i++)
		total->skipped[i] += file->skipped[i];
	total->checked |= file->checked;
	total->lookups += file->lookups;
	total->differences += file->differences;
}

static double bytes_per_row(const struct eh_summary *s)
{
	return s->rows ? (double)s->table_bytes / s->rows : 0;
}

void eh_summary_print(FILE *out, const struct eh_summary *s)
{
	if (s->path) {
		print_message(out, s->path);
		fprintf(out, ": %s%s%s\n", s->machine, *s->build_id ? ", build ID " : "",
			s->build_id);
	} else {
		fprintf(out, "total: %" PRIu64 " files\n", s->files);
	}
	fprintf(out,
		"  %s: %" PRIu64 " bytes, %" PRIu64 " CIEs, %" PRIu64 " FDEs, %" PRIu64 " rows\n",
		s->section ? s->section : "CFI", s->eh_frame_bytes, s->cies, s->fdes, s->rows);
	if (s->has_table) {
		fprintf(out,
			"  table: %" PRIu64 " bytes, %.2f for each row: %" PRIu64 " rows, %" PRIu64
			" pages, %" PRIu64 " rules",
			s->table_bytes, bytes_per_row(s), s->table_rows, s->table_pages,
			s->table_rules);
		for (int i = 0, first = 1; i < NR_RULE_KINDS; i++) {
			if (!s->rules_of_kind[i])
				continue;
			fprintf(out, "%s%s %" PRIu64, first ? " (" : ", ", kind_names[i],
				s->rules_of_kind[i]);
			first = 0;
		}
		fputs(s->table_rules ? ")\n" : "\n", out);
	}
	for (int i = 0; i < NR_EH_FRAME_SKIPS; i++)
		if (s->skipped[i])
			fprintf(out, "  skipped: %" PRIu64 " %s\n", s->skipped[i],
				eh_frame_skip_names[i]);
	if (s->checked)
		fprintf(out,
			"  check: %" PRIu64 " lookups in the kernel, %" PRIu64 " differences\n",
			s->lookups, s->differences);
}

static void add_number(struct json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_number(value));
}

void eh_summary_print_json(FILE *out, const struct eh_summary *s)
{
	struct json_object *object = json_object_new_object(), *kinds = json_object_new_object();
	uint64_t skipped = 0;

	json_object_object_add(object, "type", json_object_new_string(s->path ? "file" : "total"));
	if (s->path) {
		json_object_object_add(object, "path", json_name(s->path));
		json_object_object_add(object, "build_id", json_object_new_string(s->build_id));
		json_object_object_add(object, "machine", json_object_new_string(s->machine));
		json_object_object_add(object, "section", json_object_new_string(s->section));
	} else {
		add_number(object, "files", s->files);
	}
	for (int i = 0; i < NR_EH_FRAME_SKIPS; i++)
		skipped += s->skipped[i];
	add_number(object, "cies", s->cies);
	add_number(object, "fdes", s->fdes);
	add_number(object, "rows", s->rows);
	add_number(object, "rules", s->table_rules);
	add_number(object, "eh_frame_bytes", s->eh_frame_bytes);
	add_number(object, "table_bytes", s->table_bytes);
	json_object_object_add(object, "bytes_per_row", json_object_new_double(bytes_per_row(s)));
	add_number(object, "table_rows", s->table_rows);
	add_number(object, "table_pages", s->table_pages);
	for (int i = 0; i < NR_RULE_KINDS; i++)
		add_number(kinds, kind_names[i], s->rules_of_kind[i]);
	json_object_object_add(object, "rules_of_kind", kinds);
	add_number(object, "skipped", skipped);
	if (s->checked) {
		add_number(object, "lookups", s->lookups);
		add_number(object, "differences", s->differences);
	}
	json_print(out, object);
}

/* ---- rows ---- */

struct columns {
	FILE *out;
	uint16_t machine;
	unsigned nr;
	unsigned char regs[CFI_MAX_REGS];
	/* the ABI's; column "ra" shows the register that each CIE names instead */
	uint64_t ra_reg;
};

static void print_header(const struct columns *c)
{
	fputs("pc\tcfa", c->out);
	for (unsigned i = 0; i < c->nr; i++)
		fprintf(c->out, "\t%s",
			c->regs[i] == c->ra_reg ? "ra"
						: register_name(c->machine, c->regs[i]).text);
	putc('\n', c->out);
}

static void print_row(void *arg, const struct cfi_row *row, uint64_t end)
{
	const struct columns *c = arg;

	(void)end;
	fprintf(c->out, "%016" PRIx64 "\t", row->pc);
	cfi_row_print_cfa(c->out, c->machine, row);
	for (unsigned i = 0; i < c->nr; i++) {
		putc('\t', c->out);
		cfi_row_print_reg(c->out, c->machine, row,
				  c->regs[i] == c->ra_reg ? row->fde->cie->ra_reg : c->regs[i]);
	}
	putc('\n', c->out);
}

static void note_registers(void *arg, const struct cfi_row *row, uint64_t end)
{
	bool *occurs = arg;

	(void)end;
	for (unsigned i = 0; i < row->nr_regs; i++)
		occurs[i] |= row->regs[i].mentioned;
}

static void choose_columns(struct columns *c, struct elf_file *file, struct eh_frame frame,
			   uint64_t pc_bias, bool all)
{
	static const unsigned char x86_64[] = { 3, 6, 12, 13, 14, 15 },
				   aarch64[] = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 };
	bool occurs[CFI_MAX_REGS] = {}, is_x86_64 = file->header.e_machine == EM_X86_64;
	struct fde fde;

	c->machine = file->header.e_machine;
	c->ra_reg = is_x86_64 ? 16 : 30;
	if (all) {
		while (eh_frame_next(&frame, &fde))
			cfi_rows(&fde, pc_bias, note_registers, occurs);
		for (unsigned i = 0; i < CFI_MAX_REGS; i++)
			if (occurs[i] && i != c->ra_reg)
				c->regs[c->nr++] = i;
	} else {
		c->nr = is_x86_64 ? sizeof(x86_64) : sizeof(aarch64);
		memcpy(c->regs, is_x86_64 ? x86_64 : aarch64, c->nr);
	}
	c->regs[c->nr++] = c->ra_reg;
}

int eh_print_rows(FILE *out, struct elf_file *file, bool all_registers)
{
	struct columns c = { .out = out };
	struct elf_section section;
	struct eh_frame frame;
	struct fde fde;
	uint64_t pc_bias;
	int error = elf_file_cfi(file, &section, &frame);

	if (error)
		return error;
	pc_bias = section.vaddr - (uintptr_t)section.bytes;
	choose_columns(&c, file, frame, pc_bias, all_registers);
	print_header(&c);
	while (eh_frame_next(&frame, &fde))
		cfi_rows(&fde, pc_bias, print_row, &c);
	return 0;
}

/* ---- the compact table ---- */

static void print_rule(FILE *out, const struct eh_rule *rule)
{
	eh_rule_print_cfa(out, rule);
	for (int i = 0; i < NR_SAVED; i++) {
		putc('\t', out);
		eh_rule_print_saved(out, rule, i);
	}
}

void eh_print_table(FILE *out, const struct elf_file *file, const struct unwind_table *table)
{
	fputs("pc\tcfa", out);
	for (int i = 0; i < SAVED_RA; i++)
		fprintf(out, "\t%s", register_name(MACHINE, saved_reg(i)).text);
	fputs("\tra\trule\n", out);
	for (uint32_t p = 0; p < table->nr_pages; p++) {
		const struct table_page *page = &table->pages[p];

		for (uint64_t nr = page->rows; nr < (uint64_t)page->rows + page->nr_rows; nr++) {
			uint64_t offset = (uint64_t)(table->first_page + p) << PAGE_ROWS_SHIFT,
				 vaddr;
			uint32_t row = 0, rule;

			memcpy(&row, table->rows + nr * ROW_BYTES, ROW_BYTES);
			rule = page->rule_base * RULE_BASE_UNIT + ROW_RULE(row);
			if (!elf_file_vaddr_of(file, offset + ROW_PC(row), &vaddr))
				continue; /* between two segments */
			fprintf(out, "%016" PRIx64 "\t", vaddr);
			print_rule(out, &table->rules[rule]);
			fprintf(out, "\t%u\n", rule);
		}
	}
}

/* ---- one address ---- */

struct wanted {
	struct columns columns;
	uint64_t vaddr;
};

static void print_wanted_row(void *arg, const struct cfi_row *row, uint64_t end)
{
	const struct wanted *w = arg;

	if (w->vaddr < row->pc || w->vaddr >= end)
		return;
	fprintf(w->columns.out, "row:    0x%" PRIx64 "..0x%" PRIx64 " cfa=", row->pc, end);
	cfi_row_print_cfa(w->columns.out, w->columns.machine, row);
	for (unsigned i = 0; i < w->columns.nr; i++) {
		unsigned reg = w->columns.regs[i];

		fprintf(w->columns.out, " %s=",
			reg == w->columns.ra_reg ? "ra"
						 : register_name(w->columns.machine, reg).text);
		cfi_row_print_reg(w->columns.out, w->columns.machine, row, reg);
	}
	putc('\n', w->columns.out);
}

static void print_symbol(FILE *out, struct elf_file *file, uint64_t vaddr)
{
	struct symbol_options options = SYMBOL_OPTIONS_DEFAULT;
	struct symbols *symbols;
	struct symbol symbol;
	uint64_t file_offset;

	if (!elf_file_offset_of(file, vaddr, &file_offset) ||
	    symbols_read(&symbols, file, &options))
		return;
	if (symbols_find(symbols, file_offset, &symbol) && symbol.name) {
		fputs("symbol: ", out);
		print_message(out, symbol.name);
		fprintf(out, "+0x%" PRIx64 "\n", symbol.offset);
	}
	symbols_free(symbols);
}

/* the FDEs that cover the address; false: there is none */
static bool print_fdes(struct wanted *w, struct elf_file *file)
{
	struct elf_section section;
	struct eh_frame frame;
	struct fde fde;
	uint64_t pc_bias;
	bool found = false;

	if (elf_file_cfi(file, &section, &frame))
		return false;
	pc_bias = section.vaddr - (uintptr_t)section.bytes;
	choose_columns(&w->columns, file, frame, pc_bias, false);
	while (eh_frame_next(&frame, &fde)) {
		if (w->vaddr < fde.start || w->vaddr - fde.start >= fde.length)
			continue;
		found = true;
		fprintf(w->columns.out,
			"FDE:    at 0x%" PRIx64 " of %s, 0x%" PRIx64 "..0x%" PRIx64
			", CIE at 0x%" PRIx64 "\n",
			fde.offset, frame.is_debug_frame ? ".debug_frame" : section.name, fde.start,
			fde.start + fde.length, fde.cie->offset);
		cfi_rows(&fde, pc_bias, print_wanted_row, w);
	}
	return found;
}

static void print_source(FILE *out, struct elf_file *file, uint64_t file_offset)
{
	static const char *const names[] = {
		[SOURCE_KNOWN_CODE] = "known code, used instead of CFI",
		[SOURCE_GO] = "Go's table of functions",
		[SOURCE_FDE] = "the FDE",
	};
	enum rule_source source;

	if (!unwind_table_source(file, file_offset, &source) && source != SOURCE_NONE)
		fprintf(out, "from:   %s\n", names[source]);
}

static void print_named_rule(FILE *out, const char *name, const struct eh_rule *rule)
{
	fprintf(out, "%-7s ", name);
	eh_rule_print(out, rule);
	putc('\n', out);
}

/* the rule where the CFI's table has none; false: there is none either */
static bool print_rule_without_cfi(FILE *out, struct elf_file *file,
				   const struct unwind_table *table, uint64_t file_offset)
{
	struct unwind_table code;
	struct eh_rule rule = {};

	if (file_offset >= table->entry_start && file_offset < table->entry_end) {
		fputs("entry:  the code at the ELF entry point, the outermost frame\n", out);
		return true;
	}
	if (table->has_other_code && !unwind_table_build_code(&code, file)) {
		rule = unwind_table_lookup(&code, file_offset);
		unwind_table_free(&code);
	}
	if (rule.kind != RULE_NONE) {
		print_named_rule(out, "code:", &rule);
		fprintf(out, "from:   %s\n",
			rule.flags & RULE_FROM_CODE ? "the instructions" : "known code");
	} else if (rule.flags & RULE_FROM_CODE) {
		fputs("code:   none: no path from here reaches a return, or the paths disagree\n",
		      out);
	} else {
		fputs("code:   none: not analysed; the frame pointer is used, if it leads to a caller\n",
		      out);
	}
	return rule.kind != RULE_NONE;
}

int eh_print_address(FILE *out, struct elf_file *file, const struct unwind_table *table,
		     uint64_t vaddr)
{
	struct wanted w = { .columns.out = out, .vaddr = vaddr };
	struct eh_rule rule;
	uint64_t file_offset;
	bool found;

	print_symbol(out, file, vaddr);
	found = print_fdes(&w, file);
	if (file->header.e_machine != MACHINE || !elf_file_offset_of(file, vaddr, &file_offset))
		return found ? 0 : -ENOENT;
	rule = unwind_table_lookup(table, file_offset);
	if (table->nr_pages) {
		print_named_rule(out, "rule:", &rule);
		print_source(out, file, file_offset);
	}
	if (rule.kind != RULE_NONE)
		found = true; /* which may be Go's table's */
	else
		found |= print_rule_without_cfi(out, file, table, file_offset);
	return found ? 0 : -ENOENT;
}
