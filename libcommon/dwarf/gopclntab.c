// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/gopclntab.h"

#include <errno.h>
#include <string.h>

/* where the three layouts differ */
struct gopclntab_layout {
	uint32_t magic;
	/* entries count from there, in 4 bytes; else they are addresses, in 8 */
	bool has_text_start;
	/* offsets in a function's record; behind pcsp: pcfile, pcln, npcdata, the unit */
	uint8_t name, pcsp, flag;
};

static const struct gopclntab_layout layouts[] = {
	/* 1.16 */
	{ .magic = 0xfffffffa, .has_text_start = false, .name = 8, .pcsp = 20, .flag = 41 },
	/* 1.18 */
	{ .magic = 0xfffffff0, .has_text_start = true, .name = 4, .pcsp = 16, .flag = 37 },
	/* 1.20 */
	{ .magic = 0xfffffff1, .has_text_start = true, .name = 4, .pcsp = 16, .flag = 41 },
};

/* the magic, two zeros, the least bytes of an instruction, and of an address */
#define HEADER_BYTES 8

#define QUANTUM(header) ((header)[6]) /* 1 on x86-64, 4 on arm64 */

static const struct gopclntab_layout *layout_of(const uint8_t *header)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (!memcmp(header, &layouts[i].magic, 4) && !header[4] && !header[5] &&
		    (QUANTUM(header) == 1 || QUANTUM(header) == 4) && header[7] == 8)
			return &layouts[i];
	return NULL;
}

static size_t entry_bytes(const struct gopclntab *t)
{
	return t->layout->has_text_start ? 4 : 8;
}

int gopclntab_over(struct gopclntab *table, const uint8_t *bytes, size_t size)
{
	struct gopclntab t = { .bytes = bytes, .size = size };
	struct cursor c = cursor_over(bytes, size);
	const uint8_t *header = cursor_bytes(&c, HEADER_BYTES);

	t.layout = header ? layout_of(header) : NULL;
	if (!t.layout)
		return -EBADMSG;
	t.quantum = QUANTUM(header);
	t.nr = cursor_u64(&c);
	cursor_u64(&c); /* files */
	if (t.layout->has_text_start)
		t.text_start = cursor_u64(&c);
	t.names = cursor_u64(&c);
	t.units = cursor_u64(&c);
	t.files = cursor_u64(&c);
	t.pcvalues = cursor_u64(&c);
	t.functions = cursor_u64(&c);
	/* nr pairs, and the end of the last function */
	if (c.bad || t.names >= size || t.pcvalues >= size || t.functions >= size ||
	    t.nr >= (size - t.functions) / (2 * entry_bytes(&t)))
		return -EBADMSG;
	t.names_end = t.units > t.names && t.units < size ? t.units : size;
	*table = t;
	return 0;
}

bool gopclntab_marks_assembly(const struct gopclntab *table)
{
	return table->layout->has_text_start;
}

/* ---- functions ---- */

/* a field of 4 bytes, or of an address */
static uint64_t read_at(const struct gopclntab *t, uint64_t offset, size_t bytes, bool *bad)
{
	struct cursor c = cursor_over(t->bytes, t->size);
	uint64_t value = 0; /* the least significant byte is the first one */
	const uint8_t *from;

	cursor_bytes(&c, offset);
	from = cursor_bytes(&c, bytes);
	if (from)
		memcpy(&value, from, bytes);
	*bad |= c.bad;
	return value;
}

static const char *string_at(const struct gopclntab *t, uint64_t offset)
{
	struct cursor c = cursor_over(t->bytes, t->size);
	const char *string;

	cursor_bytes(&c, offset);
	string = cursor_string(&c);
	return string ? string : "";
}

bool gopclntab_function(const struct gopclntab *table, uint64_t i, struct go_function *function)
{
	size_t entry = entry_bytes(table);
	uint64_t at = table->functions + i * 2 * entry, start, end, record, pcsp;
	bool bad = false;
	uint8_t flags;

	start = read_at(table, at, entry, &bad);
	record = table->functions + read_at(table, at + entry, entry, &bad);
	end = read_at(table, at + 2 * entry, entry, &bad);
	pcsp = read_at(table, record + table->layout->pcsp, 4, &bad);
	flags = read_at(table, record + table->layout->flag, 1, &bad);
	if (bad || end <= start)
		return false;
	*function = (struct go_function){
		.start = table->text_start + start,
		.size = end - start,
		.flags = flags,
		.record = record,
		.name = string_at(table, table->names + read_at(table, record + table->layout->name,
								4, &bad)),
		.pcsp = pcsp && pcsp < table->size - table->pcvalues
				? table->bytes + table->pcvalues + pcsp
				: NULL,
	};
	return !bad;
}

