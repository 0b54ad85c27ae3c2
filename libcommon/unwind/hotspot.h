/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process with a HotSpot JVM: rows for the code that the JVM has made, which lies in anonymous memory, in
 * the slabs as any file's (tables_abi.h). They are made piece by piece, when a raw sample's stack leads
 * there; each piece is known by a word of the process's memory (struct eh_note), and once that has changed,
 * walks want rows again.
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

struct hotspot;

/* 0, -ENOMEM or another -errno: there is no room in the slabs */
int hotspot_new(struct hotspot **hotspot, struct slabs *slabs, pid_t pid);
/* From then on, walks that still hold its module find nothing there. */
void hotspot_free(struct hotspot *hotspot);

/* where its struct eh_module lies */
loc_t hotspot_module(const struct hotspot *hotspot);
/*
 * What stands for the offset in the file in the mappings of anonymous code, which have that module: by
 * their addresses.
 */
static inline uint64_t hotspot_offset(uint64_t address)
{
	return address & ((1ULL << 44) - 1);	/* with a page's number in 32 bits */
}

/*
 * libjvm.so is mapped so that its executable segment's offset 0 would lie at `text`; *image is copied.
 * NULL: it is no JVM that can be read, so that no walk wants rows from now on
 */
void hotspot_set_image(struct hotspot *hotspot, const struct hotspot_image *image, uint64_t text);
bool hotspot_has_image(const struct hotspot *hotspot);

/*
 * A raw sample has arrived, with this pc and stack. Looks whether the code that they may name is what it
 * was, and makes rows for what is not known yet.
 */
void hotspot_look(struct hotspot *hotspot, struct foreign *foreign, uint64_t pc, const uint64_t *words,
		  size_t nr);
/* A walk wants rows for this address: makes them. false: there is nothing new. */
bool hotspot_want(struct hotspot *hotspot, struct foreign *foreign, uint64_t pc);

/*
 * Puts the numbers of names in the place of the addresses of frames in the JVM's code (hotspot_names.h), and
 * of the two words of each method that is interpreted (hotspot_abi.h), which is read now if it is not known.
 * hotspot NULL: none is. Returns how many frames there are now.
 */
uint32_t hotspot_see(struct hotspot *hotspot, struct foreign *foreign, struct hotspot_names *names,
		     uint64_t *frames, uint32_t nr);

#endif
