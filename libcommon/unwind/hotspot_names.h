/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of code that HotSpot JVMs have made, numbered: of all processes, and of code that is gone. They
 * are read together with the code's rows.
 *
 * In user space, a frame in such code has the code's number instead of an address, and the place in it:
 * an offset in the code, or of what is interpreted the index of a bytecode.
 */
#ifndef EHPERF_UNWIND_HOTSPOT_NAMES_H
#define EHPERF_UNWIND_HOTSPOT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hotspot_abi.h"
#include "process/hotspot_scopes.h"

#define HOTSPOT_BY_CALL			(1ULL << 59)
#define HOTSPOT_OFFSET_SHIFT		32
#define HOTSPOT_OFFSET(frame)		((uint32_t)((frame) >> HOTSPOT_OFFSET_SHIFT) & 0x7ffffff)
#define HOTSPOT_NUMBER(frame)		((uint32_t)(frame))

/*
 * of one piece of code, or of a method that is interpreted; behind it, places, scopes and text as struct
 * hotspot_scopes has them
 */
struct hotspot_name {
	char name[64];		/* of code that is no method's: what it is */
	uint64_t address;
	uint32_t nr_places, nr_scopes, text_bytes;
};

struct hotspot_names;

/* NULL: no memory */
struct hotspot_names *hotspot_names_new(void);
void hotspot_names_free(struct hotspot_names *names);
/* Adds what was malloc()ed, and is the names' then. Its number, from 1; 0: no memory */
uint32_t hotspot_names_add(struct hotspot_names *names, struct hotspot_name *name);
/* NULL: there is none */
const struct hotspot_name *hotspot_names_get(const struct hotspot_names *names, uint32_t number);

/* a method at a place in its source */
struct hotspot_function {
	const char *name, *file;	/* file NULL: not known */
	unsigned line;			/* 0: likewise */
};

/*
 * The methods that the code of a frame is from, the innermost of inlined ones first: how many, max at most;
 * 0: it is no method's
 */
size_t hotspot_names_of(const struct hotspot_name *name, uint64_t frame, struct hotspot_function *functions,
			size_t max);

/* the bytes of a struct hotspot_name with all that lies behind it */
static inline size_t hotspot_name_bytes(uint32_t nr_places, uint32_t nr_scopes, uint32_t text_bytes)
{
	return sizeof(struct hotspot_name) + (size_t)nr_places * sizeof(struct hotspot_place) +
	       (size_t)nr_scopes * sizeof(struct hotspot_scope) + text_bytes;
}

/* Copies scopes behind *name, which has room for them, and sets its counts. */
void hotspot_name_fill(struct hotspot_name *name, const struct hotspot_scopes *scopes);
/* Do its parts, in so many bytes, lead nowhere outside? */
bool hotspot_name_is_sound(const struct hotspot_name *name, size_t bytes);

#endif
