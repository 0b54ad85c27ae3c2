// SPDX-License-Identifier: GPL-2.0-or-later
/* Go's table of functions, and code that it is about: the input's own bytes. */
#include "dwarf/gopclntab.h"
#include "fuzz.h"
#include "table/go_assembly.h"
#include "table/machine.h"

#define MAX_LINES 64 /* functions: each may have the longest list of values there is */

struct emitted {
	uint64_t next, size;
};

static void emit(void *arg, uint64_t at, const struct eh_rule *rule)
{
	struct emitted *e = arg;

	must(at >= e->next && at < e->size, "places rise, and lie in the function");
	e->next = at + 1;
	must(rule->kind < NR_RULE_KINDS, "rules are of a kind");
}

/* what it costs is bounded by the function's bytes, not by the table's */
static void look_at(const struct gopclntab *table, const struct go_function *f, const uint8_t *code,
		    uint32_t *curg)
{
	struct go_values v = gopclntab_values(table, f->pcsp, f->size);
	struct emitted e = { .size = f->size };
	uint64_t end = 0, from;

	while (go_values_next(&v)) {
		must(v.start == end && v.end > v.start && v.end <= f->size,
		     "values follow each other");
		end = v.end;
		if (machine_saves_fp(code, f->size, v.start, v.value, &from))
			must(from >= v.start && from <= f->size,
			     "a prologue ends behind its beginning");
	}
	must(!go_assembly(table, f, go_special_of(f), code, curg, emit, &e), "there is memory");
}

static void look_for_line(const struct gopclntab *table, const struct go_function *f)
{
	struct go_function found;
	const char *file;
	unsigned line;

	if (gopclntab_find(table, f->start, &found))
		must(f->start - found.start < found.size,
		     "the function that is found is around the address");
	if (gopclntab_line(table, f, f->size / 2, &file, &line))
		must(*file && line, "a line has a file and a number");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct gopclntab table;
	struct go_function f;
	uint64_t looked_at = 0;
	uint32_t curg = 0;

	if (gopclntab_over(&table, bytes, size))
		return 0;
	for (uint64_t i = 0; i < table.nr; i++) {
		if (!gopclntab_function(&table, i, &f))
			continue;
		must(f.name && f.size, "a function has a name and bytes");
		if (i < MAX_LINES)
			look_for_line(&table, &f);
		if (!f.pcsp || f.size > size || f.size > 65536 - looked_at)
			continue;
		looked_at += f.size;
		look_at(&table, &f, bytes + size - f.size, &curg);
	}
	return 0;
}
