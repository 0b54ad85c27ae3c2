/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that may take time: other users' files must not delay them. */
#ifndef EHPERF_PROCESS_TRUST_H
#define EHPERF_PROCESS_TRUST_H

#include <stdbool.h>

#include "dwarf/regular_file.h"

/*
 * Does the file belong to root, to the user that runs the tool, or to the user that called sudo, and is it on a file system whose
 * owners come from the kernel and not from a server?
 */
bool is_trusted_file(const struct file_key *key);

#endif
