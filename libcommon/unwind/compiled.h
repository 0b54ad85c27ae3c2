/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of compiling a module's file, in a worker or in the tool. */
#ifndef EHPERF_UNWIND_COMPILED_H
#define EHPERF_UNWIND_COMPILED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/elf_file.h"
#include "process/mapped_file.h"
#include "table/unwind_table.h"
#include "unwind/runtime.h"

struct compiled {
	int error; /* 0 or -errno: why there is no table */
	uint8_t build_id[MAX_BUILD_ID];
	size_t build_id_bytes;
	/* not 0: its path does not lead to it in our own mount namespace: mapped_file_open() */
	uint8_t elsewhere;
	struct runtime_file runtime;
	uint64_t whole, cut;       /* elf_file_as_loaded() */
	uint64_t cpu_ns;           /* CPU time that compiling took */
	struct unwind_table table; /* to be freed; empty with error */
};

/*
 * Compiles the file's CFI; of_code: instead, a table of the code that no FDE covers, and nothing
 * else.
 */
void compiled_from_file(struct compiled *compiled, const struct mapped_file *file,
			const struct file_key *key, bool of_code);
/*
 * compiled_from_file() for an open file, which is mapped: elf_file_open_mapped(). fd: or -errno,
 * which becomes .error
 */
void compiled_from_open_file(struct compiled *compiled, int fd, bool elsewhere, bool of_code);
/* compiled_from_file() for an image in memory: elf_file_open_memory() */
void compiled_from_memory(struct compiled *compiled, void *image, size_t bytes, bool of_code);

/* Writes all of it into `room` bytes. Returns the number of bytes, or 0: there is no room */
size_t compiled_write(const struct compiled *compiled, void *to, size_t room);
/*
 * Reads what compiled_write() has written. The bytes are not trusted: -EBADMSG if they are anything
 * else, or lead outside of themselves; -ENOMEM
 */
int compiled_read(struct compiled *compiled, const void *from, size_t bytes);

#endif
