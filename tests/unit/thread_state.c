// SPDX-License-Identifier: GPL-2.0-or-later
/* --state's texts; masks are those of include/linux/sched.h. */
#include "check.h"
#include "process/thread_state.h"

#define BIT(state) (1U << THREAD_##state)

int main(void)
{
	static const struct {
		const char *text;
		bool ok;
		uint32_t states;
	} cases[] = {
		{ "R", true, BIT(RUNNABLE) },
		{ "DS", true, BIT(UNINTERRUPTIBLE) | BIT(SLEEPING) },
		{ "T,t", true, BIT(STOPPED) | BIT(TRACED) },
		{ "PI", true, BIT(PARKED) | BIT(IDLE) },
		{ "0", true, BIT(RUNNABLE) },
		{ "1", true, BIT(SLEEPING) },
		{ "2", true,
		  /* TASK_IDLE is TASK_UNINTERRUPTIBLE | TASK_NOLOAD */
		  BIT(UNINTERRUPTIBLE) | BIT(IDLE) },
		{ "0x400", true, BIT(IDLE) },
		{ "0xc", true, BIT(STOPPED) | BIT(TRACED) },
		{ "", false },
		{ ",", false },
		{ ",D", false },
		{ "D,", false },
		{ "X", false },
		{ "s", false },
		{ "D S", false },
		{ "0x10000", false },
		{ "16", false },
		{ "1x", false },
		{ "-1", false },
		{ "99999999999999999999", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t states = 0;
		bool ok = thread_states_parse(cases[i].text, &states);

		check(ok == cases[i].ok && states == cases[i].states, "'%s': %d, %#x",
		      cases[i].text, ok, states);
	}
	return check_done();
}
