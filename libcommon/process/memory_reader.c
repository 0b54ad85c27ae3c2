// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/memory_reader.h"

#include <string.h>

static size_t read_process(void *arg, uint64_t address, void *to, size_t bytes)
{
	ssize_t got = process_memory_read(arg, address, to, bytes);

	return got < 0 ? 0 : got;
}

void memory_reader_forget(struct memory_reader *r)
{
	for (size_t i = 0; i < READER_PAGES; i++)
		r->pages[i].number = 0;
}

void memory_reader_begin(struct memory_reader *r, const struct process_memory *memory,
			 uint64_t max_bytes)
{
	r->read = read_process;
	r->arg = (void *)memory;
	r->max_bytes = max_bytes;
	r->bad = false;
	r->reads = 0;
	memory_reader_forget(r);
}

/* the page, read before or now */
static const struct reader_page *page_at(struct memory_reader *r, uint64_t number)
{
	struct reader_page *page = &r->pages[number % READER_PAGES];

	if (page->number == number + 1)
		return page;
	page->number = number + 1;
	page->nr = 0;
	if (r->max_bytes >= READER_PAGE_BYTES) {
		r->max_bytes -= READER_PAGE_BYTES;
		page->nr =
			r->read(r->arg, number * READER_PAGE_BYTES, page->bytes, READER_PAGE_BYTES);
	}
	return page;
}

void memory_read(struct memory_reader *r, uint64_t address, void *to, size_t bytes)
{
	size_t done = 0;

	r->reads++;
	while (done < bytes && r->reads < MAX_READS) {
		uint64_t at = address + done;
		const struct reader_page *page = page_at(r, at / READER_PAGE_BYTES);
		size_t in_page = at % READER_PAGE_BYTES,
		       nr = page->nr > in_page ? page->nr - in_page : 0;

		if (nr > bytes - done)
			nr = bytes - done;
		if (!nr)
			break;
		memcpy((uint8_t *)to + done, page->bytes + in_page, nr);
		done += nr;
	}
	if (done == bytes)
		return;
	memset(to, 0, bytes);
	r->bad = true;
}

size_t memory_read_words(struct memory_reader *r, const uint64_t *at, uint32_t *words, size_t nr)
{
	size_t done = 0;

	if (r->read == read_process)
		return process_memory_read_words(r->arg, at, words, nr);
	while (done < nr &&
	       r->read(r->arg, at[done], &words[done], sizeof(*words)) == sizeof(*words))
		done++;
	return done;
}

/* x86-64 is little-endian: the lowest bytes come first */
static uint64_t number(struct memory_reader *r, uint64_t address, size_t bytes)
{
	uint64_t value = 0;

	memory_read(r, address, &value, bytes);
	return value;
}

uint64_t memory_u64(struct memory_reader *r, uint64_t address)
{
	return number(r, address, sizeof(uint64_t));
}

uint32_t memory_u32(struct memory_reader *r, uint64_t address)
{
	return number(r, address, sizeof(uint32_t));
}

uint16_t memory_u16(struct memory_reader *r, uint64_t address)
{
	return number(r, address, sizeof(uint16_t));
}

uint8_t memory_u8(struct memory_reader *r, uint64_t address)
{
	return number(r, address, sizeof(uint8_t));
}

void memory_string(struct memory_reader *r, uint64_t address, char *to, size_t room)
{
	for (size_t i = 0; i < room; i++) {
		to[i] = memory_u8(r, address + i);
		if (!to[i])
			return;
	}
	to[room - 1] = '\0';
}
