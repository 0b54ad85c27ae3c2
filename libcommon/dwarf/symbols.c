// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/order.h"
#include "base/search.h"
#include "dwarf/eh_frame.h"
#include "dwarf/gopclntab.h"
#include "dwarf/plt.h"
#include "dwarf/symbol_name.h"
#include "dwarf/symbol_table.h"

#define MAX_CACHE_BYTES (8 << 20)

const char *const symbol_source_names[NR_SYMBOL_SOURCES] = {
	[SOURCE_SYMTAB] = "symtab",
	[SOURCE_DEBUG_FILE] = "debug_file",
	[SOURCE_DEBUG_DATA] = "debug_data",
	[SOURCE_DEBUGINFOD] = "debuginfod",
	[SOURCE_GO_TABLE] = "gopclntab",
	[SOURCE_DYNSYM] = "dynsym",
	[SOURCE_PLT] = "plt",
};

/* code that one FDE covers */
struct range {
	uint64_t start, end; /* vaddr */
};

/* a name that was asked for */
struct named {
	const char *raw; /* the key: where it is in its table's strings */
	char *name;
	UT_hash_handle hh;
};

struct symbols {
	struct elf_file code; /* its segments only */
	struct symbol_table tables[NR_SYMBOL_SOURCES];
	struct range *fdes; /* by start; those where no symbol with a size begins */
	size_t nr_fdes, fde_room;
	uint64_t *entries; /* rising */
	size_t nr_entries;
	struct named *names;
	size_t name_bytes;
	bool no_demangle, is_go; /* Go has functions called x.cold */
	/* for something; for a table of symbols, which a debug file would have, too; for FDEs */
	bool lacks_room, lacks_table, lacks_fdes;
};

/* ---- reading ---- */

static size_t bytes_left(const struct symbols *s, const struct symbol_options *options)
{
	size_t used = symbols_bytes(s);

	return used < options->max_bytes ? options->max_bytes - used : 0;
}

static void note_error(struct symbols *s, int error)
{
	s->lacks_room |= error == -ENOMEM;
}

/* A table that cannot be read is one that is not there. */
static void read_table(struct symbols *s, enum symbol_source source, struct elf_file *file,
		       const struct symbol_options *options)
{
	uint32_t type = source == SOURCE_DYNSYM ? SHT_DYNSYM : SHT_SYMTAB;
	int error =
		symbol_table_read(&s->tables[source], file, type, &s->code, bytes_left(s, options));

	note_error(s, error);
	s->lacks_table |= type == SHT_SYMTAB && (error == -ENOMEM || error == -EFBIG);
}

static void read_table_of(struct symbols *s, enum symbol_source source, int fd,
			  const struct symbol_options *options)
{
	struct elf_file debug;
	int error;

	if (fd < 0)
		return;
	error = elf_file_open_for_names(&debug, fd);
	note_error(s, error);
	if (!error) {
		read_table(s, source, &debug, options);
		elf_file_close(&debug);
	}
	close(fd);
}

static void read_debug_data(struct symbols *s, struct elf_file *file,
			    const struct symbol_options *options)
{
	struct elf_file mini;
	void *image;
	int error = debug_data_open(file, &mini, &image);

	note_error(s, error);
	if (error)
		return;
	read_table(s, SOURCE_DEBUG_DATA, &mini, options);
	elf_file_close(&mini);
	free(image);
}

static int copy_go_names(struct symbol_table *table, const struct gopclntab *go, size_t max_bytes)
{
	size_t bytes = go->names_end - go->names;

	if (bytes >= SYMBOL_TABLE_MAX_STRINGS)
		return -EFBIG;
	table->strings = bytes < max_bytes ? malloc(bytes + 1) : NULL;
	if (!table->strings)
		return -ENOMEM;
	memcpy(table->strings, go->bytes + go->names, bytes);
	table->strings[bytes] = 0;
	table->string_bytes = bytes;
	return 0;
}

static int add_go_functions(struct symbol_table *table, const struct gopclntab *go,
			    size_t max_bytes)
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
		if (name >= table->string_bytes || f.size > UINT32_MAX ||
		    f.start > UINT64_MAX - f.size)
			continue;
		error = table->nr >= max_entries
				? max_entries < SYMBOL_TABLE_MAX_SYMBOLS ? -ENOMEM : -EFBIG
				: symbol_table_add(table, &(struct symbol_entry){
								  .start = f.start,
								  .size = f.size,
								  .name = name,
								  .rank = SYMBOL_TABLE_BEST_RANK,
							  });
	}
	return error;
}

/*
 * Go's own table of functions (gopclntab.h) as a symbol table, with at most max_bytes of memory:
 * strip and the linker's -s do not remove it. A name is as in .symtab, but for the suffix that says
 * which calling convention it has (.abi0). 0 (also where there is no such table: nr is 0), -EFBIG
 * or -ENOMEM; on failure *table is empty.
 */
