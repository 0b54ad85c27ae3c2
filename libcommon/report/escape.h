/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that others have chosen (a thread's, a file's, a symbol's) may hold anything: sequences that a
 * terminal obeys, line ends that begin a line of ours, bytes that are no text. These functions are the way
 * by which such names get out.
 *
 * What is escaped: characters that show nothing themselves, but change how or where others are shown (control
 * characters, those of C1 included; line separators; what turns the direction of writing), unassigned ones,
 * and bytes that are not UTF-8.
 */
#ifndef EHPERF_REPORT_ESCAPE_H
#define EHPERF_REPORT_ESCAPE_H

#include <stdio.h>

/* Prints a name: each byte of what is escaped as \xNN, and ';' too, because folded output is split at it. */
void print_escaped(FILE *out, const char *name);

/* Prints a line of our own with names in it, without its end: the same, but ';' is printed as it is. */
void print_message(FILE *out, const char *message);

/* Prints JSON, which has the characters within its strings only: as \uNNNN. It must be valid UTF-8. */
void print_json_escaped(FILE *out, const char *json);

#endif
