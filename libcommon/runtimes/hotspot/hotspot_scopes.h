/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The methods that a compiled method's code comes from: itself, and those that the compiler has
 * inlined (PcDesc and ScopeDesc in OpenJDK's hotspot/share/code).
 */
#ifndef EHPERF_RUNTIMES_HOTSPOT_SCOPES_H
#define EHPERF_RUNTIMES_HOTSPOT_SCOPES_H

#include <stddef.h>

#include "runtimes/hotspot/hotspot_blob.h"

/* a method at a place in its source; in the bytes that lie behind all of them: */
struct hotspot_scope {
	uint32_t name, file; /* offsets of its strings */
	uint32_t line;       /* 0: not known */
	/* number + 1 of the scope that it was put into, which has a lower number; 0: none */
	uint32_t caller;
};

/* up to this place, from behind the one before */
struct hotspot_place {
	/* offset from code_start: of a return address, or of an instruction that may trap */
	uint32_t at;
	uint32_t scope; /* number */
};

#define MAX_HOTSPOT_PLACES 4096
#define MAX_HOTSPOT_SCOPES 8192
#define MAX_HOTSPOT_TEXT   (256 << 10)

struct hotspot_scopes {
	uint32_t nr_places, nr_scopes, text_bytes;
	struct hotspot_place places[MAX_HOTSPOT_PLACES]; /* by .at */
	/* the first is the method itself, at no line */
	struct hotspot_scope scopes[MAX_HOTSPOT_SCOPES];
	char text[MAX_HOTSPOT_TEXT];
};

/* Makes it empty. */
static inline void hotspot_scopes_begin(struct hotspot_scopes *scopes)
{
	scopes->nr_places = scopes->nr_scopes = 0;
	scopes->text[0] = '\0';
	scopes->text_bytes = 1;
}

/*
 * Of a blob of HOTSPOT_METHOD or HOTSPOT_NATIVE. *scopes has what could be read: none, if not even
 * the method's name.
 */
void hotspot_scopes_read(struct hotspot_scopes *scopes, const struct hotspot_blob *blob,
			 const struct hotspot_vm *vm, struct memory_reader *memory);

/*
 * hotspot_scopes_read() for an interpreted method: a place's .at is the last index of a bytecode in
 * its line.
 */
void hotspot_scopes_of_method(struct hotspot_scopes *scopes, const struct hotspot_vm *vm,
			      struct memory_reader *memory, uint64_t method);

#endif
