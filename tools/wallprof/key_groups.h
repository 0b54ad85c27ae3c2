/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of keys that are shown as one, with the sums of their times. */
#ifndef EHPERF_WALLPROF_KEY_GROUPS_H
#define EHPERF_WALLPROF_KEY_GROUPS_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "wallprof/timeline.h"

struct key_group {
	uint64_t id;
	uint64_t ns[NR_WALL_STATES], all_ns, count;
	uint32_t key, key_of_most; /* one of its keys; the one with most time */
	uint64_t most_ns;
	uint32_t thread, nr_threads; /* the last that was added, and how many were */
	bool many_names;             /* not all keys have the same */
	UT_hash_handle hh;
};

/*
 * the group with this ID, new or not: NULL without memory. *groups is NULL at first;
 * hash_free_all() frees them
 */
struct key_group *key_group_of(struct key_group **groups, uint64_t id);
/* into the order of their all_ns, the most first */
void key_groups_sort(struct key_group **groups);

#endif
