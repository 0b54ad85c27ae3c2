/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of events, as users give them:
 *
 *   t:GROUP:NAME                       a tracepoint
 *   k:FUNCTION  k:MODULE:FUNCTION      a function of the kernel
 *   u:FILE:FUNCTION                    a function of a program or library: a path, or a name such
 *                                      as libc or python3
 *   u:FILE:0xOFFSET  u:FILE+0xVADDR code there: an offset in the file; an address as stacks show it
 *   usdt:FILE:PROVIDER:NAME            a probe that the program's authors have put there
 *   anything else                      perf's own name: page-faults, cycles, r01c2
 *
 * In GROUP, NAME, FUNCTION and PROVIDER, * and ? match as in file names. FILE has no colon in it.
 */
#ifndef EHPERF_PROCESS_EVENT_NAME_H
#define EHPERF_PROCESS_EVENT_NAME_H

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
	EVENT_TRACEPOINT,
	EVENT_KERNEL_FUNCTION,
	EVENT_USER_FUNCTION,
	EVENT_USDT,
	EVENT_PERF,
	NR_EVENT_KINDS
};
extern const char *const event_kind_prefixes[NR_EVENT_KINDS]; /* "t:"; "" for perf's */

#define EVENT_NAME_BYTES 4608 /* of a name, with its NUL: a path and a symbol */

enum event_place { EVENT_BY_NAME, EVENT_BY_OFFSET, EVENT_BY_VADDR };

struct event_name {
	enum event_kind kind;
	enum event_place by;
	uint64_t address; /* offset in the file or vaddr, unless by name */
	/* the parts; "" where there is none */
	const char *file;  /* FILE */
	const char *group; /* GROUP, MODULE or PROVIDER */
	const char *name;  /* NAME, FUNCTION, or all of perf's name */
	/* private: what the parts point into, so that it cannot be copied */
	char text[EVENT_NAME_BYTES];
};

/*
 * NULL, or a message that says what is wrong with the text. pattern: a pattern of events to list;
 * parts that are missing at its end match anything
 */
const char *event_name_parse(struct event_name *event, const char *text, bool pattern);

/* does it have a * or a ?, so that it may name several events? */
bool event_name_is_pattern(const char *part);

#endif
