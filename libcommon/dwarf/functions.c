// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/functions.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/order.h"
#include "dwarf/gopclntab.h"
#include "dwarf/symbol_name.h"

struct search {
	struct functions *found;
	const struct elf_file *code;
	const char *pattern;
	/* for fnmatch(): brackets are parts of C++ names; in a pattern its own, too: f[0-9]* */
	char *literal_brackets;
	const char *own_brackets; /* NULL: there are none */
	bool demangled, is_go;
	char literal[256]; /* with demangled: what a mangled name has in it, too */
};

static bool executable_offset(const struct elf_file *code, uint64_t vaddr, uint64_t *offset)
{
	for (size_t i = 0; i < code->nr_segments; i++) {
		const struct elf_segment *s = &code->segments[i];

		if (s->executable && vaddr >= s->vaddr && vaddr - s->vaddr < s->size) {
			*offset = vaddr - s->vaddr + s->file_offset;
			return true;
		}
	}
	return false;
}

/* ---- the name ---- */

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static size_t word_length(const char *text)
{
	size_t length = 0;

	while (is_word(text[length]))
		length++;
	return length;
}

/* Does no mangled name spell this out? It may be a part of a word that has an abbreviation */
static bool is_abbreviated(const char *word)
{
	static const char *const words[] = {
		"anonymous",    "namespace",     "std",           "allocator",
		"basic_string", "basic_istream", "basic_ostream", "basic_iostream",
		"non-virtual",  "thunk",         "covariant",     "return",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(words[i], word))
			return true;
	return false;
}

/*
 * The longest word of the pattern that a mangled name spells out: not to demangle all names. What
 * is in brackets, and operators, it may write otherwise.
 */
static void find_literal(struct search *s)
{
	const char *p = s->pattern;
	char word[sizeof(s->literal)];
	int depth = 0;

	for (size_t length; *p; p += length) {
		length = word_length(p);
		if (!length) {
			depth += (strchr("(<{[", *p) != NULL) - (strchr(")>}]", *p) != NULL);
			length = 1;
			continue;
		}
		if (length >= sizeof(word))
			continue;
		memcpy(word, p, length);
		word[length] = 0;
		if (strstr("operator", word))
			return;
		if (!depth && length > strlen(s->literal) && !is_abbreviated(word))
			strcpy(s->literal, word);
	}
}

static bool is_part(const char *suffixes)
{
	return strstr(suffixes, ".cold") || strstr(suffixes, ".part");
}

static bool matches(const struct search *s, const char *name)
{
	return !fnmatch(s->literal_brackets, name, 0) ||
	       (s->own_brackets && !fnmatch(s->own_brackets, name, 0));
}

/* the name that matches, to be freed, or NULL */
static char *matching_name(const struct search *s, const char *raw)
{
	size_t length = s->is_go ? strlen(raw) : symbol_name_fold(raw);
	char *name;

	if (is_part(raw + length) || (s->demangled && !strstr(raw, s->literal)))
		return NULL;
	name = s->demangled ? symbol_name_for_people(raw, false, s->is_go) : strndup(raw, length);
	if (name && !matches(s, name)) {
		free(name);
		return NULL;
	}
	return name;
}

/* ---- the tables ---- */

static int add(struct search *s, const GElf_Sym *symbol, const char *raw)
{
	unsigned char type = GELF_ST_TYPE(symbol->st_info);
	struct function f = { .vaddr = symbol->st_value,
			      .bytes = symbol->st_size,
			      .chosen = type == STT_GNU_IFUNC };

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF || !raw ||
	    !*raw || !executable_offset(s->code, symbol->st_value, &f.file_offset))
		return 0;
	f.name = matching_name(s, raw);
	if (!f.name)
		return 0;
	if (array_reserve(&s->found->functions, &s->found->room, s->found->nr + 1)) {
		free(f.name);
		return -ENOMEM;
	}
	s->found->functions[s->found->nr++] = f;
	return 0;
}

/*
 * Go's own table, if the file has one: where nothing else names its functions. *any: as
 * search_table()
 */
static int search_go_table(struct search *s, struct elf_file *file, bool *any)
{
	struct gopclntab table;
	struct go_function f;
	int error = gopclntab_open(&table, file);

	if (error)
		return error == -ENOMEM ? error : 0;
	for (uint64_t i = 0; !error && i < table.nr; i++) {
		if (!gopclntab_function(&table, i, &f))
			continue;
		*any = true;
		error = add(s,
			    &(GElf_Sym){
				    .st_info = GELF_ST_INFO(STB_GLOBAL, STT_FUNC),
				    .st_shndx = 1,
				    .st_value = f.start,
				    .st_size = f.size,
			    },
			    f.name);
	}
	return error;
}

