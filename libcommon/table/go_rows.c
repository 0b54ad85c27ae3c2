// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/go_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "table/code_insns.h"
#include "table/machine.h"

/*
 * the runtime, cryptography and compression have some 300 KB together; a table can claim that all
 * is assembly
 */
#define MAX_ASSEMBLY_BYTES    (8 << 20)
#define MAX_ASSEMBLY_FUNCTION (256 << 10)

/* ---- a file's functions ---- */

/* 0 or -ENOMEM; code that is not in the file is none */
static int find_code(struct go_rows *go, struct elf_file *file)
{
	struct go_function first;
	int error;

	if (!gopclntab_function(&go->table, 0, &first))
		return 0;
	go->code_vaddr = first.start;
	go->code_size = UINT64_MAX;
	error = elf_file_code_at(file, first.start, &go->code_size, &go->code);
	if (error)
		go->code_size = 0;
	return error == -ENOMEM ? error : 0;
}

static bool is_in_table(const struct gopclntab *table, uint64_t vaddr)
{
	struct go_function first, last;

	return gopclntab_function(table, 0, &first) &&
	       gopclntab_function(table, table->nr - 1, &last) && vaddr >= first.start &&
	       vaddr < last.start + last.size;
}

int go_rows_open(struct go_rows *go, struct elf_file *file)
{
	int error = gopclntab_open(&go->table, file);

	go->present = !error;
	if (error)
		return error == -ENOMEM ? error : 0;
	/* where the return address is in a register, rt0_go() loses that of C */
	go->begins_with_c = !RA_IN_REGISTER && !is_in_table(&go->table, file->header.e_entry);
	return find_code(go, file);
}

/* the function's bytes, NULL where the file does not hold them all */
static const uint8_t *code_of(const struct go_rows *go, const struct go_function *f)
{
	uint64_t at = f->start - go->code_vaddr;

	return f->start < go->code_vaddr || at > go->code_size || f->size > go->code_size - at
		       ? NULL
		       : go->code + at;
}

int go_rows_add_functions(struct go_rows *go, struct fde_index *index, const struct elf_file *file)
{
	struct go_function f;

	for (uint64_t i = 0; i < go->table.nr; i++) {
		struct fde fde = {};
		bool early;
		int error;

		if (!gopclntab_function(&go->table, i, &f) || !f.pcsp || !code_of(go, &f))
			continue;
		early = go_special_of(&f) == GO_ENTERED_AT_START;
		fde = (struct fde){ .start = f.start - early,
				    .length = f.size + early,
				    .program_bytes = i };
		error = fde_index_add(index, file, &fde, GO_CLASS);
		if (error && error != -ERANGE)
			return error;
	}
	return 0;
}

/* ---- rows ---- */

static uint32_t state_of(struct go_rows *go, struct cfi_states *states, int32_t depth,
			 enum go_fp fp)
{
	uint32_t *known =
		depth >= 0 && depth / 8 < GO_KNOWN_FRAMES ? &go->known[fp][depth / 8] : NULL;
	struct eh_rule rule;

	if (depth < 0 || depth % 8) /* rawVforkSyscall() pops its return address */
		return cfi_states_of_rule(states, &(struct eh_rule){ .kind = RULE_UNSUPPORTED });
	if (known && *known)
		return *known - 1;
	rule = go_frame_rule(depth, fp);
	if (!known)
		return cfi_states_of_rule(states, &rule);
	*known = cfi_states_of_rule(states, &rule) + 1;
	return *known - 1;
}

/* a function that is being written; a place in it is `at` bytes behind its start */
struct place {
	struct go_rows *go;
	struct row_writer *w;
	struct cfi_states *states;
	/* offsets in the file: of the span, of the function, where others rule */
	uint64_t first, start, end;
};

static void add(const struct place *p, uint64_t at, uint32_t state)
{
	uint64_t offset = at ? p->start + at : p->first;

	if (offset < p->end && !p->w->error && !p->states->error)
		row_writer_add(p->w, offset, state);
}

static void add_nothing(const struct place *p, uint64_t at)
{
	add(p, at, cfi_states_of_rule(p->states, &(struct eh_rule){ .kind = RULE_NONE }));
}

/*
 * The first part of a function with a frame is its prologue. All others with a frame come behind
 * it, and what it saved is saved.
 */
static void write_compiled(const struct place *p, const struct go_function *f, const uint8_t *code,
			   uint64_t *nr_rows)
{
	struct go_values v = gopclntab_values(&p->go->table, f->pcsp, f->size);
	uint64_t saved_from = 0;
	bool framed = false, saved = false;

	for (; go_values_next(&v); ++*nr_rows) {
		bool early;

		if (v.value <= 0) {
			add(p, v.start, state_of(p->go, p->states, v.value, GO_FP_SAME));
			continue;
		}
		if (!framed)
			saved = machine_saves_fp(code, f->size, v.start, v.value, &saved_from);
		framed = true;
		early = saved && saved_from > v.start;
		if (early)
			add(p, v.start, state_of(p->go, p->states, v.value, GO_FP_SAME));
		if (!early || saved_from < v.end)
			add(p, early ? saved_from : v.start,
			    state_of(p->go, p->states, v.value, saved ? GO_FP_SAVED : GO_FP_LOST));
	}
	add_nothing(p, v.end); /* padding */
}

static void on_rule(void *arg, uint64_t at, const struct eh_rule *rule)
{
	const struct place *p = arg;

	add(p, at, cfi_states_of_rule(p->states, rule));
}

/* too much assembly: what the table alone says */
static void write_by_table(const struct place *p, const struct go_function *f, uint64_t *nr_rows)
{
	struct go_values v = gopclntab_values(&p->go->table, f->pcsp, f->size);

	for (; go_values_next(&v); ++*nr_rows)
		add(p, v.start,
		    state_of(p->go, p->states, f->flags & (GO_SPWRITE | GO_TOPFRAME) ? -1 : v.value,
			     GO_FP_LOST));
	add_nothing(p, v.end);
}

int go_rows_write(struct go_rows *go, struct row_writer *w, struct cfi_states *states,
		  const struct fde_span *span, uint64_t end, uint64_t *nr_rows)
{
	struct place p = { .go = go, .w = w, .states = states, .first = span->start, .end = end };
	struct go_function f;
	const uint8_t *code;
	int special, error;

	if (!gopclntab_function(&go->table, span->program_bytes, &f))
		return 0;
	code = code_of(go, &f);
	special = go_special_of(&f);
	if (special == GO_FIRST && !go->begins_with_c)
		special = GO_OUTERMOST;
	p.start = span->start + (f.start - span->vaddr);
	if (!go_is_assembly(&go->table, &f, special)) {
		write_compiled(&p, &f, code, nr_rows);
		return 0;
	}
	if (f.size > MAX_ASSEMBLY_FUNCTION || f.size > MAX_ASSEMBLY_BYTES - go->assembly_bytes) {
		write_by_table(&p, &f, nr_rows);
		return 0;
	}
	go->assembly_bytes += f.size;
	error = go_assembly(&go->table, &f, special, code, &go->curg, on_rule, &p);
	++*nr_rows;
	return error;
}
