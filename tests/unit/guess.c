// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guesses for frames without a rule, on code and stacks made by hand: the bytes as GNU as assembles
 * what stands beside.
 */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "made_memory.h"
#include "walk/walk.bpf.h"

static struct user_walk unwind;

/*
 * the leaf at CODE + pc with rsp = STACK, on code of a file or of none, and nothing known about it
 */
static struct user_walk *leaf(uint32_t pc, uint16_t module_id)
{
	unwind = (struct user_walk){ .end_if_wrong = END_NO_ROW };
	unwind.frame.known = KNOWN_ALL;
	unwind.frame.ip = unwind.last_ip = CODE + pc;
	unwind.frame.reg[0] = 1;
	unwind.frame.reg[EH_RSP] = STACK;
	unwind.stack.nr_frames = 1;
	unwind.mapping = (struct published_mapping){ .start = CODE,
						     .end = CODE + sizeof(code),
						     .module_id = module_id };
	return &unwind;
}

/* does the instruction that ends at CODE + 64 count as a call? */
static bool call(const char *bytes, size_t nr, uint16_t module_id)
{
	memset(code, 0x90, sizeof(code));
	memcpy(code + 64 - nr, bytes, nr);
	return follows_call(leaf(0, module_id), CODE + 64);
}

#define CALLED_BY(bytes, module_id) call(bytes, sizeof(bytes) - 1, module_id)

static void calls(void)
{
	check(CALLED_BY("\xe8\x01\x02\x03\x04", 1), "call rel32");
	check(CALLED_BY("\xff\xd0", 1), "call *%%rax");
	check(CALLED_BY("\x41\xff\xd3", 1), "call *%%r11");
	check(CALLED_BY("\xff\x53\x08", 1), "call *8(%%rbx)");
	check(CALLED_BY("\xff\x14\xc8", 1), "call *(%%rax,%%rcx,8)");
	check(CALLED_BY("\xff\x54\x24\x10", 1), "call *16(%%rsp)");
	check(CALLED_BY("\xff\x15\x01\x02\x03\x04", 1), "call *0x4030201(%%rip)");
	check(CALLED_BY("\xff\x94\x24\x80\x01\x00\x00", 1), "call *0x180(%%rsp)");

	check(!CALLED_BY("\xe9\x01\x02\x03\x04", 1), "jmp rel32");
	check(!CALLED_BY("\xff\xe0", 1), "jmp *%%rax");
	check(!CALLED_BY("\xff\x25\x01\x02\x03\x04", 1), "jmp *0x4030201(%%rip)");
	check(!CALLED_BY("\xff\x33", 1), "push (%%rbx)");
	check(!follows_call(leaf(0, 1), CODE + 4), "part of the bytes cannot be read");

	/* OpenJDK 17's dispatch_base() */
	check(CALLED_BY("\x41\xff\x24\xda", 0), "jmp *(%%r10,%%rbx,8) in code of no file");
	check(!CALLED_BY("\x41\xff\x24\xda", 1), "a file's");
}

/* the caller at CODE + 64 behind a call, the callee at CODE + 128 */
static void put_code(const char *callee, size_t nr)
{
	memset(code, 0x90, sizeof(code));
	memcpy(code + 59, "\xe8\x40\x00\x00\x00", 5); /* call CODE + 128 */
	memcpy(code + 128, callee, nr);
	memset(stack, 0, sizeof(stack));
}

static void by_return_address(void)
{
	struct user_walk *u;

	put_code("\xc3", 1);
	stack[0] = CODE + 64;
	u = leaf(128, 0);
	check(!leave_by_guess(u) && u->frame.ip == CODE + 64 && u->frame.reg[EH_RSP] == STACK + 8,
	      "at ret");
	check(u->guessed && u->frame.by_call && u->frame.known == KNOWN_ALL && !u->by_fp);
	stack[0] = CODE + 63;
	u = leaf(128, 0);
	check(leave_by_guess(u) && u->end == END_NO_ROW, "the word on top is no return address");

	put_code("\x90\xc3", 2);
	stack[0] = CODE + 64;
	u = leaf(128, 0);
	check(!leave_by_guess(u) && u->frame.ip == CODE + 64,
	      "at the first instruction of what is called");
	u = leaf(128, 0);
	u->stack.nr_frames = 2;
	check(leave_by_guess(u) && u->end == END_NO_ROW,
	      "what has made a call itself has pushed, too");
	code[60] += 64;
	u = leaf(128, 0);
	check(leave_by_guess(u) && u->end == END_NO_ROW, "the call leads past the pc");
}

/*
 * where a frame pointer is kept, but is not set: by the code around the leaf's pc, whose first byte
 * stands before it
 */
