// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/python/python_names.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory_limit.h"
#include "base/order.h"
#include "base/user_room.h"
#include "runtimes/python/python_work.h"
#include "runtimes/python_abi.h"

/*
 * A program that makes functions as it goes must not fill our memory, nor keep others waiting. One
 * process leaves room for others, and the processes of a user leave half of what other users have
 * left; root's may have all of that.
 */
#define MAX_FUNCTIONS            ((memory_limit >> 20) * 100000 / 512) /* a 20th of the limit */
#define MAX_OF_PROCESS           (MAX_FUNCTIONS / 4)
#define MAX_BYTES                (memory_limit / 8) /* of names; of tables of lines */
#define MAX_QUESTIONS            64                 /* that are open; the others are asked later */
#define MAX_QUESTIONS_OF_PROCESS 4
#define MAX_TRIES                3

struct function_key {
	uint64_t code, identity;
	uint64_t pid;
};

struct function {
	struct function_key key;
	uint64_t number; /* from 1; no other function ever has it */
	bool asked;      /* in a question that is open */
	bool used;       /* since the last python_names_forget() */
	uint8_t tries;
	struct python_code code; /* {}: there is no answer */
	struct user_functions *user;
	struct function *prev, *next; /* of those that its process waits to ask for */
	UT_hash_handle hh, by_number;
};

/* what the processes of one user have */
struct user_functions {
	uint32_t user; /* 0: root */
	size_t nr, questions;
	struct room_user *names, *lines; /* who pays for them */
	UT_hash_handle hh;
};

struct process_functions {
	pid_t pid;
	struct user_functions *user;
	uint32_t nr, questions;
	bool has_objects;
	struct python_objects objects;
	struct function *waiting; /* to be asked for */
	UT_hash_handle hh;
	struct process_functions *prev, *next; /* of those with functions that wait */
};

/* functions of one process that are asked for together */
struct question {
	uint64_t tag; /* the PID in its lower half */
	size_t nr;
	struct function *functions[MAX_PYTHON_FUNCTIONS];
	UT_hash_handle hh;
};

struct python_names {
	struct function *functions; /* by key */
	struct function *numbered;  /* the same ones */
	uint32_t (*user_of)(pid_t pid);
	struct user_functions *users;
	struct process_functions *processes, *waiting;
	struct question *questions; /* that are open */
	uint64_t last_number;
	uint32_t last_question;
	struct user_room names_room, lines_room;
	uint64_t slow_ns; /* when settling took too long; 0: it did not */
};

struct python_names *python_names_new(uint32_t (*user_of)(pid_t pid))
{
	struct python_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->user_of = user_of;
	names->names_room = names->lines_room =
		(struct user_room){ .max = MAX_BYTES, .whole = &memory_room };
	return names;
}

static size_t name_bytes(const struct python_code *code)
{
	return strlen(code->name) + strlen(code->file);
}

static void drop(struct python_names *names, struct function *function)
{
	user_room_give(function->user->names, sizeof(*function));
	if (function->code.name) {
		user_room_give(function->user->names, name_bytes(&function->code));
		user_room_give(function->user->lines, function->code.line_bytes);
	}
	function->user->nr--;
	python_code_free(&function->code);
	HASH_DEL(names->functions, function);
	HASH_DELETE(by_number, names->numbered, function);
	free(function);
}

void python_names_free(struct python_names *names)
{
	struct function *function, *next;

	if (!names)
		return;
	HASH_ITER(hh, names->functions, function, next)
		drop(names, function);
	hash_free_all(names->processes);
	hash_free_all(names->users);
	hash_free_all(names->questions);
	user_room_empty(&names->names_room);
	user_room_empty(&names->lines_room);
	free(names);
}

/* ---- functions ---- */

/* Is there room for more of what these processes have `own` of, and all have `all` of? */
static bool has_room(const struct user_functions *user, size_t own, size_t all, size_t max)
{
	return own < user_share(user->user, own, all, max);
}

/* NULL: no memory */
static struct user_functions *user_of(struct python_names *names, pid_t pid)
{
	uint32_t number = names->user_of(pid);
	struct user_functions *user;

