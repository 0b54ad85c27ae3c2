// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * harmed: does what a changed return address would break, and prints what came of it: an exception through functions, setjmp,
 * vfork, contexts that take turns, a backtrace from within, dlsym() of the next library, and its own arguments.
 */
#include <csetjmp>
#include <cstdio>
#include <dlfcn.h>
#include <execinfo.h>
#include <stdexcept>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE extern "C" __attribute__((noipa, noinline))

NOINLINE void throws(int i)
{
	if (i % 2)
		throw std::runtime_error("odd");
}

NOINLINE int passes(int i)
{
	throws(i);
	return i + 1;
}

static jmp_buf place;

NOINLINE void jumps(int i)
{
	longjmp(place, i);
}

static ucontext_t loop, contexts[2];
static char stacks[2][65536];
static int turns;

NOINLINE int takes_turn(int which)
{
	swapcontext(&contexts[which], &loop);
	turns++;
	return which;
}

static void in_context(int which)
{
	for (;;)
		takes_turn(which);
}

NOINLINE int depth(int n)
{
	void *frames[64];
	int deep = n ? depth(n - 1) : backtrace(frames, 64);

	asm volatile("" : : : "memory");	/* no tail call */
	return deep;
}

int main(int argc, char **argv)
{
	volatile int caught = 0, jumped = 0, children = 0;
	int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts");

	for (int i = 0; i < 50; i++) {
		try {
			passes(i);
		} catch (const std::exception &) {
			caught = caught + 1;
		}
		if (!setjmp(place))
			jumps(1);
		else
			jumped = jumped + 1;
	}
	for (int i = 0; i < 5; i++) {
		pid_t pid = vfork();
		int status;

		if (!pid)
			_exit(7);
		waitpid(pid, &status, 0);
		children = children + (WEXITSTATUS(status) == 7);
	}
	for (int i = 0; i < 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		makecontext(&contexts[i], (void (*)())in_context, 1, i);
	}
	for (int i = 0; i < 40; i++)
		swapcontext(&loop, &contexts[i % 2]);
	printf("%d arguments, the last %s, the next puts %s\n", argc, argv[argc - 1], next ? "found" : "missing");
	printf("%d caught, %d jumped, %d children, %d turns, %d frames deep\n", caught, jumped, children, turns, depth(5));
	return 3;
}
