/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a compiler or linker adds to a function's name without making it another function. */
#ifndef EHPERF_DWARF_SYMBOL_NAME_H
#define EHPERF_DWARF_SYMBOL_NAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The length of the name without a version (@VERSION, @@VERSION) and without the suffixes of clones, in any
 * number and order: .lto_priv.0, .constprop.0, .isra.0, .part.0, .cold, .llvm.123, .localalias, … At least 1.
 */
size_t symbol_name_fold(const char *raw);

/*
 * The name for people, to be freed: folded but for Go's, where a dot means something else, then demangled
 * unless that is not wanted. Its first DEMANGLE_MAX_NAME bytes. NULL: no memory
 */
char *symbol_name_for_people(const char *raw, bool no_demangle, bool is_go);

#endif
