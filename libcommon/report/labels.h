/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Labels: what a picture writes on a frame, and which kind of frame that is. Equal labels have one
 * number, so that a stack is an array of numbers.
 */
#ifndef EHPERF_REPORT_LABELS_H
#define EHPERF_REPORT_LABELS_H

#include <stddef.h>
#include <stdint.h>

/* each has its own colour; in the order of the letters in frame_kind_letters */
enum frame_kind {
	KIND_THREAD, /* the root of a stack: a thread's name */
	KIND_USER,
	KIND_BY_FP,   /* a user function found by the frame pointer */
	KIND_JIT,     /* in no file */
	KIND_RUNTIME, /* an interpreter's: a Python function */
	KIND_INLINED,
	KIND_KERNEL,
	KIND_OFF_CPU,  /* a kernel function in which the thread left the CPU */
	KIND_LEFT_OUT, /* of several frames that were left out */
	NR_FRAME_KINDS
};
extern const char frame_kind_letters[NR_FRAME_KINDS + 1];

struct label {
	char *text;
	enum frame_kind kind;
	uint32_t pid, tid; /* of a thread; 0: of any with this name */
};

/* A text that is longer is cut, and ends in "…" */
#define MAX_LABEL_BYTES 4096

struct labels;

struct labels *labels_new(void);
void labels_free(struct labels *labels);

/* The number of the label, which is added if it is new. 0 or -ENOMEM */
int labels_add(struct labels *labels, const struct label *label, uint32_t *number);
/* valid until labels_free() */
const struct label *labels_get(const struct labels *labels, uint32_t number);
/* The same for equal labels, also in another struct labels of this process */
uint64_t labels_hash(const struct labels *labels, uint32_t number);
size_t labels_count(const struct labels *labels);
size_t labels_bytes(const struct labels *labels);

#endif
