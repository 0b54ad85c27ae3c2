/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads another process's memory, which may contain anything. Memory that cannot be read is zero
 * and sets .bad, so that many reads are checked once. At most max_bytes are read in all, in at most
 * MAX_READS reads: the process's data may lead in circles.
 */
#ifndef EHPERF_PROCESS_MEMORY_READER_H
#define EHPERF_PROCESS_MEMORY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/process_memory.h"

#define READER_PAGE_BYTES 4096
#define READER_PAGES      256
#define MAX_READS         4000000

struct memory_reader {
	/* how many bytes from `address` on were read */
	size_t (*read)(void *arg, uint64_t address, void *to, size_t bytes);
	void *arg;
	uint64_t max_bytes; /* that may still be read */
	uint32_t reads;     /* how often was read */
	bool bad;           /* sticky: something could not be read */
	/* private: pages that were read, by their number modulo READER_PAGES */
	struct reader_page {
		uint64_t number; /* + 1; 0: none */
		size_t nr;       /* bytes of it that are there, from its beginning on */
		uint8_t bytes[READER_PAGE_BYTES];
	} pages[READER_PAGES];
};

/*
 * The reader is large, and its pages are forgotten. The memory is kept by reference; with another
 * .read, it is anything's.
 */
void memory_reader_begin(struct memory_reader *reader, const struct process_memory *memory,
			 uint64_t max_bytes);

/* What was read may have changed: it is read again from now on. */
void memory_reader_forget(struct memory_reader *reader);

/* Copies bytes; zeros, and .bad is set, if not all of them are there. */
void memory_read(struct memory_reader *reader, uint64_t address, void *to, size_t bytes);
uint64_t memory_u64(struct memory_reader *reader, uint64_t address);
uint32_t memory_u32(struct memory_reader *reader, uint64_t address);
uint16_t memory_u16(struct memory_reader *reader, uint64_t address);
uint8_t memory_u8(struct memory_reader *reader, uint64_t address);
/* process_memory_read_words() */
size_t memory_read_words(struct memory_reader *reader, const uint64_t *at, uint32_t *words,
			 size_t nr);
/* The string there, cut to room - 1 characters. */
void memory_string(struct memory_reader *reader, uint64_t address, char *to, size_t room);

#endif
