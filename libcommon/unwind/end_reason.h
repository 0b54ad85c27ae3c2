/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and meanings of enum end_reason (bpf/stacks_abi.h). */
#ifndef EHPERF_UNWIND_END_REASON_H
#define EHPERF_UNWIND_END_REASON_H

#include "stacks_abi.h"

/* the name in JSON and summaries */
const char *end_reason_name(enum end_reason end);
/* a phrase for the user, without a full stop */
const char *end_reason_meaning(enum end_reason end);

#endif
