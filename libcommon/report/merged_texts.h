/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts with values: texts that are equal are one, with the sum of their values. A text is kept as the
 * numbers of its pieces, each up to a ';' or a line end, because stacks have most of their frames in
 * common.
 */
#ifndef EHPERF_REPORT_MERGED_TEXTS_H
#define EHPERF_REPORT_MERGED_TEXTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct merged_texts;

/* NULL: no memory */
struct merged_texts *merged_texts_new(void);
void merged_texts_free(struct merged_texts *texts);

/* 0 or -ENOMEM */
int merged_texts_add(struct merged_texts *texts, const char *text, uint64_t value);

/* Sorts them, the largest value first, equal ones by text. Returns how many there are */
size_t merged_texts_sort(struct merged_texts *texts);

/* the sum of all values */
uint64_t merged_texts_sum(const struct merged_texts *texts);

/* Prints one, by its number since merged_texts_sort(), and returns its value. */
uint64_t merged_texts_print(const struct merged_texts *texts, FILE *out, size_t number);

#endif
