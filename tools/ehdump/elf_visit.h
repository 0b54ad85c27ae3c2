/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ELF files that an argument stands for: a file, those in a directory, those that a process has mapped. */
#ifndef EHPERF_EHDUMP_ELF_VISIT_H
#define EHPERF_EHDUMP_ELF_VISIT_H

#include <stdbool.h>

#include "dwarf/elf_file.h"

struct elf_visitor {
	/* an opened file, closed afterwards: 0, or a -errno that elf_file_explain() knows */
	int (*visit)(void *arg, const char *path, struct elf_file *file);
	/* a file or an argument that could not be visited, or whose visit failed */
	void (*failed)(void *arg, const char *name, const char *why);
	void *arg;
};

/*
 * name: a path, or, where no such file exists, a PID: every file the process has mapped as code, once, and
 * its vDSO. recursive: a directory stands for the regular files below it; those that are no ELF file, or have no
 * CFI, are passed over in silence, while a file that is named itself has failed then. Links in a directory are not
 * followed.
 */
void elf_visit(const char *name, bool recursive, const struct elf_visitor *visitor);

#endif