	HASH_FIND_INT(names->users, &number, user);
	if (user)
		return user;
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->user = number;
	user->names = user_room_of(&names->names_room, number);
	user->lines = user_room_of(&names->lines_room, number);
	if (!user->names || !user->lines) {
		free(user);
		return NULL;
	}
	HASH_ADD_INT(names->users, user, user);
	return user;
}

/* NULL: no memory */
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
	process->user = user_of(names, pid);
	if (!process->user) {
		free(process);
		return NULL;
	}
	HASH_ADD_INT(names->processes, pid, process);
	return process;
}

static void wait_for(struct python_names *names, struct process_functions *process,
		     struct function *function)
{
	if (!process->waiting)
		DL_APPEND(names->waiting, process);
	DL_APPEND(process->waiting, function);
}

static void end_wait(struct python_names *names, struct process_functions *process,
		     struct function *function)
{
	DL_DELETE(process->waiting, function);
	function->prev = NULL;
	if (!process->waiting)
		DL_DELETE(names->waiting, process);
}

/* NULL: there is no room, or no memory */
static struct function *add(struct python_names *names, struct process_functions *process,
			    const struct function_key *key)
{
	struct function *function = NULL;

	if (process->nr < MAX_OF_PROCESS &&
	    has_room(process->user, process->user->nr, HASH_COUNT(names->functions), MAX_FUNCTIONS))
		function = calloc(1, sizeof(*function));
	if (!function)
		return NULL;
	function->key = *key;
	function->number = ++names->last_number;
	function->user = process->user;
	function->user->nr++;
	user_room_charge(function->user->names, sizeof(*function));
	process->nr++;
	HASH_ADD(hh, names->functions, key, sizeof(function->key), function);
	HASH_ADD(by_number, names->numbered, number, sizeof(function->number), function);
	wait_for(names, process, function);
	return function;
}

/* NULL: it is forgotten, or there was none */
static struct function *numbered(const struct python_names *names, uint64_t number)
{
	struct function *function;

	HASH_FIND(by_number, names->numbered, &number, sizeof(number), function);
	return function;
}

void python_names_use(struct python_names *names, uint64_t number)
{
	struct function *function = numbered(names, number);

	if (function)
		function->used = true;
}

static bool is_waiting(const struct function *function)
{
	return function->prev;
}

void python_names_forget(struct python_names *names)
{
	struct process_functions *process, *next_process;
	struct function *function, *next;

	HASH_ITER(hh, names->functions, function, next) {
		bool kept = function->used || function->asked;

		function->used = false;
		if (kept)
			continue;
		process = process_of(names, function->key.pid);
		process->nr--;
		if (is_waiting(function))
			end_wait(names, process, function);
		drop(names, function);
	}
	HASH_ITER(hh, names->processes, process, next_process) {
		if (process->nr || process->questions)
			continue;
		HASH_DEL(names->processes, process);
		free(process);
	}
}

/* ---- questions and answers ---- */

/* Asks for some functions of the process. False: it cannot be asked now, and they go on waiting */
static bool ask(struct python_names *names, struct foreign *foreign,
		struct process_functions *process)
{
	struct python_question wanted = { .pid = process->pid, .objects = process->objects };
	struct question *question = NULL;
	struct function *function;

	if (process->questions < MAX_QUESTIONS_OF_PROCESS &&
	    has_room(process->user, process->user->questions, HASH_COUNT(names->questions),
		     MAX_QUESTIONS))
		question = calloc(1, sizeof(*question));
	if (!question)
		return false;
	for (function = process->waiting; function && question->nr < MAX_PYTHON_FUNCTIONS;
	     function = function->next) {
		wanted.functions[wanted.nr++] =
			(struct python_function){ function->key.code, function->key.identity };
		question->functions[question->nr++] = function;
	}
	question->tag = (uint64_t)++names->last_question << 32 | (uint32_t)process->pid;
	if (foreign_ask(foreign, process->pid, python_work, &wanted, sizeof(wanted),
			question->tag)) {
		free(question);
		return false;
	}
	for (size_t i = 0; i < question->nr; i++) {
		end_wait(names, process, question->functions[i]);
		question->functions[i]->asked = true;
	}
	process->questions++;
	process->user->questions++;
	HASH_ADD(hh, names->questions, tag, sizeof(question->tag), question);
	return true;
}

