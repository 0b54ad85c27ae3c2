/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disks, operations and flags by name, and the titles of histograms of I/Os. */
#ifndef EHPERF_BIOHIST_IO_NAMES_H
#define EHPERF_BIOHIST_IO_NAMES_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "biohist_abi.h"
#include "report/series.h"

/*
 * The number of the disk or partition with this name, as lsblk prints it (vda1, dm-0, vg-root), or
 * path. False: there is none
 */
bool io_names_find_disk(const char *name, uint32_t *dev, bool *is_partition);

/* a struct io_key as text and as JSON; fields that are 0 are left out */
struct series_title io_names_title(const void *key);
struct json_object *io_names_json(const void *key);

#endif