static void around_frames(void)
{
	static const struct {
		const char *code;
		size_t nr;
		int words; /* on the return address; -1: not known */
		const char *what;
	} places[] = {
		{ "\x90\x55\x48\x89\xe5", 5, 0, "push %%rbp; mov %%rsp, %%rbp" },
		{ "\x55\x48\x89\xe5", 4, 1, "behind the push" },
		{ "\x55\x48\x8b\xec", 4, 1, "behind the push, in HotSpot's encoding" },
		{ "\x90\x55\x48\x83\xec\x08", 6, -1, "push %%rbp, as any other register" },
		{ "\x5d\xe9\x00\x00\x00\x00", 6, 0, "a tail call" },
		{ "\x5d\xff\xe0", 3, 0, "a tail call through a register" },
		{ "\x5d\xff\xd0", 3, -1, "a call" },
		{ "\xcc\x48\x85\xff", 4, 0, "behind padding, aligned" },
	};
	struct user_walk *u;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int words = places[i].words;

		put_code("\x90", 1);
		memcpy(code + 62, "\xff\xd0", 2); /* call *%rax */
		memcpy(code + 239, places[i].code, places[i].nr);
		stack[0] = words == 1 ? 0x1234 : CODE + 64;
		stack[1] = CODE + 64;
		u = leaf(240, 0);
		u->frame.reg[EH_RBP] = 0x5678;
		check(leave_by_guess(u) == (words < 0), "%s", places[i].what);
		check(words < 0 || (u->frame.ip == CODE + 64 &&
				    u->frame.reg[EH_RSP] == STACK + 8 * words + 8 &&
				    u->frame.reg[EH_RBP] == (words ? 0x1234 : 0x5678)),
		      "%s", places[i].what);
		u = leaf(240, 0);
		u->stack.nr_frames = 2;
		check(leave_by_guess(u), "%s: but of the leaf only", places[i].what);
	}
}

/* STACK + 16 holds a saved rbp and a return address */
static struct user_walk *frame_pointer(uint64_t rbp)
{
	struct user_walk *u = leaf(128, 0);

	put_code("\x90", 1);
	stack[2] = STACK + 128;
	stack[3] = CODE + 64;
	u->stack.nr_frames = 2;
	u->frame.reg[EH_RBP] = rbp;
	return u;
}

static void by_frame_pointer(void)
{
	struct user_walk *u = frame_pointer(STACK + 16);

	check(!leave_by_guess(u) && u->frame.ip == CODE + 64 && u->frame.reg[EH_RSP] == STACK + 32);
	check(u->frame.reg[EH_RBP] == STACK + 128 && u->by_fp && u->guessed);
	check(u->frame.known == (1 << EH_RSP | 1 << EH_RBP),
	      "the other registers may have changed");

	check(leave_by_guess(frame_pointer(STACK + 17)), "not aligned");
	check(leave_by_guess(frame_pointer(STACK + sizeof(stack))), "unreadable");
	check(leave_by_guess(frame_pointer(STACK + 24)), "no return address");
	u = frame_pointer(STACK + 16);
	u->frame.reg[EH_RSP] = STACK + 24;
	check(leave_by_guess(u) && u->end == END_NO_ROW, "down the stack");
	u->frame.known = 1 << EH_RSP | 1 << EH_RBP;
	check(!leave_by_guess(u), "once on frame pointers, another stack is as good");
	u = frame_pointer(STACK + 16);
	u->frame.known &= ~(1 << EH_RBP);
	check(leave_by_guess(u), "not known");
	u = frame_pointer(STACK + 16);
	u->rule.flags = RULE_FROM_CODE;
	check(leave_by_guess(u) && u->end == END_NO_ROW, "the code says that it keeps none");

	u = frame_pointer(STACK + 16);
	check(!leave_without_rule(u), "the file's code has rules, but none here");
	u = frame_pointer(STACK + 16);
	u->module.pending = NO_CODE_TABLE;
	check(leave_without_rule(u) && u->end == END_NO_TABLE,
	      "nothing is known of the file's code");
	u->module.entry_end = sizeof(code);
	check(leave_without_rule(u) && u->end == END_COMPLETE, "the entry point needs no rule");

	u = frame_pointer(0);
	check(leave_by_guess(u) && u->end == END_NO_ROW);
	u = frame_pointer(0);
	u->frame.known = 1 << EH_RSP | 1 << EH_RBP;
	check(leave_by_guess(u) && u->end == END_COMPLETE, "the psABI's outermost frame");
}

static void new_thread(void)
{
	struct user_walk *u;

	put_code("\x0f\x05\x90", 3); /* syscall */
	u = leaf(130, 1);
	u->frame.reg[0] = 0;
	check(leave_by_guess(u) && u->end == END_COMPLETE, "clone has returned 0");
	check(leave_by_guess(leaf(130, 1)) && unwind.end == END_NO_ROW, "1");
	u = leaf(131, 1);
	u->frame.reg[0] = 0;
	check(leave_by_guess(u) && u->end == END_NO_ROW, "not behind a system call");
	u = leaf(130, 1);
	u->frame.reg[0] = 0;
	u->stack.nr_frames = 2;
	check(leave_by_guess(u) && u->end == END_NO_ROW, "not the leaf");
}

int main(void)
{
	calls();
	by_return_address();
	around_frames();
	by_frame_pointer();
	new_thread();
	return check_done();
}
