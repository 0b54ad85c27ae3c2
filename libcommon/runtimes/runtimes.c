// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/runtimes.h"

#include <stdlib.h>
#include <string.h>

#include "runtimes/hotspot/hotspot.h"
#include "runtimes/python/python.h"

const struct runtime *const all_runtimes[] = {
	&python_runtime,
	&hotspot_runtime,
	NULL,
};

#define NR_RUNTIMES (sizeof(all_runtimes) / sizeof(all_runtimes[0]) - 1)
_Static_assert(NR_RUNTIMES <= MAX_RUNTIMES, "struct publication has room for all");

/* its number in the table; NR_RUNTIMES: it is none of a runtime */
static size_t number_of(uint64_t frame)
{
	size_t i = 0;

	while (i < NR_RUNTIMES && (frame & all_runtimes[i]->frames_mask) != all_runtimes[i]->frames)
		i++;
	return i;
}

const struct runtime *runtime_of_frame(uint64_t frame)
{
	return all_runtimes[number_of(frame)];
}

const struct runtime *runtime_named(const char *name)
{
	size_t i = 0;

	while (i < NR_RUNTIMES && strcmp(all_runtimes[i]->name, name))
		i++;
	return all_runtimes[i];
}

/* ---- names ---- */

struct runtime_names {
	void *of[NR_RUNTIMES];
};

struct runtime_names *runtime_names_new(void)
{
	struct runtime_names *names = calloc(1, sizeof(*names));

	for (size_t i = 0; names && i < NR_RUNTIMES; i++) {
		names->of[i] = all_runtimes[i]->names_new();
		if (!names->of[i]) {
			runtime_names_free(names);
			return NULL;
		}
	}
	return names;
}

void runtime_names_free(struct runtime_names *names)
{
	for (size_t i = 0; names && i < NR_RUNTIMES; i++)
		if (names->of[i])
			all_runtimes[i]->names_free(names->of[i]);
	free(names);
}

uint32_t runtime_names_see(struct runtime_names *names, const struct runtime_process *processes,
			   struct foreign *foreign, pid_t pid, uint64_t *frames, uint32_t nr)
{
	static const struct runtime_process none;

	for (size_t i = 0; i < NR_RUNTIMES; i++)
		nr = all_runtimes[i]->see(names->of[i], processes ? &processes[i] : &none, foreign,
					  pid, frames, nr);
	return nr;
}

void runtime_names_use(void *arg, const uint64_t *frames, uint32_t nr)
{
	struct runtime_names *names = arg;

	for (uint32_t i = 0; i < nr; i++) {
		size_t number = number_of(frames[i]);

		if (number < NR_RUNTIMES && all_runtimes[number]->use)
			all_runtimes[number]->use(names->of[number], frames[i]);
	}
}

void runtime_names_forget(void *arg)
{
	struct runtime_names *names = arg;

	for (size_t i = 0; i < NR_RUNTIMES; i++)
		if (all_runtimes[i]->forget)
			all_runtimes[i]->forget(names->of[i]);
}

void runtime_names_follow(struct runtime_names *names, struct foreign *foreign)
{
	for (size_t i = 0; i < NR_RUNTIMES; i++)
		if (all_runtimes[i]->follow)
			all_runtimes[i]->follow(names->of[i], foreign);
}

void runtime_names_settle(struct runtime_names *names, struct foreign *foreign, int ms)
{
	for (size_t i = 0; i < NR_RUNTIMES; i++)
		if (all_runtimes[i]->settle)
			all_runtimes[i]->settle(names->of[i], foreign, ms);
}

const void *runtime_names_of(const struct runtime_names *names, size_t i)
{
	return names->of[i];
}

size_t runtime_names_find(const struct runtime_names *names, uint64_t frame,
			  struct runtime_function *functions, size_t max)
{
	size_t i = number_of(frame);

	return i < NR_RUNTIMES ? all_runtimes[i]->find(names->of[i], frame, functions, max) : 0;
}
