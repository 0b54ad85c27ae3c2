// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dwarf/eh_frame.h"

struct function {
	uint64_t start, end;	/* vaddr */
	char *mangled, *name;	/* name: demangled when first asked for */
	unsigned char rank;	/* of several at one place, the highest */
};

struct functions {
	struct function *all;
	size_t nr, max;
};

struct symbols {
	struct elf_file segments;	/* a copy, for the addresses only */
	struct functions named, unnamed;
};

static int add(struct functions *f, const struct function *function)
{
	if (f->nr == f->max) {
		size_t max = f->max ? f->max * 2 : 256;
		struct function *more = reallocarray(f->all, max, sizeof(*more));

		if (!more)
			return -ENOMEM;
		f->all = more;
		f->max = max;
	}
	f->all[f->nr++] = *function;
	return 0;
}

static unsigned char rank(const GElf_Sym *symbol, const char *name)
{
	unsigned char binding = GELF_ST_BIND(symbol->st_info);

	return (symbol->st_size ? 8 : 0) + (binding == STB_GLOBAL ? 4 : binding == STB_WEAK ? 2 : 0) +
	       (name[0] != '_' ? 1 : 0);
}

static int read_section(struct functions *functions, Elf *elf, unsigned type)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	Elf_Data *data;
	size_t i, nr;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &header) && header.sh_type == type)
			break;
	data = scn ? elf_getdata(scn, NULL) : NULL;
	if (!data || !header.sh_entsize)
		return 0;
	nr = header.sh_size / header.sh_entsize;
	for (i = 0; i < nr; i++) {
		GElf_Sym symbol;
		const char *name;
		struct function f;

		if (!gelf_getsym(data, i, &symbol) || symbol.st_shndx == SHN_UNDEF || !symbol.st_value)
			continue;
		switch (GELF_ST_TYPE(symbol.st_info)) {
		case STT_FUNC:
		case STT_GNU_IFUNC:
		case STT_NOTYPE:
			break;
		default:
			continue;
		}
		name = elf_strptr(elf, header.sh_link, symbol.st_name);
		if (!name || !*name || symbol.st_value + symbol.st_size < symbol.st_value)
			continue;
		f = (struct function){
			.start = symbol.st_value,
			.end = symbol.st_value + symbol.st_size,
			.rank = rank(&symbol, name),
			.mangled = strndup(name, strcspn(name + 1, "@") + 1),	/* without a version */
		};
		if (!f.mangled || add(functions, &f)) {
			free(f.mangled);
			return -ENOMEM;
		}
	}
	return 0;
}

static int by_start(const void *left, const void *right)
{
	const struct function *l = left, *r = right;

	if (l->start != r->start)
		return l->start < r->start ? -1 : 1;
	return (int)r->rank - l->rank;
}

/* sorted, one for each start */
static void sort(struct functions *f)
{
	size_t kept = 0;

	if (!f->nr)
		return;
	qsort(f->all, f->nr, sizeof(*f->all), by_start);
	for (size_t i = 1; i < f->nr; i++) {
		if (f->all[i].start == f->all[kept].start)
			free(f->all[i].mangled);
		else
			f->all[++kept] = f->all[i];
	}
	f->nr = kept + 1;
}

static int read_debug_file(struct functions *functions, const struct elf_file *file)
{
	char name[sizeof("/usr/lib/debug/.build-id/") + 2 * sizeof(file->build_id) + sizeof("/.debug")];
	struct elf_file debug;
	int fd, error, at;

	if (file->build_id_bytes < 2)
		return 0;
	at = sprintf(name, "/usr/lib/debug/.build-id/%02x/", file->build_id[0]);
	for (size_t i = 1; i < file->build_id_bytes; i++)
		at += sprintf(name + at, "%02x", file->build_id[i]);
	strcpy(name + at, ".debug");
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	error = elf_file_open(&debug, fd);
	if (!error) {
		error = read_section(functions, debug.elf, SHT_SYMTAB);
		elf_file_close(&debug);
	}
	close(fd);
	return error == -ENOMEM ? error : 0;
}

static int read_fdes(struct functions *functions, struct elf_file *file)
{
	struct elf_section section;
	struct eh_frame frame;
	struct fde fde;
	int error = 0;

	if (elf_file_cfi(file, &section, &frame))
		return 0;
	while (!error && eh_frame_next(&frame, &fde))
		error = add(functions, &(struct function){ .start = fde.start, .end = fde.start + fde.length });
	return error;
}

int symbols_read(struct symbols **symbols, struct elf_file *file)
{
	struct symbols *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return -ENOMEM;
	s->segments.segments = calloc(file->nr_segments + 1, sizeof(*s->segments.segments));
	if (!s->segments.segments) {
		free(s);
		return -ENOMEM;
	}
	s->segments.nr_segments = file->nr_segments;
	memcpy(s->segments.segments, file->segments, file->nr_segments * sizeof(*file->segments));
	error = read_section(&s->named, file->elf, SHT_SYMTAB);
	if (!error && !s->named.nr)
		error = read_debug_file(&s->named, file);
	if (!error && !s->named.nr)
		error = read_section(&s->named, file->elf, SHT_DYNSYM);
	if (!error)
		error = read_fdes(&s->unnamed, file);
	sort(&s->named);
	sort(&s->unnamed);
	if (error)
		symbols_free(s);
	else
		*symbols = s;
	return error;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->named.nr; i++) {
		free(symbols->named.all[i].mangled);
		free(symbols->named.all[i].name);
	}
	free(symbols->named.all);
	free(symbols->unnamed.all);
	free(symbols->segments.segments);
	free(symbols);
}

/* the last one that starts at vaddr or before */
static struct function *find(struct functions *f, uint64_t vaddr)
{
	size_t low = 0, high = f->nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (f->all[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &f->all[low - 1] : NULL;
}

/* the same, or an earlier one around it that still goes on: an alias inside a function ends before that */
static struct function *find_named(struct functions *f, uint64_t vaddr)
{
	struct function *nearest = find(f, vaddr), *around = nearest;

	for (int i = 0; around && i < 8 && around >= f->all; i++, around--)
		if (vaddr < around->end)
			return around;
	return nearest;
}

static const char *demangled(struct function *f)
{
	if (!f->name)
		f->name = cplus_demangle(f->mangled, DMGL_AUTO);
	return f->name ? f->name : f->mangled;
}

bool symbols_find(struct symbols *symbols, uint64_t file_offset, struct symbol *symbol)
{
	struct function *named, *unnamed;
	uint64_t vaddr;

	if (!elf_file_vaddr_of(&symbols->segments, file_offset, &vaddr))
		return false;
	named = find_named(&symbols->named, vaddr);
	unnamed = find(&symbols->unnamed, vaddr);
	if (unnamed && vaddr >= unnamed->end)
		unnamed = NULL;
	/* a symbol without a size names what follows it, but no function that an FDE starts in between */
	if (named && vaddr >= named->end &&
	    (named->end > named->start || (unnamed && unnamed->start > named->start)))
		named = NULL;
	if (!named && !unnamed)
		return false;
	symbol->name = named ? demangled(named) : NULL;
	symbol->vaddr = named ? named->start : unnamed->start;
	symbol->offset = vaddr - symbol->vaddr;
	return true;
}
