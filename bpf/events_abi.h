/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of a tool's argument EVENT, and the place of the argument that stackcount sums up. */
#ifndef EHPERF_EVENTS_ABI_H
#define EHPERF_EVENTS_ABI_H

#include <linux/types.h>

#define MAX_EVENTS    500 /* that a pattern may name */
#define NR_PARAMETERS 6   /* of a function or a probe */

enum argument_place {
	/* at an offset of the program's context: a tracepoint's record, or the registers */
	ARGUMENT_IN_CONTEXT,
	ARGUMENT_IN_MEMORY, /* of the user, at what is there, plus another offset */
	ARGUMENT_CONSTANT,  /* the other offset itself */
};

/* a number of that many bytes: 1, 2, 4 or 8 */
struct event_argument {
	__u16 at;
	__u8 place, bytes;
	__u32 is_signed;
	__s32 offset;
};
_Static_assert(sizeof(struct event_argument) == 12, "struct event_argument");

/*
 * Larger values count as this, so that a sum does not overflow, whatever a program claims to
 * allocate.
 */
#define MAX_ARGUMENT 0xffffffffULL

#endif
