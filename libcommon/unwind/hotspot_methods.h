/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The methods of one JVM that it has interpreted. They are read when a stack that has them arrives, because
 * a class may be thrown away before anybody wants the names.
 */
#ifndef EHPERF_UNWIND_HOTSPOT_METHODS_H
#define EHPERF_UNWIND_HOTSPOT_METHODS_H

#include "hotspot_abi.h"
#include "unwind/foreign.h"
#include "unwind/hotspot_names.h"

struct hotspot_methods {
	struct known_method *by_key;
	size_t nr;
};	/* {} at first */

void hotspot_methods_free(struct hotspot_methods *methods);

/* Do the two words of a method (hotspot_abi.h) begin at the i-th frame? */
static inline bool hotspot_is_method(const uint64_t *frames, uint32_t nr, uint32_t i)
{
	return i + 1 < nr && FRAME_IS_HOTSPOT(frames[i]) && FRAME_IS_HOTSPOT(frames[i + 1]) &&
	       !(frames[i] & HOTSPOT_SECOND) && frames[i + 1] & HOTSPOT_SECOND;
}

/*
 * Reads the methods among the frames that are not known yet, and adds their names. Of those that the host
 * has recorded it is said which they are now: their second words become as the kernel's. *question: one with
 * the VM that has been read; no method is left in it
 */
void hotspot_methods_read(struct hotspot_methods *methods, struct hotspot_question *question,
			  struct foreign *foreign, struct hotspot_names *names, uint64_t *frames, uint32_t nr);

/* the number of the name of the method with these two words; 0: it is not known */
uint32_t hotspot_methods_find(const struct hotspot_methods *methods, const uint64_t *words);

#endif
