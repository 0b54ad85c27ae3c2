// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/python_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/array.h"
#include "python_abi.h"

#define MAX_FUNCTIONS 100000	/* of all processes: a program that makes them as it goes must not fill our memory */

struct function_key {
	uint64_t code, identity;
	uint64_t pid;
};

struct function {
	struct function_key key;
	uint64_t number;	/* from 1 */
	struct python_code code;
	UT_hash_handle hh;
};

struct python_names {
	struct function *by_key;
	struct function **by_number;	/* [number - 1] */
	size_t nr, room;
};

struct python_names *python_names_new(void)
{
	return calloc(1, sizeof(struct python_names));
}

void python_names_free(struct python_names *names)
{
	if (!names)
		return;
	HASH_CLEAR(hh, names->by_key);
	for (size_t i = 0; i < names->nr; i++) {
		python_code_free(&names->by_number[i]->code);
		free(names->by_number[i]);
	}
	free(names->by_number);
	free(names);
}

/* the number of a function that was read, 0: no memory */
static uint64_t add(struct python_names *names, const struct function_key *key, struct python_code *code)
{
	struct function *function = NULL;

	if (!array_reserve(&names->by_number, &names->room, names->nr + 1))
		function = calloc(1, sizeof(*function));
	if (!function) {
		python_code_free(code);
		return 0;
	}
	function->key = *key;
	function->code = *code;
	names->by_number[names->nr++] = function;
	function->number = names->nr;
	HASH_ADD(hh, names->by_key, key, sizeof(function->key), function);
	return function->number;
}

static uint64_t number_of(struct python_names *names, struct foreign *foreign,
			  const struct python_objects *objects, const struct function_key *key)
{
	struct function *function;
	struct python_code code;

	HASH_FIND(hh, names->by_key, key, sizeof(*key), function);
	if (function)
		return function->number;
	if (!objects || names->nr >= MAX_FUNCTIONS ||
	    foreign_read_python(foreign, key->pid, objects, key->code, key->identity, &code))
		return 0;
	return add(names, key, &code);
}

/*
 * Is it _Py_InitCleanup, of 3.12 on? It is code of the interpreter's own between a class and its
 * __init__(), and Python does not show it either.
 */
static bool is_hidden(const struct python_code *code)
{
	return code && !code->first_line && !strcmp(code->file, "__init__") && !strcmp(code->name, "__init__");
}

uint32_t python_names_see(struct python_names *names, struct foreign *foreign, pid_t pid,
			  const struct python_objects *objects, uint64_t *frames, uint32_t nr)
{
	uint64_t leaf = 0;	/* a mark that was left behind */
	uint32_t kept = 0;

	while (kept < nr && !FRAME_IS_PYTHON(frames[kept]))
		kept++;
	for (uint32_t i = kept; i + 1 < nr; i += 2) {
		struct function_key key = { .code = PYTHON_CODE(frames[i]), .identity = frames[i + 1], .pid = pid };
		uint64_t number = number_of(names, foreign, objects, &key);

		leaf |= frames[i] & PYTHON_LEAF;
		if (is_hidden(python_names_get(names, number)))
			continue;
		frames[kept++] = (frames[i] & ~PYTHON_LOW(~0ULL)) | leaf | number;
		leaf = 0;
	}
	return kept;
}

const struct python_code *python_names_get(const struct python_names *names, uint64_t number)
{
	return number && number <= names->nr ? &names->by_number[number - 1]->code : NULL;
}
