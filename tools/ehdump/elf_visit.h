/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Visits the ELF files that an argument stands for: a file, those in a directory, or those that a
 * process has mapped.
 */
#ifndef EHPERF_EHDUMP_ELF_VISIT_H
#define EHPERF_EHDUMP_ELF_VISIT_H

#include <stdbool.h>

#include "dwarf/elf_file.h"

struct elf_visitor {
	/*
	 * Visits an open file, which is closed afterwards. 0, or a -errno that elf_file_explain()
	 * knows
	 */
	int (*visit)(void *arg, const char *path, struct elf_file *file);
	/* Reports a file or an argument that could not be visited, or whose visit failed. */
	void (*failed)(void *arg, const char *name, const char *why);
	void *arg;
};

/*
 * name: a path, or, if there is no such file, a PID: each file that the process has mapped as code,
 * once, and its vDSO. recursive: a directory stands for the regular files below it, except those
 * that are not ELF files or have no CFI; symbolic links there are not followed. Such a file is an
 * error only if it is named itself.
 */
void elf_visit(const char *name, bool recursive, const struct elf_visitor *visitor);

#endif
