/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The documents of a stream that are kept for viewers who come late or are slow. A document may
 * need those before it, back to one that begins anew. So documents go in groups that a viewer can
 * read from their start; the oldest group goes first.
 */
#ifndef EHPERF_LIVE_DOCUMENTS_H
#define EHPERF_LIVE_DOCUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct document {
	uint64_t number; /* one more than the number of the document before it */
	uint64_t ns;     /* when it was added */
	bool begins;     /* it needs none before it */
	size_t bytes;
	char *text;
};

/* {} and the limits at first */
struct documents {
	size_t max_bytes; /* of all; the last group stays, whatever it takes */
	uint64_t keep_ns; /* so long */
	/* private */
	struct document *all;
	size_t first, nr, room; /* all[first] up to all[nr] */
	size_t bytes;
	uint64_t next;
};

/*
 * The text is the documents' from now on, or freed; it begins anew if there is none before it. 0 or
 * -ENOMEM
 */
int documents_add(struct documents *documents, char *text, size_t bytes, bool begins,
		  uint64_t now_ns);
void documents_free(struct documents *documents);

/*
 * the number of the oldest document, of the newest one that begins anew, and of the one that will
 * be added next
 */
uint64_t documents_first(const struct documents *documents);
uint64_t documents_last_group(const struct documents *documents);
uint64_t documents_next(const struct documents *documents);
/* NULL: it is not kept any more, or not there yet; valid until the next documents_add() */
const struct document *documents_get(const struct documents *documents, uint64_t number);

#endif
