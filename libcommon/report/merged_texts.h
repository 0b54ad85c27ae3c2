/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts with values: texts that are equal are one, with the sum of their values. A text is kept as
 * the numbers of its pieces, each up to a ';' or a line end, because stacks have most of their
 * frames in common.
 */
#ifndef EHPERF_REPORT_MERGED_TEXTS_H
#define EHPERF_REPORT_MERGED_TEXTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/labels.h"

struct merged_texts;

struct merged_text {
	uint64_t value, hash;
	/* of the last one that was added, and how many threads have this text */
	uint32_t process, thread, nr_threads;
	uint32_t nr;
	uint32_t pieces[];
};

/* NULL: no memory */
struct merged_texts *merged_texts_new(void);
void merged_texts_free(struct merged_texts *texts);

/* 0 or -ENOMEM */
int merged_texts_add(struct merged_texts *texts, const char *text, uint64_t value);

/*
 * merged_texts_add() for a text that is already split, into labels of merged_texts_pieces().
 * Threads must come in order.
 */
int merged_texts_add_pieces(struct merged_texts *texts, const uint32_t *pieces, size_t nr,
			    uint32_t process, uint32_t thread, uint64_t value);
struct labels *merged_texts_pieces(struct merged_texts *texts);

/* Sorts them, the largest value first, equal ones by text. Returns how many there are */
size_t merged_texts_sort(struct merged_texts *texts);

/* the sum of all values */
uint64_t merged_texts_sum(const struct merged_texts *texts);

/* one, by its number since merged_texts_sort() */
const struct merged_text *merged_texts_get(const struct merged_texts *texts, size_t number);
/* Prints one, by its number since merged_texts_sort(), and returns its value. */
uint64_t merged_texts_print(const struct merged_texts *texts, FILE *out, size_t number);

#endif
