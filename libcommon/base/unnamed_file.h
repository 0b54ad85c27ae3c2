/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files for what has no room in memory. */
#ifndef EHPERF_BASE_UNNAMED_FILE_H
#define EHPERF_BASE_UNNAMED_FILE_H

#include <stdio.h>

/* A new file without a name, in $TMPDIR or /tmp, for writing and reading; NULL with errno */
FILE *unnamed_file(void);

#endif
