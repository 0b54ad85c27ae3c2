/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The truth about who called whom, in one thread that is stepped through: kept by watching its
 * instructions and its stack pointer, no unwinding has a part in it. Return addresses come by call
 * instructions, by signals, and in code of no file by a push (HotSpot's interpreter pushes them and
 * jumps); they go when the stack pointer is above them. A file's code that pops one may put it
 * back: OCaml 4's caml_c_call stores it elsewhere, too, and moves the stack pointer down again
 * before it jumps to C.
 *
 * Go: a goroutine's calls are a list of its own, known by its g. Its stack can move, so places on
 * it are kept as distances from its end. What runs elsewhere on its behalf (systemstack, C code)
 * stands above its calls in the same list. When the stack pointer has changed stacks, the next
 * transfer tells why: a call goes on from what was left, a return or a jump goes back to what was
 * left earlier. With one P (GOMAXPROCS=1) another thread can run a goroutine only while this one is
 * in a system call: what we knew of it is forgotten then.
 *
 * OCaml 5: OCaml's code runs on a stack of its own, a fiber's, which can move when it grows, and
 * calls C on the thread's. As one calls the other, all their calls are in one list; of several
 * fibers nothing is known.
 */
#ifndef EHPERF_SHADOW_STACK_H
#define EHPERF_SHADOW_STACK_H

#include <stdbool.h>
#include <stdlib.h>

#include "stopped.h"

struct call {
	/* where the return address lies; on_goroutine: the distance from the stack's end */
	uint64_t at;
	uint64_t caller;
	bool on_goroutine;
	bool signal;    /* at: the handler's first rsp; caller: what was interrupted, */
	bool switching; /* maybe in a change of stacks */
	uint64_t interrupted_rsp;
};

#define MAX_CALLS 100000

struct calls {
	struct call *call;
	size_t nr;
	bool floor;             /* below the first is more that is not known */
	unsigned long syscalls; /* when it was left */
};

struct goroutine {
	uint64_t g, low, high;
	struct calls calls;
};

#define MAX_GOROUTINES 4096

enum transfer { TRANSFER_NONE, TRANSFER_CALL, TRANSFER_RETURN, TRANSFER_JUMP };

struct shadow {
	pid_t tid;
	struct calls first;                                  /* of what ran before any goroutine */
	struct calls *calls;                                 /* the current list, one of */
	struct goroutine goroutines[MAX_GOROUTINES], *owner; /* theirs, or NULL: first's */
	struct goroutine fiber; /* OCaml's stack; its calls are in the list of the thread's */
	uint64_t rsp;           /* at the last instruction */
	size_t nr_goroutines, nr_signals;
	bool on_goroutine; /* rsp is on the owner's stack */
	bool switching;    /* from the change of stacks until the next transfer */
	unsigned long syscalls;
	/*
	 * the top's return address, not by a return: it stays the caller's until the next transfer
	 */
	bool popped;
	/* where code of no file has pushed a return address for a jump that is to come */
	uint64_t pushed_at;
	/* a return address that code of no file has popped, to jump to it or to push it again */
	uint64_t in_register;
	/* one that code of no file has copied off the stack, to push it again below */
	uint64_t copied;
};

static inline struct call *shadow_top(const struct shadow *s)
{
	return s->calls->nr ? &s->calls->call[s->calls->nr - 1] : NULL;
}

static inline uint64_t shadow_at(const struct shadow *s, const struct call *c)
{
	return c->on_goroutine ? s->owner->high - c->at : c->at;
}

static inline uint64_t shadow_cfa(const struct shadow *s, const struct call *c)
{
	return c->signal ? c->interrupted_rsp : shadow_at(s, c) + 8;
}

static inline void shadow_push(struct calls *calls, struct call call)
{
	if (calls->nr == MAX_CALLS)
		exit(2);
	if ((calls->nr & (calls->nr - 1)) == 0)
		calls->call = realloc(calls->call, (calls->nr ? calls->nr * 2 : 1) * sizeof(call));
	calls->call[calls->nr++] = call;
}

/* the return address at rsp has just come there */
static inline void shadow_called(struct shadow *s, uint64_t rsp)
{
	struct call call = { .at = s->on_goroutine ? s->owner->high - rsp : rsp,
			     .on_goroutine = s->on_goroutine };

	if (read_memory(s->tid, &call.caller, 8, rsp) == 8)
		shadow_push(s->calls, call);
}

static inline void shadow_interrupted(struct shadow *s, const struct user_regs_struct *interrupted,
				      uint64_t rsp)
{
	shadow_push(s->calls, (struct call){ .at = rsp,
					     .caller = interrupted->rip,
					     .signal = true,
					     .switching = s->switching,
					     .interrupted_rsp = interrupted->rsp });
	s->nr_signals++;
	s->on_goroutine = s->switching = false;
	shadow_called(s, rsp);
}

static inline bool is_go_heap(uint64_t addr)
{
	return addr >> 32 == 0xc0;
}

static inline bool is_on_fiber(const struct shadow *s, uint64_t rsp)
{
	return rsp > s->fiber.low && rsp <= s->fiber.high;
}

