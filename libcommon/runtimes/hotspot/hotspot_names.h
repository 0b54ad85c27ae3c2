/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of code that HotSpot JVMs have generated, numbered: of all processes, and of code that
 * is gone. They are read together with the code's rows.
 *
 * In user space, a frame in such code has the name's number instead of an address, and a place: an
 * offset in compiled code, or the index of a bytecode in an interpreted method.
 */
#ifndef EHPERF_RUNTIMES_HOTSPOT_NAMES_H
#define EHPERF_RUNTIMES_HOTSPOT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/user_room.h"
#include "runtimes/hotspot/hotspot_scopes.h"
#include "runtimes/hotspot_abi.h"
#include "unwind/runtime.h"

#define HOTSPOT_BY_CALL       (1ULL << 57)
#define HOTSPOT_OFFSET_SHIFT  32
#define HOTSPOT_OFFSET(frame) ((uint32_t)((frame) >> HOTSPOT_OFFSET_SHIFT) & 0x1ffffff)
#define HOTSPOT_NUMBER(frame) ((uint32_t)(frame))

/*
 * of one piece of code, or of an interpreted method. It is followed by places, scopes and text, as
 * in struct hotspot_scopes
 */
struct hotspot_name {
	char name[64]; /* of code that belongs to no method */
	uint64_t address;
	uint32_t nr_places, nr_scopes, text_bytes;
};

/*
 * whose memory is counted for what is kept of JVMs, so that no process that pretends to be one, or
 * makes code without end, fills ours. NULL: no memory
 */
struct room_user *hotspot_user_of(uint32_t uid);

struct hotspot_names;

/* NULL: no memory */
struct hotspot_names *hotspot_names_new(void);
void hotspot_names_free(struct hotspot_names *names);
/*
 * Adds a copy of the name, for which the user pays. Returns its number, from 1, which no other name
 * ever gets; 0: no memory, or the user has no room
 */
uint32_t hotspot_names_add(struct hotspot_names *names, const struct hotspot_name *name,
			   struct room_user *user);
/* NULL: there is none. Valid until hotspot_names_forget() */
const struct hotspot_name *hotspot_names_get(const struct hotspot_names *names, uint32_t number);
/* Keeps the name with this number. False: there is none */
bool hotspot_names_use(struct hotspot_names *names, uint32_t number);
/* Forgets the names that were neither added nor used since the last call. */
void hotspot_names_forget(struct hotspot_names *names);

/*
 * The methods that the code of a frame comes from, the innermost inlined one first. Returns their
 * number, at most max; 0: the code belongs to no method
 */
size_t hotspot_names_of(const struct hotspot_name *name, uint64_t frame,
			struct runtime_function *functions, size_t max);

/* the bytes of a struct hotspot_name with everything that follows it */
static inline size_t hotspot_name_bytes(uint32_t nr_places, uint32_t nr_scopes, uint32_t text_bytes)
{
	return sizeof(struct hotspot_name) + (size_t)nr_places * sizeof(struct hotspot_place) +
	       (size_t)nr_scopes * sizeof(struct hotspot_scope) + text_bytes;
}

/* Copies scopes behind *name, which has room for them, and sets its counts. */
void hotspot_name_fill(struct hotspot_name *name, const struct hotspot_scopes *scopes);
/* Do all its parts lie within these bytes? */
bool hotspot_name_is_sound(const struct hotspot_name *name, size_t bytes);

#endif
