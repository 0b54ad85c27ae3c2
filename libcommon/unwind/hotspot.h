/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process with a HotSpot JVM. The code that the JVM has generated lies in anonymous memory. Its rows are in the slabs, as
 * those of files (tables_abi.h). They are made piece by piece, when a raw sample's stack leads there. Each piece is identified
 * by a word of the process's memory (struct eh_note). When that word has changed, walks ask for new rows.
 *
 * All anonymous code of the process is one struct eh_module, without an ID.
 */
#ifndef EHPERF_UNWIND_HOTSPOT_H
#define EHPERF_UNWIND_HOTSPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/hotspot_vm.h"
#include "table/slabs.h"
#include "unwind/foreign.h"
#include "unwind/hotspot_names.h"
#include "unwind/runtime.h"

struct hotspot;

extern const struct runtime hotspot_runtime;

/* 0, -ENOMEM or another -errno: there is no room in the slabs */
int hotspot_new(struct hotspot **hotspot, struct slabs *slabs, pid_t pid);
/* Walks that still use its module find no rows from now on. */
void hotspot_free(struct hotspot *hotspot);

/* where its struct eh_module is */
loc_t hotspot_module(const struct hotspot *hotspot);
/*
 * The offset that mappings of anonymous code, which have that module, use instead of an offset in a file: a function of the
 * address.
 */
static inline uint64_t hotspot_offset(uint64_t address)
{
	return address & ((1ULL << 44) - 1);	/* with a page's number in 32 bits */
}

/*
 * text: where offset 0 of libjvm.so's executable segment would be mapped. *image is copied. image NULL: this JVM cannot be
 * read, and no walk asks for rows from now on
 */
void hotspot_set_image(struct hotspot *hotspot, const struct hotspot_image *image, uint64_t text);
bool hotspot_has_image(const struct hotspot *hotspot);

/*
 * A raw sample has arrived, with this pc and stack. Checks whether the code that these may point into is still the same, and
 * makes rows for new code.
 */
void hotspot_look(struct hotspot *hotspot, struct foreign *foreign, uint64_t pc, const uint64_t *words,
		  size_t nr);
/* A walk needs rows for this address: makes them. false: nothing new was made. */
bool hotspot_want(struct hotspot *hotspot, struct foreign *foreign, uint64_t pc);

/*
 * Replaces by numbers of names (hotspot_names.h): the addresses of frames in the JVM's code, and the two words of each
 * interpreted method (hotspot_abi.h). Reads methods that are not known yet. hotspot NULL: no frame has a name. Returns the
 * number of frames now.
 */
uint32_t hotspot_see(struct hotspot *hotspot, struct foreign *foreign, struct hotspot_names *names,
		     uint64_t *frames, uint32_t nr);

#endif