static int read_go_functions(struct symbol_table *table, struct elf_file *file, size_t max_bytes)
{
	struct gopclntab go;
	int error = gopclntab_open(&go, file);

	*table = (struct symbol_table){};
	if (error)
		return error == -ENOENT ? 0 : error;
	error = copy_go_names(table, &go, max_bytes);
	if (!error)
		error = add_go_functions(table, &go, max_bytes);
	if (!error)
		symbol_table_finish(table);
	if (error || !table->nr)
		symbol_table_free(table);
	return error;
}

static void read_go_table(struct symbols *s, struct elf_file *file,
			  const struct symbol_options *options)
{
	note_error(s, read_go_functions(&s->tables[SOURCE_GO_TABLE], file, bytes_left(s, options)));
	s->is_go |= s->tables[SOURCE_GO_TABLE].nr != 0;
}

static void read_tables(struct symbols *s, struct elf_file *file,
			const struct symbol_options *options)
{
	read_table(s, SOURCE_SYMTAB, file, options);
	if (!s->tables[SOURCE_SYMTAB].nr)
		read_table_of(s, SOURCE_DEBUG_FILE,
			      debug_file_open(options->opened, &options->search, file,
					      options->path),
			      options);
	if (!s->tables[SOURCE_SYMTAB].nr && !s->tables[SOURCE_DEBUG_FILE].nr) {
		read_debug_data(s, file, options);
		if (!s->tables[SOURCE_DEBUG_DATA].nr && options->opened)
			read_table_of(s, SOURCE_DEBUGINFOD,
				      debug_file_take(&options->opened->fetched, file), options);
		read_go_table(s, file, options);
		read_table(s, SOURCE_DYNSYM, file, options);
	}
	note_error(s, plt_read(&s->tables[SOURCE_PLT], file));
}

/* the best of all sources; one with a size before any without */
static bool find_match(const struct symbols *s, uint64_t vaddr, struct symbol_match *match,
		       enum symbol_source *source)
{
	struct symbol_match found;
	bool any = false;

	for (int i = 0; i < NR_SYMBOL_SOURCES; i++) {
		if (!symbol_table_find(&s->tables[i], vaddr, &found) || (any && !found.has_size))
			continue;
		*match = found;
		*source = i;
		any = true;
		if (found.has_size)
			break;
	}
	return any;
}

static int by_range_start(const void *left, const void *right)
{
	const struct range *l = left, *r = right;

	return order_of(l->start, r->start);
}

static void read_fdes(struct symbols *s, struct elf_file *file,
		      const struct symbol_options *options)
{
	struct elf_section section;
	struct symbol_match match;
	enum symbol_source source;
	struct eh_frame frame;
	struct fde fde;
	int error = elf_file_cfi(file, &section, &frame);

	while (!error && eh_frame_next(&frame, &fde)) {
		if (find_match(s, fde.start, &match, &source) && match.has_size &&
		    match.start == fde.start)
			continue;
		error = bytes_left(s, options)
				? array_reserve(&s->fdes, &s->fde_room, s->nr_fdes + 1)
				: -ENOMEM;
		if (!error)
			s->fdes[s->nr_fdes++] = (struct range){ fde.start, fde.start + fde.length };
	}
	note_error(s, error);
	s->lacks_fdes = error == -ENOMEM;
	if (s->nr_fdes)
		qsort(s->fdes, s->nr_fdes, sizeof(*s->fdes), by_range_start);
}

static int copy_segments(struct elf_file *to, const struct elf_file *file)
{
	to->segments = calloc(file->nr_segments + 1, sizeof(*to->segments));
	if (!to->segments)
		return -ENOMEM;
	for (size_t i = 0; i < file->nr_segments; i++)
		if (file->segments[i].executable)
			to->segments[to->nr_segments++] = file->segments[i];
	return 0;
}

int symbols_read(struct symbols **symbols, struct elf_file *file,
		 const struct symbol_options *options)
{
	struct symbols *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return -ENOMEM;
	s->no_demangle = options->no_demangle;
	s->is_go = gopclntab_is_go(file);
	error = copy_segments(&s->code, file);
	if (!error) {
		read_tables(s, file, options);
		read_fdes(s, file, options);
	}
	if (error)
		symbols_free(s);
	else
		*symbols = s;
	return error;
}

