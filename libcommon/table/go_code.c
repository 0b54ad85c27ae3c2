// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/go_code.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "dwarf/cursor.h"

#define TEXT_START_AT	24	/* of pcHeader: textStart */
#define PCSP_AT		16	/* of _func: the offset of its table of frame sizes, 0: it has none */

struct pclntab {
	struct elf_section section;
	uint64_t text_start;		/* vaddr */
	uint64_t nr_functions;
	struct cursor functions;	/* (start, _func) pairs of u32, rising, and the end of the last one */
};

static struct cursor cursor_at(const struct elf_section *section, uint64_t at)
{
	return at < section->size ? cursor_over(section->bytes + at, section->size - at) : cursor_over(NULL, 0);
}

/* In a position-independent file, a relocation says what textStart is. */
static uint64_t relocated(const struct elf_file *file, uint64_t vaddr, uint64_t value)
{
	struct elf_section relocations;
	struct cursor c;

	if (elf_file_section(file, ".rela.dyn", &relocations))
		return value;
	for (c = cursor_over(relocations.bytes, relocations.size); !c.bad;) {
		uint64_t at = cursor_u64(&c), what = cursor_u64(&c), addend = cursor_u64(&c);

		if (!c.bad && at == vaddr && ELF64_R_TYPE(what) == R_X86_64_RELATIVE)
			return addend;
	}
	return value;
}

/* 0, -ENOENT or -ENOTSUP */
static int open_pclntab(struct pclntab *t, const struct elf_file *file)
{
	uint32_t magic;
	uint64_t functions_at;
	struct cursor c;

	if (elf_file_section(file, ".gopclntab", &t->section) &&
	    elf_file_section(file, ".data.rel.ro.gopclntab", &t->section))
		return -ENOENT;
	c = cursor_over(t->section.bytes, t->section.size);
	magic = cursor_u32(&c);
	cursor_bytes(&c, 4);		/* padding, sizes of instructions and pointers */
	t->nr_functions = cursor_u64(&c);
	cursor_u64(&c);			/* files */
	t->text_start = relocated(file, t->section.vaddr + TEXT_START_AT, cursor_u64(&c));
	cursor_bytes(&c, 4 * 8);	/* where names, units, files and tables of pcs begin */
	functions_at = cursor_u64(&c);
	if (c.bad || (magic != 0xfffffff0 && magic != 0xfffffff1) || functions_at > t->section.size ||
	    t->nr_functions > (t->section.size - functions_at) / 8)
		return -ENOTSUP;
	t->section.bytes += functions_at;
	t->section.size -= functions_at;
	t->functions = cursor_over(t->section.bytes, t->section.size);
	return 0;
}

/* of text, by vaddr. 0, -ENOTSUP or -ENOMEM */
static int add_range(struct go_code *go, const struct elf_file *file, uint64_t start, uint64_t end)
{
	uint64_t offset;

	if (end <= start)
		return end < start ? -ENOTSUP : 0;
	if (!elf_file_offset_of(file, start, &offset) || (go->nr && offset < go->ranges[go->nr - 1].end))
		return -ENOTSUP;
	if (go->nr && offset == go->ranges[go->nr - 1].end) {
		go->ranges[go->nr - 1].end += end - start;
		return 0;
	}
	if (array_reserve(&go->ranges, &go->max, go->nr + 1))
		return -ENOMEM;
	go->ranges[go->nr++] = (struct go_range){ offset, offset + end - start };
	return 0;
}

static int read_functions(struct go_code *go, const struct elf_file *file, struct pclntab *t)
{
	uint32_t start = cursor_u32(&t->functions);
	int error = 0;

	for (uint64_t i = 0; i < t->nr_functions && !error; i++) {
		struct cursor pcsp = cursor_at(&t->section, (uint64_t)cursor_u32(&t->functions) + PCSP_AT);
		uint32_t end = cursor_u32(&t->functions);

		if (cursor_u32(&pcsp))
			error = add_range(go, file, t->text_start + start, t->text_start + end);
		if (t->functions.bad || pcsp.bad)
			error = -ENOTSUP;
		start = end;
	}
	return error || go->nr ? error : -ENOTSUP;
}

int go_code_find(struct go_code *go, const struct elf_file *file)
{
	struct elf_section section;
	struct pclntab t;
	int error;

	*go = (struct go_code){};
	if (elf_file_section(file, ".note.go.buildid", &section))
		return 0;
	error = open_pclntab(&t, file);
	if (!error)
		error = read_functions(go, file, &t);
	if (!error || error == -ENOMEM)
		return error;
	go->nr = 0;
	if (array_reserve(&go->ranges, &go->max, 1))
		return -ENOMEM;
	go->ranges[go->nr++] = (struct go_range){ 0, UINT64_MAX };
	return 0;
}

void go_code_free(struct go_code *go)
{
	free(go->ranges);
}

const struct go_range *go_code_after(const struct go_code *go, uint64_t at)
{
	size_t low = 0, high = go->nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (go->ranges[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < go->nr ? &go->ranges[low] : NULL;
}
