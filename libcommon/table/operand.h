/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_TABLE_OPERAND_H
#define EHPERF_TABLE_OPERAND_H

#include "events_abi.h"

/*
 * The argument of a USDT probe that the text begins with: its size and the assembler's operand, to
 * the next blank, as in "-4@%eax" on x86-64. 0; -ENOTSUP: it is of another form
 */
int operand_parse(const char *text, struct event_argument *argument);

#endif
