/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef EHPERF_LIVE_SAVE_H
#define EHPERF_LIVE_SAVE_H

#include <stdbool.h>

#include "live/picture.h"

/*
 * Writes the report to a file, in the format of its name's ending. 0; -EEXIST if there is one and it must not be replaced;
 * -EINVAL if the ending is none; -errno
 */
int live_save(const struct live_shown *shown, const char *name, bool replace);

#endif
