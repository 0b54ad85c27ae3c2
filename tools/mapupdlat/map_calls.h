/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of what bpf(2) does to maps: commands, types of maps, and what a series of such calls is called. */
#ifndef EHPERF_MAPUPDLAT_MAP_CALLS_H
#define EHPERF_MAPUPDLAT_MAP_CALLS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "mapupdlat_abi.h"
#include "report/series.h"

/* "update,delete-batch" or "all": bit i is command i */
bool map_calls_parse_cmds(const char *text, uint64_t *cmds);
/* those whose attributes are a batch's; those that return the map's fd, and take none */
uint64_t map_calls_batches(void);
uint64_t map_calls_creations(void);

/* a type by its name, as bpftool says it, or by its number */
bool map_calls_parse_type(const char *text, uint32_t *type);

/* what a struct map_call_key says, the fields that are 0 left out */
struct series_title map_calls_title(const void *key);
struct json_object *map_calls_json(const void *key);

#endif
