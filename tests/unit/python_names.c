// SPDX-License-Identifier: GPL-2.0-or-later
/* Python functions get numbers, and are forgotten when no stack has them. */
#include "runtimes/python/python_names.h"
#include "runtimes/python_abi.h"
#include "check.h"

#define MAX_OF_PROCESS 25000 /* python_names.c */

/* the number that a function of this process gets */
static uint64_t see(struct python_names *names, pid_t pid, uint64_t code)
{
	uint64_t frames[] = { FRAME_PYTHON | code, FRAME_PYTHON | 1 };

	return python_names_see(names, pid, NULL, frames, 2) == 1 ? PYTHON_LOW(frames[0]) : 0;
}

/* How many of so many functions, which were not seen before, get a number */
static unsigned see_new(struct python_names *names, pid_t pid, unsigned nr)
{
	unsigned numbered = 0;

	for (unsigned i = 1; i <= nr; i++)
		numbered += see(names, pid, i) != 0;
	return numbered;
}

/* root's, but those from 10,000 on are of as many users as there are thousands */
static uint32_t user_of(pid_t pid)
{
	return pid < 10000 ? 0 : pid / 1000;
}

/* Processes of a user leave half of the room to others; so do a second user's. */
static void test_users(void)
{
	struct python_names *names = python_names_new(user_of);
	unsigned first = 0, second = 0;

	for (pid_t pid = 10000; pid < 10008; pid++)
		first += see_new(names, pid, MAX_OF_PROCESS);
	for (pid_t pid = 11000; pid < 11008; pid++)
		second += see_new(names, pid, MAX_OF_PROCESS);
	check(first == 50000 && second == 25000, "%u and %u", first, second);
	check(see_new(names, 12000, 10000) == 10000);
	check(see_new(names, 1, 20000) == 15000, "root has all that is left");
	python_names_free(names);
}

int main(void)
{
	struct python_names *names = python_names_new(user_of);
	uint64_t kept, other;
	unsigned lost = 0;

	check(names);
	kept = see(names, 1, 7);
	other = see(names, 2, 7);
	check(kept && other && kept != other);
	check(see(names, 1, 7) == kept);

	/* one process leaves room for others */
	check(see_new(names, 3, MAX_OF_PROCESS + 1000) == MAX_OF_PROCESS);
	check(see(names, 4, 1));

	/* processes come and go, with more functions in all than there is room for at a time */
	for (pid_t pid = 10; pid < 1000; pid++) {
		lost += 1000 - see_new(names, pid, 1000);
		python_names_use(names, kept);
		python_names_forget(names);
	}
	check(!lost);
	/* what a stack has is known, what none has gets a number that was not there before */
	check(see(names, 1, 7) == kept);
	check(see(names, 2, 7) > other);

	/* the process that had no room has it again */
	check(see_new(names, 3, 1000) == 1000);
	python_names_free(names);
	test_users();
	return check_done();
}
