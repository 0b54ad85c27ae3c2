// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/python/python_names.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/array.h"
#include "base/hash.h"
#include "process/clock.h"
#include "runtimes/python/python_work.h"
#include "runtimes/python_abi.h"

/* A program that makes functions as it goes must not fill our memory; one process leaves room for others. */
#define MAX_FUNCTIONS 100000
#define MAX_OF_PROCESS (MAX_FUNCTIONS / 4)
/* of names and tables of lines: beyond this, functions have no lines, and beyond twice this, no names */
#define MAX_BYTES (64 << 20)
/* nor may it keep them waiting: so many questions are open at a time; the others are asked later */
#define MAX_QUESTIONS 64
#define MAX_QUESTIONS_OF_PROCESS 4
#define MAX_TRIES 3
#define LOOKED_AT 2000		/* functions, each time that questions are asked for */

struct function_key {
	uint64_t code, identity;
	uint64_t pid;
};

struct function {
	struct function_key key;
	uint64_t number;	/* from 1 */
	bool asked;		/* in a question that is open, or in the next one */
	uint8_t tries;
	struct python_code code;	/* {}: there is no answer */
	UT_hash_handle hh;
};

struct process_functions {
	pid_t pid;
	uint32_t nr, questions;
	bool has_objects;
	struct python_objects objects;
	UT_hash_handle hh;
};

/* functions of one process that are asked for together */
struct question {
	uint64_t tag;		/* the PID in its lower half */
	size_t nr;
	uint64_t numbers[MAX_PYTHON_FUNCTIONS];
	UT_hash_handle hh;
};

struct python_names {
	struct function *by_key;
	struct function **by_number;	/* [number - 1] */
	size_t nr, room;
	struct process_functions *processes;
	struct question *questions;	/* that are open */
	struct question next;		/* gathers functions of one process */
	uint32_t last_question;
	size_t looked_at;		/* by number: whether it is to be asked for */
	size_t bytes;
	uint64_t slow_ns;		/* when settling took too long; 0: it did not */
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
	hash_free_all(names->processes);
	hash_free_all(names->questions);
	free(names);
}

/* ---- functions ---- */

static struct process_functions *process_of(struct python_names *names, pid_t pid)
{
	struct process_functions *process;

	HASH_FIND_INT(names->processes, &pid, process);
	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	HASH_ADD_INT(names->processes, pid, process);
	return process;
}

/* NULL: there is no room, or no memory */
static struct function *add(struct python_names *names, const struct function_key *key)
{
	struct process_functions *process = names->nr < MAX_FUNCTIONS ? process_of(names, key->pid) : NULL;
	struct function *function;

	if (!process || process->nr >= MAX_OF_PROCESS ||
	    array_reserve(&names->by_number, &names->room, names->nr + 1))
		return NULL;
	function = calloc(1, sizeof(*function));
	if (!function)
		return NULL;
	function->key = *key;
	names->by_number[names->nr++] = function;
	function->number = names->nr;
	process->nr++;
	HASH_ADD(hh, names->by_key, key, sizeof(function->key), function);
	return function;
}

/* ---- questions and answers ---- */

/* A question that cannot be asked now leaves its functions to be asked for later. */
static void ask(struct python_names *names, struct foreign *foreign)
{
	pid_t pid = (pid_t)names->next.tag;
	struct process_functions *process = process_of(names, pid);
	struct python_question wanted = { .pid = pid, .nr = names->next.nr };
	struct question *question = NULL;

	if (process && process->questions < MAX_QUESTIONS_OF_PROCESS && HASH_COUNT(names->questions) < MAX_QUESTIONS)
		question = malloc(sizeof(*question));
	for (size_t i = 0; i < names->next.nr; i++) {
		const struct function *function = names->by_number[names->next.numbers[i] - 1];

		wanted.functions[i] = (struct python_function){ function->key.code, function->key.identity };
	}
	if (question) {
		*question = names->next;
		question->tag = (uint64_t)++names->last_question << 32 | (uint32_t)pid;
	}
	if (process)
		wanted.objects = process->objects;
	if (question && !foreign_ask(foreign, pid, python_work, &wanted, sizeof(wanted), question->tag)) {
		process->questions++;
		HASH_ADD(hh, names->questions, tag, sizeof(question->tag), question);
	} else {
		for (size_t i = 0; i < names->next.nr; i++)
			names->by_number[names->next.numbers[i] - 1]->asked = false;
		free(question);
	}
	names->next.nr = 0;
}

