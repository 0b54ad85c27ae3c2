/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker's part of hotspot.h: looks up pieces of code in a HotSpot process, and makes rows for
 * them. The process is not trusted: hotspot_code_next() checks all results.
 */
#ifndef EHPERF_RUNTIMES_HOTSPOT_WORK_H
#define EHPERF_RUNTIMES_HOTSPOT_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtimes/hotspot/hotspot_blob.h"
#include "runtimes/hotspot/hotspot_names.h"
#include "runtimes/hotspot/hotspot_vm.h"
#include "unwind/foreign.h"
#include "tables_abi.h"

#define MAX_HOTSPOT_PCS     256
#define MAX_HOTSPOT_METHODS 64

/* a word of the process's memory that identifies a blob */
struct hotspot_word {
	uint64_t at;
	uint32_t word, pad;
};

/* an interpreted method: its address, and hotspot_method_identity() */
struct hotspot_method_key {
	uint64_t address, identity;
};

struct hotspot_question {
	pid_t pid;
	bool attach; /* the VM is not known: asks only for it, by: */
	struct hotspot_image image;
	uint64_t text;
	struct hotspot_vm vm;
	uint64_t unloaded_at; /* an answer's; 0: it is looked for */
	uint32_t nr_known, nr_pcs;
	struct hotspot_word known[MAX_HOTSPOT_PCS]; /* are they still there? */
	uint64_t pcs[MAX_HOTSPOT_PCS];              /* what lies there? */
	/*
	 * What are these called? With identity 0: what lies there? If there are any, that is all
	 * that is asked for
	 */
	uint32_t nr_methods;
	struct hotspot_method_key methods[MAX_HOTSPOT_METHODS];
};

/* struct hotspot_code, each with its rows, lie behind it; or struct hotspot_named */
struct hotspot_answer {
	struct hotspot_vm vm;
	struct hotspot_heaps heaps;
	uint32_t nr_codes;
	/* classes that were thrown away, after all else was read, and where that is; -1: unknown */
	int64_t unloaded;
	uint64_t unloaded_at;
	uint8_t gone[MAX_HOTSPOT_PCS]; /* [i] is not 0: question.known[i] is gone */
};

/* from its offset from blob.start on, up to the next row's, or the end of the blob */
struct hotspot_row {
	uint32_t at;
	struct eh_rule rule;
};

struct hotspot_code {
	struct hotspot_blob blob;
	uint32_t nr_rows;
	uint32_t name_bytes; /* of the struct hotspot_name behind the rows */
	struct hotspot_row rows[];
};

/* a method that was asked for, and its name behind it */
struct hotspot_named {
	struct hotspot_method_key key;
	uint32_t number; /* in question.methods */
	uint32_t name_bytes;
	uint64_t bytecode;
	uint32_t bytecode_bytes; /* 0: it is native */
	uint8_t gone;            /* not 0: it was another one, or none, before all was read */
};

static inline size_t hotspot_rows_bytes(const struct hotspot_code *code)
{
	return (code->nr_rows * sizeof(code->rows[0]) + 7) / 8 * 8;
}

static inline const struct hotspot_name *hotspot_code_name(const struct hotspot_code *code)
{
	return (const struct hotspot_name *)((const uint8_t *)code->rows +
					     hotspot_rows_bytes(code));
}

/*
 * The answer to `question`, whose .pid's memory is read, in `room` bytes. 0 with *bytes set, or
 * -errno
 */
int hotspot_answer(const struct hotspot_question *question, struct memory_reader *memory,
		   struct hotspot_answer *answer, size_t room, size_t *bytes);
/*
 * hotspot_answer() by a worker (unwind/foreign.h): *bytes of *answer are valid until the next call.
 * Moreover -ETIMEDOUT, -EAGAIN
 */
int hotspot_ask(struct foreign *foreign, const struct hotspot_question *question,
		const struct hotspot_answer **answer, size_t *bytes);

/* The next method behind *at bytes of an answer, which may be anything; NULL: there is none. */
const struct hotspot_named *hotspot_named_next(const struct hotspot_answer *answer, size_t bytes,
					       size_t *at);
/* The next code behind *at bytes of an answer, which may be anything; NULL: there is none. */
const struct hotspot_code *hotspot_code_next(const struct hotspot_answer *answer, size_t bytes,
					     size_t *at);

#endif
