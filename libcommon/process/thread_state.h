/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Letters of enum thread_state (bpf/stacks_abi.h), as ps and the kernel's sched_switch write them.
 */
#ifndef EHPERF_PROCESS_THREAD_STATE_H
#define EHPERF_PROCESS_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "stacks_abi.h"

char thread_state_letter(enum thread_state state);

/*
 * Parses "DS", "D,S", or a mask of the kernel's state bits as bcc's tools take it ("2", "0x2"; 0 is
 * R): *states has bits 1 << enum thread_state. False if the text is none of these
 */
bool thread_states_parse(const char *text, uint32_t *states);

#endif
