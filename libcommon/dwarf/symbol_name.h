/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suffixes that a compiler or linker adds to a function's name. */
#ifndef EHPERF_DWARF_SYMBOL_NAME_H
#define EHPERF_DWARF_SYMBOL_NAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The length of the name without a version (@VERSION, @@VERSION) and without the suffixes of
 * clones, in any number and order: .lto_priv.0, .constprop.0, .isra.0, .part.0, .cold, .llvm.123,
 * .localalias, … At least 1.
 */
size_t symbol_name_fold(const char *raw);

/*
 * The name to show, to be freed: folded, except Go's names, where a dot means something else; then
 * demangled, unless no_demangle. Cut to DEMANGLE_MAX_NAME bytes. NULL: no memory
 */
char *symbol_name_for_people(const char *raw, bool no_demangle, bool is_go);

#endif
