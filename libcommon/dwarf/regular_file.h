/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening what another user may have put there. */
#ifndef EHPERF_DWARF_REGULAR_FILE_H
#define EHPERF_DWARF_REGULAR_FILE_H

#include <stdbool.h>

/*
 * A regular file, read-only; nothing else is opened at all: no FIFO waits, no device notices. Below the directory
 * `root`, wherever links lead, if that is not -1. `follow`: the last part of the path may be a link. An fd or -errno
 */
int regular_file_open(int root, const char *path, bool follow);

#endif
