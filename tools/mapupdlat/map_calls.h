/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of bpf(2)'s map commands and of map types, and the titles of series of such calls. */
#ifndef EHPERF_MAPUPDLAT_MAP_CALLS_H
#define EHPERF_MAPUPDLAT_MAP_CALLS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "mapupdlat_abi.h"
#include "report/series.h"

/* "update,delete-batch" or "all": bit i is command i */
bool map_calls_parse_cmds(const char *text, uint64_t *cmds);
/*
 * the commands whose attributes are those of a batch; those that return the map's fd instead of
 * taking one
 */
uint64_t map_calls_batches(void);
uint64_t map_calls_creations(void);

/* Is it a map's ID, or a name that a map can have? */
bool map_calls_names_map(const char *text);

/* Parses a map type: bpftool's name for it, or its number. */
bool map_calls_parse_type(const char *text, uint32_t *type);

/* a struct map_call_key as text and as JSON; fields that are 0 are left out */
struct series_title map_calls_title(const void *key);
struct json_object *map_calls_json(const void *key);

#endif
