/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A HotSpot JVM's code cache: its heaps, and the piece of code (CodeBlob) that an address lies in.
 */
#ifndef EHPERF_RUNTIMES_HOTSPOT_BLOB_H
#define EHPERF_RUNTIMES_HOTSPOT_BLOB_H

#include <stdint.h>

#include "runtimes/hotspot/hotspot_vm.h"

#define MAX_CODE_HEAPS 8
#define MAX_BLOB_BYTES (2 << 20)

struct hotspot_heap {
	uint64_t start, end; /* of what is committed of it */
	uint64_t limit;      /* up to where it may grow */
	/*
	 * of a byte for each segment: how many the block that it belongs to began ago, or more hops
	 * away
	 */
	uint64_t segments;
	uint32_t segment_shift;
};

struct hotspot_heaps {
	uint32_t nr;
	struct hotspot_heap heap[MAX_CODE_HEAPS];
	uint64_t interpreter_start, interpreter_end;
};

enum hotspot_kind {
	HOTSPOT_OTHER,    /* nothing is known of its frames */
	HOTSPOT_ADAPTERS, /* from interpreted to compiled code, and behind that the other way */
	HOTSPOT_ENTRIES,  /* where interpreted code enters methods of method handles */
	HOTSPOT_TABLES,   /* small functions that look up what to call, and jump there */
	HOTSPOT_METHOD,   /* an nmethod: a compiled method */
	HOTSPOT_NATIVE,   /* an nmethod, too: what calls a native method */
	/* calls the VM for compiled code, with a frame of its own; called or jumped to */
	HOTSPOT_STUB,
	HOTSPOT_ROUTINES, /* many small functions, which keep to the psABI: StubRoutines */
	HOTSPOT_INTERPRETER,
	NR_HOTSPOT_KINDS
};

struct hotspot_blob {
	enum hotspot_kind kind;
	uint64_t start, end; /* of the struct CodeBlob, and of all that belongs to it */
	uint64_t code_start, code_end;
	uint32_t frame_bytes; /* from sp to the CFA once the frame is complete; 0: none */
	/* offset from code_start from which on it is complete; UINT32_MAX: not said */
	uint32_t complete;
	/* offsets from code_start; 0: none. Where it is entered, from the interpreter too */
	uint32_t entry, osr_entry;
	/*
	 * While this word is unchanged, and frames of the blob are on a stack, it is the same blob
	 */
	uint64_t word_at;
	uint32_t word;
	char name[64];
};

/* 0 or -EBADMSG */
int hotspot_heaps_read(struct hotspot_heaps *heaps, const struct hotspot_vm *vm,
		       struct memory_reader *memory);

/*
 * Finds the blob at this address. 0; -ENOENT: there is none; -EBADMSG: its contents are impossible
 */
int hotspot_blob_find(struct hotspot_blob *blob, const struct hotspot_heaps *heaps,
		      const struct hotspot_vm *vm, struct memory_reader *memory, uint64_t pc);

#endif
