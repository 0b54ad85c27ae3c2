// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/exports.h"

#include <errno.h>
#include <string.h>

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (const uint8_t *p = (const uint8_t *)name; *p; p++)
		hash = hash * 33 + *p;
	return hash;
}

/* the i-th 4-byte word of the section; 0 outside */
static uint32_t word(const struct elf_section *s, uint64_t i)
{
	uint32_t value = 0;

	if (i < s->size / sizeof(value))
		memcpy(&value, s->bytes + i * sizeof(value), sizeof(value));
	return value;
}

static int symbol_named(struct elf_file *file, uint64_t number, const char *name, uint64_t *vaddr,
			uint64_t *size)
{
	struct elf_section symbols, names;
	Elf64_Sym symbol;
	int error = elf_file_section(file, ".dynsym", &symbols);

	if (!error)
		error = elf_file_section(file, ".dynstr", &names);
	if (error || number >= symbols.size / sizeof(symbol))
		return error == -ENOMEM ? error : -EBADMSG;
	memcpy(&symbol, symbols.bytes + number * sizeof(symbol), sizeof(symbol));
	if (symbol.st_name >= names.size ||
	    strnlen(name, names.size) >= names.size - symbol.st_name ||
	    strcmp((const char *)names.bytes + symbol.st_name, name) ||
	    symbol.st_shndx == SHN_UNDEF)
		return -ENOENT;
	*vaddr = symbol.st_value;
	*size = symbol.st_size;
	return 0;
}

/*
 * Four words (how many buckets, the first symbol that is hashed, how many words of a Bloom filter
 * and its shift), the filter, the buckets, and for each hashed symbol its hash, whose lowest bit
 * ends a bucket's.
 */
int exports_find(struct elf_file *file, const char *name, uint64_t *vaddr, uint64_t *size)
{
	struct elf_section s;
	uint32_t hash = hash_of(name), nr_buckets, first, nr_filter, number;
	uint64_t buckets;
	int error = elf_file_section(file, ".gnu.hash", &s);

	if (error)
		return error == -ENOMEM ? error : -ENODATA;
	nr_buckets = word(&s, 0);
	first = word(&s, 1);
	nr_filter = word(&s, 2);
	if (!nr_buckets)
		return -ENOENT;
	buckets = 4 + 2 * (uint64_t)nr_filter;
	number = word(&s, buckets + hash % nr_buckets);
	if (number < first || !number)
		return -ENOENT;
	for (;; number++) {
		uint64_t at = buckets + nr_buckets + (number - first);
		uint32_t theirs = word(&s, at);

		if (at >= s.size / sizeof(uint32_t))
			return -EBADMSG;
		error = (theirs | 1) == (hash | 1) ? symbol_named(file, number, name, vaddr, size)
						   : -ENOENT;
		if (!error || error == -ENOMEM)
			return error;
		if (theirs & 1)
			return -ENOENT;
	}
}
