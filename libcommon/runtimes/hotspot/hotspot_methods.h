/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interpreted methods of one JVM. They are read when a stack with them arrives, because a class
 * may be unloaded before the report needs the names.
 */
#ifndef EHPERF_RUNTIMES_HOTSPOT_METHODS_H
#define EHPERF_RUNTIMES_HOTSPOT_METHODS_H

#include "runtimes/hotspot/hotspot_names.h"
#include "runtimes/hotspot/hotspot_work.h"
#include "runtimes/hotspot_abi.h"

struct hotspot_methods {
	struct room_user *user; /* who pays for them */
	struct known_method *by_key;
	struct seen_method *by_address;
	int64_t unloaded;     /* how many classes were thrown away, as far as is known */
	uint32_t epoch;       /* since it was seen to be so many; 0: nobody knows */
	uint64_t epoch_ns;    /* when that was */
	uint32_t first_epoch; /* of samples before it was first seen; or 0 */
	uint64_t first_ns;    /* from then on */
};

void hotspot_methods_begin(struct hotspot_methods *methods, pid_t pid, struct room_user *user);
void hotspot_methods_free(struct hotspot_methods *methods);

/* struct hotspot_answer's */
void hotspot_methods_note_unloaded(struct hotspot_methods *methods, int64_t unloaded);
/* the METHOD_EPOCH() of what the host records of a sample that was taken then (hotspot_abi.h) */
uint32_t hotspot_methods_epoch(const struct hotspot_methods *methods, uint64_t time_ns);

/* Do the two words of a method (hotspot_abi.h) begin at the i-th frame? */
static inline bool hotspot_is_method(const uint64_t *frames, uint32_t nr, uint32_t i)
{
	return i + 1 < nr && FRAME_IS_HOTSPOT(frames[i]) && FRAME_IS_HOTSPOT(frames[i + 1]) &&
	       !(frames[i] & HOTSPOT_SECOND) && frames[i + 1] & HOTSPOT_SECOND;
}

/*
 * Reads the methods among the frames that are not known yet, and adds their names. Methods that the
 * host has recorded are identified now, if no class was thrown away since their epoch: their second
 * words become those that the kernel would have written. *question has a VM that was read; its
 * methods are overwritten
 */
void hotspot_methods_read(struct hotspot_methods *methods, struct hotspot_question *question,
			  struct foreign *foreign, struct hotspot_names *names, uint64_t *frames,
			  uint32_t nr);

/* the number of the name of the method with these two words; 0: the method is not known */
uint32_t hotspot_methods_find(const struct hotspot_methods *methods, const uint64_t *words);

#endif
