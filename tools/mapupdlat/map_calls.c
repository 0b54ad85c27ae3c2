// SPDX-License-Identifier: GPL-2.0-or-later
#include "map_calls.h"

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "report/escape.h"
#include "report/json.h"
#include "run/cli.h"

enum takes { TAKES_FD, TAKES_BATCH, RETURNS_FD };

static const struct {
	const char *name;
	enum takes takes;
} commands[] = {
	[BPF_MAP_CREATE] = { "create", RETURNS_FD },
	[BPF_MAP_LOOKUP_ELEM] = { "lookup", TAKES_FD },
	[BPF_MAP_UPDATE_ELEM] = { "update", TAKES_FD },
	[BPF_MAP_DELETE_ELEM] = { "delete", TAKES_FD },
	[BPF_MAP_GET_NEXT_KEY] = { "next-key", TAKES_FD },
	[BPF_MAP_LOOKUP_AND_DELETE_ELEM] = { "lookup-delete", TAKES_FD },
	[BPF_MAP_FREEZE] = { "freeze", TAKES_FD },
	[BPF_MAP_LOOKUP_BATCH] = { "lookup-batch", TAKES_BATCH },
	[BPF_MAP_LOOKUP_AND_DELETE_BATCH] = { "lookup-delete-batch", TAKES_BATCH },
	[BPF_MAP_UPDATE_BATCH] = { "update-batch", TAKES_BATCH },
	[BPF_MAP_DELETE_BATCH] = { "delete-batch", TAKES_BATCH },
};
#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static uint64_t commands_that(enum takes takes)
{
	uint64_t cmds = 0;

	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (commands[i].name && commands[i].takes == takes)
			cmds |= 1ULL << i;
	return cmds;
}

uint64_t map_calls_batches(void)
{
	return commands_that(TAKES_BATCH);
}

uint64_t map_calls_creations(void)
{
	return commands_that(RETURNS_FD);
}

static uint64_t command_by_name(const char *name, size_t length)
{
	if (length == 3 && !memcmp(name, "all", 3))
		return commands_that(TAKES_FD) | commands_that(TAKES_BATCH) |
		       commands_that(RETURNS_FD);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (commands[i].name && strlen(commands[i].name) == length &&
		    !memcmp(commands[i].name, name, length))
			return 1ULL << i;
	return 0;
}

bool map_calls_parse_cmds(const char *text, uint64_t *cmds)
{
	uint64_t all = 0;

	for (;;) {
		size_t length = strcspn(text, ",");
		uint64_t cmd = command_by_name(text, length);

		if (!cmd)
			return false;
		all |= cmd;
		if (!text[length])
			break;
		text += length + 1;
	}
	*cmds = all;
	return true;
}

bool map_calls_names_map(const char *text)
{
	uint64_t id;

	if (!*text || strlen(text) > 15)
		return false;
	return strspn(text, "0123456789") < strlen(text) ||
	       cli_parse_number(text, 1, UINT32_MAX, &id);
}

struct type_name {
	char text[40];
};

static struct type_name type_name(uint32_t type)
{
	const char *known = libbpf_bpf_map_type_str(type);
	struct type_name name;

	if (known)
		snprintf(name.text, sizeof(name.text), "%s", known);
	else
		snprintf(name.text, sizeof(name.text), "type %u", type);
	return name;
}

bool map_calls_parse_type(const char *text, uint32_t *type)
{
	uint64_t number;

	for (uint32_t i = 0; libbpf_bpf_map_type_str(i); i++) {
		if (!strcmp(libbpf_bpf_map_type_str(i), text)) {
			*type = i;
			return true;
		}
	}
	if (!cli_parse_number(text, 0, UINT32_MAX, &number))
		return false;
	*type = number;
	return true;
}

/* what the call was on, if not on a map; else NULL */
static const char *no_map(uint32_t kind)
{
	static const char *const texts[NR_CALL_KINDS] = {
		[CALL_BAD_FD] = "no open file",
		[CALL_NOT_A_MAP] = "a file that is no map",
		[CALL_UNREADABLE] = "attributes that cannot be read",
		[CALL_NOT_CREATED] = "no map was created",
	};

	return kind < NR_CALL_KINDS ? texts[kind] : NULL;
}

struct series_title map_calls_title(const void *call)
{
	const struct map_call_key *key = call;
	struct series_title title = {};
	FILE *out = fmemopen(title.text, sizeof(title.text), "w");
	const char *comma = "";

	if (!out)
		return title;
	if (key->pid) {
		print_escaped(out, key->comm);
		fprintf(out, " (%u)", key->pid);
		comma = ", ";
	}
	if (key->command) {
		fprintf(out, "%s%s", comma, commands[key->command - 1].name);
		comma = ", ";
	}
	if (no_map(key->kind))
		fprintf(out, "%son %s", comma, no_map(key->kind));
	else if (key->map_type)
		fprintf(out, "%s%s", comma, type_name(key->map_type).text);
	else if (!*comma)
		fputs("all calls", out);
	if (key->name[0]) {
		fputs(" '", out);
		print_escaped(out, key->name);
		putc('\'', out);
	}
	if (key->map_id)
		fprintf(out, ", id %u", key->map_id);
	fclose(out);
	return title;
}

struct json_object *map_calls_json(const void *call)
{
	const struct map_call_key *key = call;
	struct json_object *object = json_object_new_object();

	if (no_map(key->kind))
		json_object_object_add(object, "no_map", json_object_new_string(no_map(key->kind)));
	if (key->map_id)
		json_object_object_add(object, "map_id", json_object_new_int64(key->map_id));
	if (key->map_type)
		json_object_object_add(object, "map_type",
				       json_object_new_string(type_name(key->map_type).text));
	if (key->name[0])
		json_object_object_add(object, "map_name", json_name(key->name));
	if (key->command)
		json_object_object_add(object, "command",
				       json_object_new_string(commands[key->command - 1].name));
	if (key->pid) {
		json_object_object_add(object, "pid", json_object_new_int64(key->pid));
		json_object_object_add(object, "comm", json_name(key->comm));
	}
	return object;
}
