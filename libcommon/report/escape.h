/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that other users have chosen (of threads, files, symbols) may contain anything: terminal
 * escape sequences, line ends that forge a line of the output, bytes that are not text. All such
 * names must be printed by these functions.
 *
 * They escape characters that change how or where other characters are shown (control characters,
 * also of C1; line separators; characters that change the direction of writing), unassigned
 * characters, and bytes that are not UTF-8.
 */
#ifndef EHPERF_REPORT_ESCAPE_H
#define EHPERF_REPORT_ESCAPE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* May this character be shown as it is? */
bool is_harmless(uint32_t character);

/*
 * Prints a name, with each escaped byte as \xNN. ';' is escaped, too, because folded output is
 * split at it.
 */
void print_escaped(FILE *out, const char *name);

/*
 * Prints a message with names in it, without a line end: as print_escaped(), but ';' is not
 * escaped.
 */
void print_message(FILE *out, const char *message);

/* Prints JSON, with the characters in its strings escaped as \uNNNN. It must be valid UTF-8. */
void print_json_escaped(FILE *out, const char *json);

#endif