bool gopclntab_find(const struct gopclntab *table, uint64_t vaddr, struct go_function *function)
{
	size_t entry = entry_bytes(table);
	uint64_t low = 0, high = table->nr;
	bool bad = false;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (table->text_start +
			    read_at(table, table->functions + middle * 2 * entry, entry, &bad) <=
		    vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && gopclntab_function(table, low - 1, function) &&
	       vaddr - function->start < function->size;
}

/* ---- values ---- */

struct go_values gopclntab_values(const struct gopclntab *table, const uint8_t *from,
				  uint64_t function_size)
{
	return (struct go_values){
		.c = cursor_over(from, table->bytes + table->size - from),
		.size = function_size,
		.value = -1,
		.quantum = table->quantum,
	};
}

/*
 * Pairs of LEB128 numbers: how much the value changes, zigzag, and for how many bytes it then
 * holds, in units of the quantum. A change of 0 ends the table, but for the first one.
 */
bool go_values_next(struct go_values *values)
{
	uint32_t change = cursor_uleb128(&values->c);
	uint64_t bytes;

	if (values->c.bad || (!change && values->end) || values->end >= values->size)
		return false;
	bytes = cursor_uleb128(&values->c) * (uint64_t)values->quantum;
	if (values->c.bad || !bytes)
		return false;
	values->value += change >> 1 ^ -(change & 1);
	values->start = values->end;
	values->end = bytes < values->size - values->end ? values->end + bytes : values->size;
	return true;
}

/*
 * of the pc-value table that the record's field names, at this offset in the function; -1: not
 * known
 */
static int32_t value_at(const struct gopclntab *t, const struct go_function *f, size_t field,
			uint64_t offset)
{
	bool bad = false;
	uint64_t at = read_at(t, f->record + field, 4, &bad);
	struct go_values v;

	if (bad || !at || at >= t->size - t->pcvalues)
		return -1;
	v = gopclntab_values(t, t->bytes + t->pcvalues + at, f->size);
	while (go_values_next(&v))
		if (offset < v.end)
			return v.value;
	return -1;
}

bool gopclntab_line(const struct gopclntab *t, const struct go_function *f, uint64_t offset,
		    const char **file, unsigned *line)
{
	size_t pcsp = t->layout->pcsp;
	int32_t number = value_at(t, f, pcsp + 4, offset),
		at_line = value_at(t, f, pcsp + 8, offset);
	bool bad = number < 0 || at_line <= 0;
	uint64_t first, name;

	if (bad)
		return false;
	/* a unit's files are numbered: 4 bytes for each, where its name is */
	first = read_at(t, f->record + pcsp + 16, 4, &bad);
	name = read_at(t, t->units + 4 * (first + number), 4, &bad);
	if (bad || t->files >= t->size || name >= t->size - t->files ||
	    !*string_at(t, t->files + name))
		return false;
	*file = string_at(t, t->files + name);
	*line = at_line;
	return true;
}

/* ---- in a file ---- */

/*
 * runtime.goexit begins with nop, call, nop in every version, so that a return address in front of
 * it is its own.
 */
static bool is_goexit(const uint8_t *code, uint64_t size, uint8_t quantum)
{
	static const uint8_t nop[] = { 0xe0, 0x03, 0x00, 0xaa }; /* mov x0, x0 */

	if (quantum == 1)
		return size >= 7 && code[0] == 0x90 && code[1] == 0xe8 && code[6] == 0x90;
	return size >= 8 && !memcmp(code, nop, sizeof(nop)) && (code[7] & 0xfc) == 0x94; /* bl */
}

/*
 * 0, -EBADMSG or -ENOMEM. Are the functions where the table says? And tables of Go 1.16, which know
 * no flags, are not good enough: nothing in them says where stacks end.
 */
static int check_code(const struct gopclntab *t, const struct elf_file *file)
{
	struct go_function f;

	for (uint64_t i = 0; i < t->nr; i++) {
		const uint8_t *code;
		uint64_t size = 8;
		int error;

		if (!gopclntab_function(t, i, &f) || !(f.flags & GO_TOPFRAME) ||
		    strcmp(f.name, "runtime.goexit"))
			continue;
		error = elf_file_code_at(file, f.start, &size, &code);
		if (error)
			return error == -ENOMEM ? error : -EBADMSG;
		return is_goexit(code, size < f.size ? size : f.size, t->quantum) ? 0 : -EBADMSG;
	}
	return -EBADMSG;
}

/* Go 1.26 leaves the header's text_start 0, as does a linker that leaves it to a relocation. */
static void guess_text_start(struct gopclntab *t, struct elf_file *file)
{
	GElf_Shdr text;

	if (t->layout->has_text_start && !t->text_start && elf_file_header(file, 0, ".text", &text))
		t->text_start = text.sh_addr;
}

/*
 * at the section's start, or at one of the addresses behind it, up to `last`. 0, -ENOMEM, or
 * another: it is not there
 */
static int find_in(struct gopclntab *table, struct elf_file *file, const char *name, size_t last)
{
	struct elf_section section;
	int error = elf_file_section(file, name, &section);

	if (error)
		return error;
	for (size_t at = 0; at <= last && at + HEADER_BYTES <= section.size; at += 8) {
		if (!layout_of(section.bytes + at) ||
		    gopclntab_over(table, section.bytes + at, section.size - at))
			continue;
		guess_text_start(table, file);
		error = check_code(table, file);
		if (error != -EBADMSG)
			return error;
	}
	return -ENOENT;
}

bool gopclntab_is_go(const struct elf_file *file)
{
	GElf_Shdr note;

	return elf_file_header(file, 0, ".note.go.buildid", &note);
}

/* GNU ld makes the table of an executable with relocations a part of .data.rel.ro. */
int gopclntab_open(struct gopclntab *table, struct elf_file *file)
{
	struct gopclntab found;
	int error = find_in(&found, file, ".gopclntab", 0);

	if (error && error != -ENOMEM)
		error = find_in(&found, file, ".data.rel.ro.gopclntab", 0);
	if (error && error != -ENOMEM && gopclntab_is_go(file))
		error = find_in(&found, file, ".data.rel.ro", SIZE_MAX);
	if (error)
		return error == -ENOMEM ? error : -ENOENT;
	*table = found;
	return 0;
}