static void ask_for(struct python_names *names, struct foreign *foreign, struct function *function)
{
	struct question *next = &names->next;

	if (function->asked || function->code.name || function->tries == MAX_TRIES ||
	    !process_of(names, function->key.pid)->has_objects)
		return;
	if (next->nr && (next->nr == MAX_PYTHON_FUNCTIONS || (pid_t)next->tag != (pid_t)function->key.pid))
		ask(names, foreign);
	next->tag = function->key.pid;
	function->asked = true;
	next->numbers[next->nr++] = function->number;
}

static void keep_within_bounds(struct python_names *names, struct python_code *code)
{
	if (code->name && names->bytes > 2 * MAX_BYTES)
		python_code_free(code);
	if (!code->name)
		return;
	if (names->bytes > MAX_BYTES) {
		free(code->lines);
		code->lines = NULL;
		code->line_bytes = 0;
	}
	names->bytes += code->line_bytes + strlen(code->name) + strlen(code->file);
}

static void take(struct python_names *names, struct question *question, struct python_code *codes)
{
	process_of(names, (pid_t)question->tag)->questions--;
	for (size_t i = 0; i < question->nr; i++) {
		struct function *function = names->by_number[question->numbers[i] - 1];

		function->asked = false;
		function->tries++;
		function->code = codes[i];
		keep_within_bounds(names, &function->code);
	}
	for (size_t i = question->nr; i < MAX_PYTHON_FUNCTIONS; i++)	/* of a worker that was taken over */
		python_code_free(&codes[i]);
	HASH_DEL(names->questions, question);
	free(question);
}

/* those that could not be asked for when they were seen: some of them, from where it was left off */
static void ask_for_others(struct python_names *names, struct foreign *foreign)
{
	for (size_t i = 0; i < LOOKED_AT && i < names->nr && HASH_COUNT(names->questions) < MAX_QUESTIONS / 2; i++)
		ask_for(names, foreign, names->by_number[names->looked_at++ % names->nr]);
	if (names->next.nr)
		ask(names, foreign);
}

void python_names_follow(struct python_names *names, struct foreign *foreign)
{
	struct python_code codes[MAX_PYTHON_FUNCTIONS];
	struct question *question;
	const void *answer;
	uint64_t tag;
	size_t bytes;

	if (names->next.nr)
		ask(names, foreign);
	while ((tag = foreign_take(foreign, &answer, &bytes))) {
		python_work_take(answer, bytes, codes);
		HASH_FIND(hh, names->questions, &tag, sizeof(tag), question);
		take(names, question, codes);
	}
	ask_for_others(names, foreign);
}

#define SLOW_NS 1000000000	/* after answers that kept us waiting, none are waited for, so long */

void python_names_settle(struct python_names *names, struct foreign *foreign, int ms)
{
	uint64_t end = clock_ns() + ms * 1000000ULL, now;

	python_names_follow(names, foreign);
	if (clock_ns() < names->slow_ns + SLOW_NS)
		return;
	while (names->questions && (now = clock_ns()) < end) {
		foreign_wait_answer(foreign, (end - now) / 1000000 + 1);
		python_names_follow(names, foreign);
	}
	names->slow_ns = names->questions ? clock_ns() : 0;
}

/* ---- frames ---- */

uint32_t python_names_see(struct python_names *names, struct foreign *foreign, pid_t pid,
			  const struct python_objects *objects, uint64_t *frames, uint32_t nr)
{
	struct process_functions *process = NULL;
	uint32_t kept = 0;

	while (kept < nr && !FRAME_IS_PYTHON(frames[kept]))
		kept++;
	for (uint32_t i = kept; i + 1 < nr; i += 2) {
		struct function_key key = { .code = PYTHON_CODE(frames[i]), .identity = frames[i + 1], .pid = pid };
		struct function *function;

		HASH_FIND(hh, names->by_key, &key, sizeof(key), function);
		if (!function)
			function = add(names, &key);
		if (function && !process) {
			process = process_of(names, pid);
			process->has_objects |= objects != NULL;
			if (objects)
				process->objects = *objects;
		}
		if (function)
			ask_for(names, foreign, function);
		frames[kept++] = (frames[i] & ~PYTHON_LOW(~0ULL)) | (function ? function->number : 0);
	}
	return kept;
}

const struct python_code *python_names_get(const struct python_names *names, uint64_t number)
{
	const struct function *function = number && number <= names->nr ? names->by_number[number - 1] : NULL;

	return function && function->code.name ? &function->code : NULL;
}

/* _Py_InitCleanup, of 3.12 on: code between a class and its __init__() */
bool python_names_is_hidden(const struct python_code *code)
{
	return code && !code->first_line && !strcmp(code->file, "__init__") && !strcmp(code->name, "__init__");
}
