/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints all stacks that a tool has gathered, in one of the formats. */
#ifndef EHPERF_REPORT_STACK_REPORT_H
#define EHPERF_REPORT_STACK_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "report/measure.h"
#include "report/stack_entry.h"
#include "report/stack_writer.h"

enum report_format { REPORT_TEXT, REPORT_FOLDED, REPORT_JSON, NR_REPORT_FORMATS };

/* Finds the format by the ending of a file's name. False: no format has this ending */
bool report_format_of(const char *file_name, enum report_format *format);

/*
 * Writes the entries, in the format's order. 0 or -errno; errors of writer->out itself are left to ferror().
 */
int stack_report(enum report_format format, const struct stack_writer *writer, const struct measure *measure,
		 const struct stack_entry *entries, size_t nr);

/* ---- the formats ---- */

/* as bcc's tools: frames leaf first, then comm (pid), then the value. Stacks with equal text are merged. */
int stack_report_text(const struct stack_writer *writer, const struct measure *measure,
		      const struct stack_entry *entries, size_t nr);
int stack_report_folded(const struct stack_writer *writer, const struct measure *measure,
			const struct stack_entry *entries, size_t nr);
/* {"type":"stack",…} each */
int stack_report_json(const struct stack_writer *writer, const struct measure *measure,
		      const struct stack_entry *entries, size_t nr);

#endif
