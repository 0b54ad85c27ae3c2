/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries with the same labels (report/stack_labels.h): many threads and processes run the same
 * code. They are told by the addresses of their frames, without names.
 */
#ifndef EHPERF_REPORT_STACK_PATHS_H
#define EHPERF_REPORT_STACK_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/stack_entry.h"
#include "report/stack_writer.h"

struct stack_paths {
	const struct stack_writer *writer;
	bool by_thread; /* threads of the same name are kept apart */
	/*
	 * of each path one of its entries, whose value is the caller's: 0 at first. Once they are
	 * in another order, no more is found
	 */
	struct stack_entry *all;
	size_t nr, room;
	struct path *known; /* private */
};

/*
 * Finds the number of the entry's path, of .all, or adds it. Equal stacks must have the same
 * addresses. 0 or -ENOMEM
 */
int stack_paths_find(struct stack_paths *paths, const struct stack_entry *entry, uint32_t *number);
void stack_paths_free(struct stack_paths *paths);

#endif
