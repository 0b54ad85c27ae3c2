/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads what a CPython process knows of a function: its code object (PyCodeObject) and the strings
 * that belong to it. All of it is the process's memory and may be anything: lengths are bounded,
 * and nothing is followed further.
 */
#ifndef EHPERF_RUNTIMES_PYTHON_CODE_H
#define EHPERF_RUNTIMES_PYTHON_CODE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/process_memory.h"

/* offsets of fields in CPython's objects, in bytes */
struct python_objects {
	uint16_t code_first_line, code_strings, code_line_table;
	uint16_t string_length, string_state, string_ascii_bytes, string_other_bytes;
	uint16_t bytes_length, bytes_data;
};

struct python_code {
	char *name;     /* PyCodeObject.co_qualname, in UTF-8 */
	char *file;     /* .co_filename */
	int first_line; /* .co_firstlineno */
	uint8_t *lines; /* .co_linetable; NULL: it cannot be read, or is very large */
	size_t line_bytes;
};

/*
 * Reads the code object at this address, if it still is the one of this identity
 * (python_identity()). The caller frees *code. 0, or -errno; -ESTALE: it is another one, or none
 */
int python_code_read(const struct process_memory *memory, const struct python_objects *objects,
		     uint64_t address, uint64_t identity, struct python_code *code);
void python_code_free(struct python_code *code);

/* Writes all of it into `room` bytes. Returns the number of bytes, or 0: there is no room */
size_t python_code_write(const struct python_code *code, void *to, size_t room);
/* Reads what python_code_write() has written. The bytes are not trusted. 0, -EBADMSG or -ENOMEM */
int python_code_unpack(struct python_code *code, const void *from, size_t bytes);

/*
 * The line of an instruction by its number, 0: none, or not known (Objects/locations.md in
 * CPython's source).
 */
int python_code_line(const struct python_code *code, uint32_t instruction);

#endif
