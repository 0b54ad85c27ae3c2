/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Short texts that are printed into memory. open_memstream() allocates 8 KB for each: of a text
 * that is kept, most of that stays unused. So these streams are used again. They are for one
 * thread.
 */
#ifndef EHPERF_BASE_TEXT_H
#define EHPERF_BASE_TEXT_H

#include <stdio.h>

struct text {
	FILE *out;
	/* private */
	char *bytes;
	size_t nr;
	struct text *next;
};

/* An empty text, to be printed to ->out. Others may be begun before it ends. NULL: no memory */
struct text *text_begin(void);
/* What was printed; the caller frees it. NULL: no memory */
char *text_end(struct text *text);

#endif
