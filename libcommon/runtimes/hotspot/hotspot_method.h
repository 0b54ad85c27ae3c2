/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a HotSpot JVM knows of a method: its class and name, its source file, and the lines of its
 * bytecodes.
 */
#ifndef EHPERF_RUNTIMES_HOTSPOT_METHOD_H
#define EHPERF_RUNTIMES_HOTSPOT_METHOD_H

#include "runtimes/hotspot/hotspot_vm.h"
#include "runtimes/hotspot_abi.h"

#define MAX_METHOD_NAME 512
#define MAX_METHOD_FILE 128

struct hotspot_method {
	char name[MAX_METHOD_NAME]; /* package.Class.method, cut where it is too long */
	char file[MAX_METHOD_FILE]; /* "": not known */
	uint64_t lines;             /* address of the compressed table of lines; 0: there is none */
	uint64_t bytecode;          /* address of its first bytecode */
	uint32_t bytecode_bytes;
};

/* of the Method at this address, which may be anything. 0 or -EBADMSG */
int hotspot_method_read(struct hotspot_method *method, const struct hotspot_vm *vm,
			struct memory_reader *memory, uint64_t at);

/*
 * what the kernel reads of it (hotspot_abi.h): the second word of its frames; 0: it cannot be read
 */
uint64_t hotspot_method_identity(const struct hotspot_vm *vm, struct memory_reader *memory,
				 uint64_t at);

/* a method's table of lines, which is read one by one: from this bytecode on, that line */
struct hotspot_line {
	int32_t index, line;
	uint64_t at; /* of the next one; at first the method's .lines */
};

/* The next one; false: there is none */
bool hotspot_line_next(struct hotspot_line *line, const struct hotspot_vm *vm,
		       struct memory_reader *memory);

/* the line of the bytecode at this index; 0: not known */
uint32_t hotspot_method_line(const struct hotspot_method *method, const struct hotspot_vm *vm,
			     struct memory_reader *memory, int32_t index);

/*
 * a compressed number of HotSpot's streams (UNSIGNED5, in hotspot/share/utilities/unsigned5.hpp);
 * *at moves behind it
 */
uint32_t hotspot_unsigned5(const struct hotspot_vm *vm, struct memory_reader *memory, uint64_t *at);

#endif
