/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Short texts that are printed into memory. open_memstream() takes 8 KB for each of them. If the text
 * is kept, the rest of that is a hole in the heap. So these streams are used again. From one thread
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