/* A process that was asked goes behind the others: none keeps them waiting. */
static void ask_all(struct python_names *names, struct foreign *foreign)
{
	struct process_functions *process, *next;

	DL_FOREACH_SAFE(names->waiting, process, next) {
		bool asked = false;

		while (process->has_objects && process->waiting && ask(names, foreign, process))
			asked = true;
		if (!asked || !process->waiting)
			continue;
		DL_DELETE(names->waiting, process);
		DL_APPEND(names->waiting, process);
	}
}

static void keep_within_bounds(struct user_functions *user, struct python_code *code)
{
	if (code->name && !user_room_take(user->names, name_bytes(code)))
		python_code_free(code);
	if (!code->name)
		return;
	if (!user_room_take(user->lines, code->line_bytes)) {
		free(code->lines);
		code->lines = NULL;
		code->line_bytes = 0;
	}
}

static void take(struct python_names *names, struct question *question, struct python_code *codes)
{
	struct process_functions *process = process_of(names, (pid_t)question->tag);

	process->questions--;
	process->user->questions--;
	for (size_t i = 0; i < question->nr; i++) {
		struct function *function = question->functions[i];

		function->asked = false;
		function->code = codes[i];
		keep_within_bounds(function->user, &function->code);
		if (!function->code.name && ++function->tries < MAX_TRIES)
			wait_for(names, process, function);
	}
	/* of a worker that was taken over */
	for (size_t i = question->nr; i < MAX_PYTHON_FUNCTIONS; i++)
		python_code_free(&codes[i]);
	HASH_DEL(names->questions, question);
	free(question);
}

void python_names_follow(struct python_names *names, struct foreign *foreign)
{
	struct python_code codes[MAX_PYTHON_FUNCTIONS];
	struct question *question;
	const void *answer;
	uint64_t tag;
	size_t bytes;

	while ((tag = foreign_take(foreign, &answer, &bytes))) {
		python_work_take(answer, bytes, codes);
		HASH_FIND(hh, names->questions, &tag, sizeof(tag), question);
		take(names, question, codes);
	}
	ask_all(names, foreign);
}

#define SLOW_NS 1000000000 /* after answers that kept us waiting, none are waited for, so long */

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

/* NULL: there is no room for it, or no memory */
static struct function *function_of(struct python_names *names, struct process_functions *process,
				    const uint64_t *words)
{
	struct function_key key = { .code = PYTHON_CODE(words[0]),
				    .identity = words[1],
				    .pid = process->pid };
	struct function *function;

	HASH_FIND(hh, names->functions, &key, sizeof(key), function);
	if (!function)
		function = add(names, process, &key);
	if (function)
		function->used = true;
	return function;
}

uint32_t python_names_see(struct python_names *names, pid_t pid,
			  const struct python_objects *objects, uint64_t *frames, uint32_t nr)
{
	struct process_functions *process = NULL;
	uint32_t kept = 0;

	while (kept < nr && !FRAME_IS_PYTHON(frames[kept]))
		kept++;
	if (kept + 1 < nr)
		process = process_of(names, pid);
	if (process && objects) {
		process->has_objects = true;
		process->objects = *objects;
	}
	for (uint32_t i = kept; i + 1 < nr; i += 2) {
		const struct function *function =
			process ? function_of(names, process, &frames[i]) : NULL;

		frames[kept++] =
			(frames[i] & ~PYTHON_LOW(~0ULL)) | (function ? function->number : 0);
	}
	return kept;
}

const struct python_code *python_names_get(const struct python_names *names, uint64_t number)
{
	const struct function *function = numbered(names, number);

	return function && function->code.name ? &function->code : NULL;
}

/* _Py_InitCleanup, of 3.12 on: code between a class and its __init__() */
bool python_names_is_hidden(const struct python_code *code)
{
	return code && !code->first_line && !strcmp(code->file, "__init__") &&
	       !strcmp(code->name, "__init__");
}
