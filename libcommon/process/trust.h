/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose files may take time: others' must not hold them up. */
#ifndef EHPERF_PROCESS_TRUST_H
#define EHPERF_PROCESS_TRUST_H

#include <stdbool.h>

#include "dwarf/regular_file.h"

/*
 * Is it a file of root's, of who runs the tool, or of who called sudo, and on a file system of which the kernel itself says
 * whose its files are?
 */
bool is_trusted_file(const struct file_key *key);

#endif
