/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of bpf(2) on maps: their keys, and the records that mapupdlat's programs send. */
#ifndef EHPERF_MAPUPDLAT_ABI_H
#define EHPERF_MAPUPDLAT_ABI_H

#include <linux/types.h>

#include "timed_calls_abi.h"

/* what the call's file descriptor refers to */
enum map_call_kind {
	CALL_ON_MAP,
	CALL_BAD_FD,      /* not open */
	CALL_NOT_A_MAP,   /* a file of another kind */
	CALL_UNREADABLE,  /* the call's attributes could not be read */
	CALL_NOT_CREATED, /* there is no map: it was not created */
	NR_CALL_KINDS
};

/*
 * A call: which map, by which process. In the key of a series, fields that do not distinguish
 * series are 0.
 */
struct map_call_key {
	__u32 kind;
	__u32 map_id, map_type;
	__u32 command; /* enum bpf_cmd + 1 */
	__u32 pid;
	__u32 pad;
	char name[16]; /* the map's */
	char comm[16];
};
_Static_assert(sizeof(struct map_call_key) == 56, "map_call_key");

#endif