/* Back from a handler. Go's makes the code go on as if it had called asyncPreempt. */
static inline void shadow_signal_returned(struct shadow *s, const struct user_regs_struct *r)
{
	struct call *top, signal;
	uint64_t planted;

	while ((top = shadow_top(s)) && !top->signal)
		s->calls->nr--;
	if (!top)
		return;
	signal = *top;
	s->calls->nr--;
	s->nr_signals--;
	s->switching = signal.switching;
	s->on_goroutine =
		!s->nr_signals && s->owner && (is_go_heap(r->rsp) || is_on_fiber(s, r->rsp));
	if (r->rsp == signal.interrupted_rsp - 8 && r->rip != signal.caller &&
	    read_memory(s->tid, &planted, 8, r->rsp) == 8 && planted == signal.caller)
		shadow_called(s, r->rsp);
}

/* those that have returned: their return address lies below the stack */
static inline void shadow_prune(struct shadow *s, uint64_t rsp)
{
	struct call *top;

	while ((top = shadow_top(s)) && !top->signal && top->on_goroutine == s->on_goroutine &&
	       shadow_at(s, top) < rsp)
		s->calls->nr--;
}

/* the g that runs, by thread-local storage, as Go's ABI has it */
static inline struct goroutine *running_goroutine(struct shadow *s,
						  const struct user_regs_struct *r)
{
	struct goroutine *found = NULL;
	uint64_t g, bounds[2];

	if (read_memory(s->tid, &g, 8, r->fs_base - 8) != 8 ||
	    read_memory(s->tid, bounds, 16, g) != 16 || r->rsp < bounds[0] || r->rsp > bounds[1])
		return NULL;
	for (size_t i = 0; i < s->nr_goroutines && !found; i++)
		if (s->goroutines[i].g == g)
			found = &s->goroutines[i];
	if (!found && s->nr_goroutines < MAX_GOROUTINES)
		found = &s->goroutines[s->nr_goroutines++];
	if (found)
		*found = (struct goroutine){ g, bounds[0], bounds[1], found->calls };
	return found;
}

#define CAML_CURRENT_STACK 0x28 /* in Caml_state, which r14 points to in OCaml's code */
/* in struct stack_info, at the stack's low end: where its high end is */
#define CAML_STACK_HANDLER 0x10
/* bytes; nothing that goes on on its stack adds more to rsp or takes it off */
#define LEAST_JUMP 65536

/*
 * Has the stack pointer gone to an OCaml fiber's stack, by the runtime's ABI? Notes where that lies
 * by now.
 */
static inline bool has_gone_to_fiber(struct shadow *s, const struct user_regs_struct *r)
{
	uint64_t stack, handler;

	if (is_on_fiber(s, r->rsp) && s->on_goroutine)
		return true;
	if (is_go_heap(r->rsp) || r->rsp - s->rsp + LEAST_JUMP < 2 * LEAST_JUMP ||
	    read_memory(s->tid, &stack, 8, r->r14 + CAML_CURRENT_STACK) != 8 ||
	    read_memory(s->tid, &handler, 8, stack + CAML_STACK_HANDLER) != 8 || r->rsp <= stack ||
	    r->rsp > handler)
		return false;
	s->fiber.low = stack;
	s->fiber.high = handler;
	return true;
}

/* the stack pointer may have gone to another stack; a handler's is its own affair */
static inline void shadow_moved(struct shadow *s, const struct user_regs_struct *r)
{
	bool on_fiber = !s->nr_signals && has_gone_to_fiber(s, r),
	     on_goroutine = is_go_heap(r->rsp) || on_fiber;
	struct goroutine *g;

	s->rsp = r->rsp;
	if (on_fiber && !s->on_goroutine)
		s->owner = &s->fiber;
	if (s->nr_signals ||
	    (on_goroutine == s->on_goroutine &&
	     (!on_goroutine || (r->rsp >= s->owner->low && r->rsp <= s->owner->high))))
		return;
	g = on_fiber ? s->owner : NULL;
	if (on_goroutine && !on_fiber)
		g = running_goroutine(s, r);
	if (on_goroutine && !g)
		return;
	s->on_goroutine = on_goroutine;
	s->switching = true;
	if (!g || g == s->owner)
		return;
	s->calls->syscalls = s->syscalls;
	s->owner = g;
	s->calls = &g->calls;
	if (g->calls.nr && g->calls.syscalls != s->syscalls) {
		g->calls.nr = 0;
		g->calls.floor = true;
	}
}

/* the first transfer after a change of stacks */
static inline void shadow_arrived(struct shadow *s, enum transfer by, uint64_t rsp)
{
	struct call *top;

	s->switching = false;
	if (by == TRANSFER_CALL)
		return;
	while ((top = shadow_top(s)) && !top->signal && top->on_goroutine != s->on_goroutine)
		s->calls->nr--;
	shadow_prune(s, rsp);
	/* a new goroutine's function finds goexit as its caller */
	if (!s->calls->nr && s->on_goroutine && !s->calls->floor && by == TRANSFER_JUMP)
		shadow_called(s, rsp);
}

#endif
