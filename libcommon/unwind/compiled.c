// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/compiled.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table/row_writer.h"

/*
 * the table of its CFI, or of what else is to be known of it. 0 or -errno, as unwind_table_build()
 */
static int build(struct unwind_table *table, struct elf_file *file, bool of_code)
{
	int error =
		of_code ? unwind_table_build_code(table, file) : unwind_table_build(table, file);

	if (error != -ENOENT || of_code)
		return error;
	error = unwind_table_build_without_cfi(table, file);
	/* a Go program linked without its CFI: its frame pointers are all there is */
	return error || table->has_other_code ? error : -ENOENT;
}

static void compile(struct compiled *c, struct elf_file *file, bool of_code)
{
	int error = 0;

	c->build_id_bytes = file->build_id_bytes;
	memcpy(c->build_id, file->build_id, file->build_id_bytes);
	elf_file_as_loaded(file, &c->whole, &c->cut);
	c->error = build(&c->table, file, of_code);
	if (!of_code)
		error = runtime_file_read(&c->runtime, file);
	/* a table without the runtime that the file holds is not all that is known of it */
	if (!c->error && error) {
		c->error = error;
		unwind_table_free(&c->table);
	}
	elf_file_close(file);
}

static void compile_opened(struct compiled *compiled, int fd, bool elsewhere, bool of_code,
			   int (*open_elf)(struct elf_file *file, int fd))
{
	struct elf_file file;

	*compiled = (struct compiled){ .elsewhere = elsewhere, .error = fd };
	if (fd >= 0)
		compiled->error = open_elf(&file, fd);
	if (!compiled->error)
		compile(compiled, &file, of_code);
}

void compiled_from_file(struct compiled *compiled, const struct mapped_file *mapped,
			const struct file_key *key, bool of_code)
{
	bool own;
	int fd = mapped_file_open(mapped, key, &own);

	compile_opened(compiled, fd, !own, of_code, elf_file_open);
	if (fd >= 0)
		close(fd);
}

void compiled_from_open_file(struct compiled *compiled, int fd, bool elsewhere, bool of_code)
{
	compile_opened(compiled, fd, elsewhere, of_code, elf_file_open_mapped);
}

void compiled_from_memory(struct compiled *compiled, void *image, size_t bytes, bool of_code)
{
	struct elf_file file;

	*compiled = (struct compiled){ .error = elf_file_open_memory(&file, image, bytes) };
	if (compiled->error)
		return;
	/* no process begins in it: the linker has written the start of .text, or whatever */
	file.header.e_entry = 0;
	compile(compiled, &file, of_code);
}

/* ---- from a worker ---- */

/* behind a struct compiled whose pointers mean nothing: rules, pages, rows */
static size_t bytes_of(const struct unwind_table *t)
{
	return sizeof(struct compiled) + t->nr_rules * sizeof(*t->rules) +
	       t->nr_pages * sizeof(*t->pages) + t->nr_rows * ROW_BYTES;
}

static void append(uint8_t **to, const void *from, size_t bytes)
{
	if (bytes)
		memcpy(*to, from, bytes);
	*to += bytes;
}

size_t compiled_write(const struct compiled *c, void *to, size_t room)
{
	const struct unwind_table *t = &c->table;
	uint8_t *at = to;

	if (bytes_of(t) > room)
		return 0;
	append(&at, c, sizeof(*c));
	append(&at, t->rules, t->nr_rules * sizeof(*t->rules));
	append(&at, t->pages, t->nr_pages * sizeof(*t->pages));
	append(&at, t->rows, t->nr_rows * ROW_BYTES);
	return at - (uint8_t *)to;
}

/*
 * Do a page's rows begin with the page and rise, and name rules that are there? They do so relative
 * to the page's.
 */
static bool are_rows_sound(const struct unwind_table *t, const struct table_page *page)
{
	uint64_t nr_rules = t->nr_rules - (uint64_t)page->rule_base * RULE_BASE_UNIT;
	int last = -1;

	for (uint32_t i = 0; i < page->nr_rows; i++) {
		uint32_t row = row_at(t->rows + (page->rows + i) * ROW_BYTES);

		if ((!i && ROW_PC(row)) || (int)ROW_PC(row) <= last || ROW_RULE(row) >= nr_rules)
			return false;
		last = ROW_PC(row);
	}
	return true;
}

/* do the pages name rows and rules that are there? */
static bool is_sound(const struct unwind_table *t)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i < t->nr_pages; i++) {
		const struct table_page *page = &t->pages[i];

		if (page->rows != next || !page->nr_rows || page->nr_rows > MAX_PAGE_ROWS ||
		    page->rows + page->nr_rows > t->nr_rows ||
		    (uint64_t)page->rule_base * RULE_BASE_UNIT >= t->nr_rules ||
		    !are_rows_sound(t, page))
			return false;
		next = page->rows + page->nr_rows;
	}
	return !t->nr_pages || next == t->nr_rows;
}

/* NULL: no memory. The rows' writer and readers may touch one byte more */
static void *copy(const uint8_t **from, size_t bytes)
{
	void *to = malloc(bytes + 1);

	if (to)
		memcpy(to, *from, bytes);
	*from += bytes;
	return to;
}

int compiled_read(struct compiled *compiled, const void *from, size_t bytes)
{
	const uint8_t *at = from;
	struct compiled c;
	struct unwind_table *t = &c.table;

	if (bytes < sizeof(c))
		return -EBADMSG;
	memcpy(&c, at, sizeof(c));
	at += sizeof(c);
	if (t->nr_rows > bytes || bytes_of(t) != bytes || c.build_id_bytes > sizeof(c.build_id) ||
	    c.error > 0 || !runtime_file_is_sound(&c.runtime))
		return -EBADMSG;
	t->rules = copy(&at, t->nr_rules * sizeof(*t->rules));
	t->pages = copy(&at, t->nr_pages * sizeof(*t->pages));
	t->rows = copy(&at, t->nr_rows * ROW_BYTES);
	if (!t->rules || !t->pages || !t->rows || !is_sound(t)) {
		unwind_table_free(t);
		return -EBADMSG;
	}
	*compiled = c;
	return 0;
}