int symbols_add_entries(struct symbols *symbols, const uint64_t *vaddrs, size_t nr)
{
	uint64_t *copy = malloc((nr + 1) * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	if (nr)
		memcpy(copy, vaddrs, nr * sizeof(*copy));
	free(symbols->entries);
	symbols->entries = copy;
	symbols->nr_entries = nr;
	return 0;
}

static void forget_names(struct symbols *s)
{
	struct named *named, *next;

	HASH_ITER(hh, s->names, named, next) {
		HASH_DEL(s->names, named);
		free(named->name);
		free(named);
	}
	s->name_bytes = 0;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (int i = 0; i < NR_SYMBOL_SOURCES; i++)
		symbol_table_free(&symbols->tables[i]);
	forget_names(symbols);
	free(symbols->fdes);
	free(symbols->entries);
	free(symbols->code.segments);
	free(symbols);
}

size_t symbols_bytes(const struct symbols *s)
{
	size_t bytes = sizeof(*s) + s->fde_room * sizeof(*s->fdes) +
		       s->nr_entries * sizeof(*s->entries) + s->name_bytes;

	for (int i = 0; i < NR_SYMBOL_SOURCES; i++)
		bytes += symbol_table_bytes(&s->tables[i]);
	return bytes;
}

bool symbols_lack_names(const struct symbols *s)
{
	return !s->lacks_table && !s->tables[SOURCE_SYMTAB].nr &&
	       !s->tables[SOURCE_DEBUG_FILE].nr && !s->tables[SOURCE_DEBUG_DATA].nr &&
	       !s->tables[SOURCE_DEBUGINFOD].nr;
}

bool symbols_lack_room(const struct symbols *s)
{
	return s->lacks_room;
}

/* ---- finding ---- */

static char *make_name(const struct symbols *s, const char *raw, enum symbol_source source)
{
	char *name = symbol_name_for_people(raw, s->no_demangle, s->is_go), *plt = NULL;

	if (!name || source != SOURCE_PLT)
		return name;
	if (asprintf(&plt, "%s@plt", name) < 0)
		plt = NULL;
	free(name);
	return plt;
}

/* NULL: no memory */
static struct named *new_name(const struct symbols *s, const char *raw, enum symbol_source source)
{
	struct named *named = calloc(1, sizeof(*named));

	if (!named)
		return NULL;
	named->raw = raw;
	named->name = make_name(s, raw, source);
	if (!named->name) {
		free(named);
		return NULL;
	}
	return named;
}

/* NULL: no memory */
static const char *name_of(struct symbols *s, const char *raw, enum symbol_source source)
{
	struct named *named;

	HASH_FIND_PTR(s->names, &raw, named);
	if (named)
		return named->name;
	if (s->name_bytes > MAX_CACHE_BYTES)
		forget_names(s);
	named = new_name(s, raw, source);
	if (!named) {
		forget_names(s);
		named = new_name(s, raw, source);
	}
	if (!named) {
		s->lacks_room = true;
		return NULL;
	}
	s->name_bytes += sizeof(*named) + strlen(named->name) + 1;
	HASH_ADD_PTR(s->names, raw, named);
	return named->name;
}

/* the FDE that covers vaddr */
static const struct range *find_fde(const struct symbols *s, uint64_t vaddr)
{
	size_t nr = count_up_to(s->fdes, s->nr_fdes, start, vaddr);

	return nr && vaddr < s->fdes[nr - 1].end ? &s->fdes[nr - 1] : NULL;
}

static bool in_one_segment(const struct symbols *s, uint64_t a, uint64_t b)
{
	for (size_t i = 0; i < s->code.nr_segments; i++) {
		const struct elf_segment *segment = &s->code.segments[i];

		if (a - segment->vaddr < segment->size && b - segment->vaddr < segment->size)
			return true;
	}
	return false;
}

static bool find_entry(const struct symbols *s, uint64_t vaddr, uint64_t *start)
{
	size_t nr = count_sorted_up_to(s->entries, s->nr_entries, sizeof(*s->entries), 0, vaddr);
	struct symbol_match match;
	enum symbol_source source;

	if (!nr || s->lacks_fdes || !in_one_segment(s, s->entries[nr - 1], vaddr))
		return false;
	/* a function begins there, and ends before vaddr */
	if (find_match(s, s->entries[nr - 1], &match, &source) && match.has_size)
		return false;
	*start = s->entries[nr - 1];
	return true;
}

bool symbols_find(struct symbols *symbols, uint64_t file_offset, struct symbol *symbol)
{
	struct symbol found = {};
	struct symbol_match match;
	enum symbol_source source;
	const struct range *fde;
	bool named;

	if (!elf_file_vaddr_of(&symbols->code, file_offset, &found.vaddr))
		return false;
	named = find_match(symbols, found.vaddr, &match, &source);
	fde = find_fde(symbols, found.vaddr);
	/*
	 * a symbol without a size names what follows it, but no function that an FDE starts in
	 * between
	 */
	if (named && !match.has_size && fde && fde->start > match.start)
		named = false;
	found.has_function = true;
	if (named) {
		found.function_vaddr = match.start;
		found.name = name_of(symbols, match.name, source);
		found.raw_name = source == SOURCE_PLT || !found.name ? found.name : match.name;
		found.source = source;
	} else if (fde) {
		found.function_vaddr = fde->start;
	} else if (!find_entry(symbols, found.vaddr, &found.function_vaddr)) {
		found.function_vaddr = found.vaddr;
		found.has_function = false;
	}
	found.offset = found.vaddr - found.function_vaddr;
	*symbol = found;
	return true;
}
