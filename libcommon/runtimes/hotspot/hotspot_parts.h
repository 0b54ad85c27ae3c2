/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of a JVM, shared by hotspot.c, which asks for pieces of code, and hotspot_pages.c,
 * which writes their rows.
 */
#ifndef EHPERF_RUNTIMES_HOTSPOT_PARTS_H
#define EHPERF_RUNTIMES_HOTSPOT_PARTS_H

#include "runtimes/hotspot/hotspot.h"
#include "runtimes/hotspot/hotspot_methods.h"
#include "runtimes/hotspot/hotspot_vm.h"
#include "runtimes/hotspot/hotspot_work.h"
#include "runtimes/hotspot_abi.h"
#include "tables_abi.h"
#include "table/slabs.h"
#include "unwind/foreign.h"

#define PAGE_BYTES (1u << PAGE_ROWS_SHIFT)

struct piece {
	struct hotspot_blob blob;
	uint32_t number;  /* from 0, in the order of being found */
	uint32_t asked;   /* the last question that contained it */
	uint64_t seen_ns; /* it was last seen to be there after this time */
	uint32_t nr_rows, name_bytes;
	struct hotspot_row *rows; /* NULL when the code is gone */
	struct hotspot_name *name;
	uint32_t name_number; /* of the copy that stacks name; 0: none does */
};

/* of the slabs */
struct hotspot_module {
	struct published_module module;
	struct hotspot_layout layout;
};
_Static_assert(offsetof(struct hotspot_module, layout) == sizeof(struct published_module),
	       "where the kernel looks");

struct extent {
	loc_t loc;
	uint32_t bytes;
	uint64_t until_ns;
};

struct hotspot { /* of a process */
	struct slabs *slabs;
	pid_t pid;
	struct room_user *user;       /* who pays for pieces, methods and names, */
	struct room_user *slabs_user; /* and for what is in the slabs */
	loc_t module;
	bool has_image, is_hopeless, is_read;
	bool lacks_room; /* for its pages */
	struct hotspot_image image;
	uint64_t text;
	uint64_t tried_ns;
	struct hotspot_question question;
	uint32_t nr_questions;
	struct hotspot_heaps heaps;
	struct piece **all; /* by number */
	size_t nr_all, all_room;
	struct piece **pieces; /* those that are there, by address; none overlaps another */
	size_t nr, room;
	struct hotspot_methods methods;
	/* the pages of .module, from that of this address on, and what they take */
	uint64_t start;
	uint32_t nr_pages;
	loc_t pages;
	uint32_t *extent_bytes;
	struct extent *old; /* in the order of their until_ns */
	size_t nr_old, old_room;
};

/* Room for the pages of all heaps, as far as they may grow. */
int hotspot_make_pages(struct hotspot *h);

/* Writes the rows of the code in [start, end) anew. */
void hotspot_write_pages(struct hotspot *h, uint64_t start, uint64_t end);

void hotspot_release_pages(struct hotspot *h);

/* the number of the first piece that ends behind this address */
size_t hotspot_first_behind(const struct hotspot *h, uint64_t address);

/*
 * distinguishes frames in this piece from those in pieces that were or will be at the same
 * addresses
 */
uint32_t hotspot_tag_of(const struct piece *piece);

/* Gives back what was replaced long enough ago. */
void hotspot_release_old(struct hotspot *h, uint64_t now);

#endif
