// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/thread_state.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

static const struct {
	char letter;
	uint32_t mask; /* of task_struct.__state, include/linux/sched.h */
} states[] = {
	[THREAD_RUNNABLE] = { 'R', 0 },          [THREAD_SLEEPING] = { 'S', 0x1 },
	[THREAD_UNINTERRUPTIBLE] = { 'D', 0x2 }, [THREAD_STOPPED] = { 'T', 0x4 },
	[THREAD_TRACED] = { 't', 0x8 },          [THREAD_PARKED] = { 'P', 0x40 },
	[THREAD_IDLE] = { 'I', 0x2 | 0x400 },
};
_Static_assert(sizeof(states) / sizeof(states[0]) == NR_THREAD_STATES, "a letter for each state");

char thread_state_letter(enum thread_state state)
{
	return (unsigned)state < NR_THREAD_STATES ? states[state].letter : '?';
}

static bool parse_mask(const char *text, uint32_t *wanted)
{
	uint32_t known = 0;
	unsigned long mask;
	char *end;

	errno = 0;
	mask = strtoul(text, &end, 0);
	if (errno || *end)
		return false;
	*wanted = mask ? 0 : 1U << THREAD_RUNNABLE;
	for (int i = 0; i < NR_THREAD_STATES; i++) {
		known |= states[i].mask;
		if (states[i].mask & mask)
			*wanted |= 1U << i;
	}
	return !(mask & ~(unsigned long)known);
}

bool thread_states_parse(const char *text, uint32_t *wanted)
{
	uint32_t found = 0;

	if (isdigit((unsigned char)*text)) {
		if (!parse_mask(text, &found))
			return false;
		*wanted = found;
		return true;
	}
	for (; *text; text++) {
		int i = 0;

		while (i < NR_THREAD_STATES && states[i].letter != *text)
			i++;
		if (i < NR_THREAD_STATES)
			found |= 1U << i;
		else if (*text != ',' || !found || !text[1])
			return false;
	}
	*wanted = found;
	return found;
}
