// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/demangle.h"

#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h> /* of Fedora's binutils-devel */
#endif
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf/bounded_child.h"

/* a request is a name; a reply is one of these and, behind DEMANGLED, the name without NUL */
enum reply { DEMANGLED = 'd', AS_IT_IS = 'a', TOO_LONG = 'l' };

/* for a child that does not get the CPU at all */
#define REPLY_TIMEOUT_MS 2000

_Static_assert(DEMANGLE_MAX_MANGLED <= BOUNDED_MAX_REQUEST && DEMANGLE_MAX_NAME < BOUNDED_MAX_REPLY,
	       "a name is one message");

static struct {
	pthread_mutex_t lock;
	struct bounded_child child;
	bool begun; /* there are no others but these: */
	struct bounded_child spare[DEMANGLE_MAX_OVERRUNS];
	unsigned nr_spare;
	unsigned overruns;
	uint64_t refused;
} demangler = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- in the child ---- */

static size_t answer(void *arg, const char *mangled, size_t size, char *reply, size_t max)
{
	char *name = cplus_demangle(mangled, mangled[1] == 'D' ? DMGL_DLANG : DMGL_AUTO);
	size_t length = 0;

	(void)arg;
	(void)size;
	(void)max;
	reply[0] = AS_IT_IS;
	if (name) {
		length = strnlen(name, DEMANGLE_MAX_NAME);
		reply[0] = length < DEMANGLE_MAX_NAME ? DEMANGLED : TOO_LONG;
		length = reply[0] == DEMANGLED ? length : 0;
		memcpy(reply + 1, name, length);
		free(name);
	}
	return 1 + length;
}

/* ---- in the tool ---- */

static bool start_one(struct bounded_child *child)
{
	static const struct bounded_work work = {
		.max_bytes = DEMANGLE_MAX_BYTES,
		.reply_ms = REPLY_TIMEOUT_MS,
		.answer = answer,
		.answer_ms = DEMANGLE_CPU_MS,
	};

	return bounded_child_start(child, &work);
}

static bool start(void)
{
	if (!demangler.begun)
		return start_one(&demangler.child);
	if (!demangler.child.pid && demangler.nr_spare)
		demangler.child = demangler.spare[--demangler.nr_spare];
	return demangler.child.pid;
}

/* What takes too much CPU has ended, and all others end with this process. */
static void stop(void)
{
	if (demangler.begun)
		demangler.child = (struct bounded_child){};
	else
		bounded_child_stop(&demangler.child);
}

static char *ask_or_give_up(const char *mangled, size_t length)
{
	char reply[1 + DEMANGLE_MAX_NAME];
	size_t got = bounded_child_ask(&demangler.child, mangled, length, reply, sizeof(reply));

	if (!got) {
		demangler.overruns++;
		stop();
	}
	if (!got || reply[0] == TOO_LONG)
		demangler.refused++;
	return got && reply[0] == DEMANGLED ? strndup(reply + 1, got - 1) : NULL;
}

/*
 * what the demanglers start with: _Z (C++, Rust), _R (Rust v0), _D and a number (D), _GLOBAL__ (of
 * C++)
 */
static bool looks_mangled(const char *name)
{
	if (name[0] != '_')
		return false;
	return name[1] == 'Z' || name[1] == 'R' ||
	       (name[1] == 'D' && name[2] >= '0' && name[2] <= '9') ||
	       !strncmp(name, "_GLOBAL_", 8);
}

char *demangle(const char *mangled)
{
	char *name = NULL;
	size_t length;

	if (!looks_mangled(mangled))
		return NULL;
	length = strnlen(mangled, DEMANGLE_MAX_MANGLED + 1);
	pthread_mutex_lock(&demangler.lock);
	if (length > DEMANGLE_MAX_MANGLED ||
	    (demangler.overruns >= DEMANGLE_MAX_OVERRUNS && length > DEMANGLE_SHORT))
		demangler.refused++;
	else if (start())
		name = ask_or_give_up(mangled, length);
	else
		demangler.refused++;
	pthread_mutex_unlock(&demangler.lock);
	return name;
}

void demangle_prepare(void)
{
	pthread_mutex_lock(&demangler.lock);
	start();
	pthread_mutex_unlock(&demangler.lock);
}

uint64_t demangle_refused(void)
{
	uint64_t refused;

	pthread_mutex_lock(&demangler.lock);
	refused = demangler.refused;
	pthread_mutex_unlock(&demangler.lock);
	return refused;
}

void demangle_begin(void)
{
	pthread_mutex_lock(&demangler.lock);
	demangler.child =
		(struct bounded_child){}; /* of the process that this one was forked from */
	for (int i = 0; i < DEMANGLE_MAX_OVERRUNS; i++)
		demangler.nr_spare += start_one(&demangler.spare[demangler.nr_spare]);
	demangler.begun = true;
	pthread_mutex_unlock(&demangler.lock);
}

void demangle_stop(void)
{
	pthread_mutex_lock(&demangler.lock);
	stop();
	pthread_mutex_unlock(&demangler.lock);
}
