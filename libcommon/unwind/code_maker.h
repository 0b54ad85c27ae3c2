/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes tables of code that no FDE covers (unwind_table_build_code()) in a thread of its own, one after the other:
 * OpenBLAS's 12 MB take 0.3 s.
 */
#ifndef EHPERF_UNWIND_CODE_MAKER_H
#define EHPERF_UNWIND_CODE_MAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "table/unwind_table.h"

struct code_maker;

/* 0 or -errno */
int code_maker_new(struct code_maker **maker);
/* Waits for the table that is being made. */
void code_maker_free(struct code_maker *maker);

/* Asks for the table of a file, whose fd is the maker's from then on. 0 or -ENOMEM */
int code_maker_ask(struct code_maker *maker, uint32_t id, int fd);

/* for poll(): readable when a table is made */
int code_maker_fd(const struct code_maker *maker);

/*
 * Takes a table that is made, which the caller frees; it is empty where that failed. wait: for one to be made, if any was
 * asked for. The id that it was asked for with; 0: there is none
 */
uint32_t code_maker_take(struct code_maker *maker, bool wait, struct unwind_table *table);

#endif