/* *any: there is such a table */
static int search_table(struct search *s, struct elf_file *file, uint32_t type, bool *any)
{
	GElf_Shdr header;
	Elf_Scn *scn = elf_file_header(file, type, NULL, &header);
	GElf_Sym symbol;
	Elf_Data *data;
	int error = scn ? elf_file_table(file, scn, &header, &data) : 0;

	if (!scn || error)
		return error == -EFBIG ? error : 0;
	for (int i = 0; !error && gelf_getsym(data, i, &symbol); i++) {
		*any = true;
		error = add(s, &symbol, elf_strptr(file->elf, header.sh_link, symbol.st_name));
	}
	return error;
}

static int search_file(struct search *s, int fd, bool *any)
{
	struct elf_file debug;
	int error = 0;

	if (fd < 0)
		return 0;
	if (!elf_file_open(&debug, fd)) {
		error = search_table(s, &debug, SHT_SYMTAB, any);
		elf_file_close(&debug);
	}
	close(fd);
	return error == -ENOMEM ? error : 0; /* what is too large is as if it were not there */
}

static int search_debug_data(struct search *s, struct elf_file *file, bool *any)
{
	struct elf_file mini;
	void *image;
	int error = debug_data_open(file, &mini, &image);

	if (error)
		return error == -ENOMEM ? error : 0;
	error = search_table(s, &mini, SHT_SYMTAB, any);
	elf_file_close(&mini);
	free(image);
	return error;
}

static int search_all(struct search *s, struct elf_file *file, const struct symbol_options *options)
{
	bool any = false, exported;
	int error = search_table(s, file, SHT_SYMTAB, &any);

	if (!error && !any)
		error = search_file(s,
				    debug_file_open(options->opened, &options->search, file,
						    options->path),
				    &any);
	if (!error && !any)
		error = search_debug_data(s, file, &any);
	if (!error && !any)
		error = search_go_table(s, file, &any);
	return error ? error : search_table(s, file, SHT_DYNSYM, &exported);
}

/* ---- each once ---- */

/* of the names of one function, the plainest first */
static int by_address(const void *left, const void *right)
{
	const struct function *l = left, *r = right;
	size_t of_left = strspn(l->name, "_"), of_right = strspn(r->name, "_");
	int order = order_of(l->vaddr, r->vaddr) ?: order_of(of_left, of_right);

	return order ?: strcmp(l->name, r->name);
}

static void keep_one_of_each(struct functions *f)
{
	size_t kept = 0;

	if (f->nr)
		qsort(f->functions, f->nr, sizeof(*f->functions), by_address);
	for (size_t i = 0; i < f->nr; i++) {
		if (kept && f->functions[kept - 1].vaddr == f->functions[i].vaddr)
			free(f->functions[i].name);
		else
			f->functions[kept++] = f->functions[i];
	}
	f->nr = kept;
}

/* the pattern in which only * and ? stand for others; NULL: no memory */
static char *with_literal_brackets(const char *name)
{
	char *pattern = malloc(2 * strlen(name) + 1), *to = pattern;

	for (; pattern && *name; name++) {
		if (strchr("[]\\", *name))
			*to++ = '\\';
		*to++ = *name;
	}
	if (pattern)
		*to = 0;
	return pattern;
}

int functions_find(struct functions *functions, struct elf_file *file,
		   const struct symbol_options *options, const char *pattern)
{
	struct functions found = {};
	struct search s = {
		.found = &found,
		.code = file,
		.pattern = pattern,
		.literal_brackets = with_literal_brackets(pattern),
		.own_brackets = strpbrk(pattern, "*?") && strpbrk(pattern, "[]\\") ? pattern : NULL,
		.demangled = strstr(pattern, "::"),
		.is_go = gopclntab_is_go(file),
	};
	int error = -ENOMEM;

	if (s.literal_brackets) {
		find_literal(&s);
		error = search_all(&s, file, options);
	}
	free(s.literal_brackets);
	if (error) {
		functions_free(&found);
		return error;
	}
	keep_one_of_each(&found);
	*functions = found;
	return 0;
}

void functions_free(struct functions *functions)
{
	for (size_t i = 0; i < functions->nr; i++)
		free(functions->functions[i].name);
	free(functions->functions);
	*functions = (struct functions){};
}
