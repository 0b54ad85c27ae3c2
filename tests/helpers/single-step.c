// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * single-step [-n INSTRUCTIONS] [-w EVERY] COMMAND...: steps through the program from its first instruction on and
 * asks our rules at each one who the caller is: its pc, and the CFA. The truth is a shadow stack, kept by watching
 * call instructions and the stack pointer: CFI has no part in it. At every 16th instruction (-w) the whole walk,
 * down to the program's entry, is compared with it too.
 *
 * Prints what was compared, each kind of disagreement with its first place, and for what our rules left open
 * the end reasons. Exit status 1: something was wrong.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unwind/end_reason.h"
#include "stopped.h"
#include "processes_abi.h"
#include "stacks_abi.h"

/* ---- the program's memory ---- */

static pid_t child;

#define NR_CODE_PAGES 8192
static struct code_page {
	uint64_t page;
	uint8_t bytes[4096];
} code_pages[NR_CODE_PAGES];

static const uint8_t *code_at(uint64_t pc)
{
	struct code_page *p = &code_pages[(pc >> 12) % NR_CODE_PAGES];

	if (p->page != pc >> 12) {
		p->page = pc >> 12;
		if (read_memory(child, p->bytes, 4096, pc & -4096) != 4096)
			p->page = 0;
	}
	return p->bytes + (pc & 4095);
}

/* call rel32, or call through a register or memory; an instruction that crosses pages is read as two */
static bool is_call(uint64_t pc)
{
	uint8_t bytes[6];

	for (int i = 0; i < 6; i++)
		bytes[i] = *code_at(pc + i);
	for (int i = 0; i < 5; i++) {
		switch (bytes[i]) {
		case 0x66: case 0xf2: case 0xf3: case 0x2e: case 0x3e: case 0x64: case 0x65: case 0x67: case 0x40 ... 0x4f:
			continue;	/* prefixes */
		case 0xe8:
			return true;
		case 0xff:
			return (bytes[i + 1] >> 3 & 7) == 2;
		default:
			return false;
		}
	}
	return false;
}

/* ---- the truth ---- */

struct call {
	uint64_t at;		/* where the return address lies; for a signal, the handler's first rsp */
	uint64_t caller, cfa;
	bool signal;		/* what is above it may be another stack */
};

#define MAX_CALLS 100000
static struct call calls[MAX_CALLS];
static size_t nr_calls;

static void push(struct call call)
{
	if (nr_calls == MAX_CALLS)
		exit(2);
	calls[nr_calls++] = call;
}

/* those that have returned: their return address lies below the stack */
static void prune(uint64_t rsp)
{
	while (nr_calls && !calls[nr_calls - 1].signal && calls[nr_calls - 1].at < rsp)
		nr_calls--;
}

static void called(uint64_t rsp)
{
	struct call call = { .at = rsp, .cfa = rsp + 8 };

	if (read_memory(child, &call.caller, 8, rsp) == 8)
		push(call);
}

/* ---- ours ---- */

static struct tables *tables;
static struct proc_maps maps;
static struct mapped_modules mapped;
static struct image_list list;

static void read_maps(void)
{
	struct eh_process header = { .image = { .tgid = child }, .generation = 1 };

	proc_maps_free(&maps);
	if (proc_maps_read(&maps, child) || image_make_tables(tables, &maps, &mapped) ||
	    image_write(tables, &maps, &mapped, &header, &list))
		exit(2);
}

static const struct proc_mapping *find_mapping_of(uint64_t pc)
{
	for (int tries = 0; tries < 2; tries++) {
		for (size_t i = 0; i < maps.nr; i++)
			if (pc >= maps.mappings[i].start && pc < maps.mappings[i].end)
				return &maps.mappings[i];
		read_maps();
	}
	return NULL;
}

/* ---- comparing ---- */

static unsigned long nr_instructions, nr_right, nr_wrong, nr_open[NR_END_REASONS], nr_walks, nr_wrong_walks;

static void complain(const char *what, const struct user_regs_struct *r, uint64_t theirs, uint64_t ours)
{
	const struct proc_mapping *m = find_mapping_of(r->rip);

	if (nr_wrong + nr_wrong_walks <= 20)
		printf("%s at %s+%#llx (rsp %#llx): expected %#lx, ours %#lx\n", what, m ? m->path : "?",
		       m ? r->rip - m->start + m->file_offset : r->rip, r->rsp, theirs, ours);
}

static void note_open(enum end_reason end, const struct user_regs_struct *r)
{
	const struct proc_mapping *m = find_mapping_of(r->rip);

	if (nr_open[end]++ < 5)
		printf("open: %s at %s+%#llx\n", end_reason_name(end), m ? m->path : "?",
		       m ? r->rip - m->start + m->file_offset : r->rip);
}

static void compare(const struct user_regs_struct *r, bool whole)
{
	struct host_registers registers = registers_of(r);
	struct host_memory memory = { .read = read_process_memory, .arg = &child };
	static struct host_stack stack;
	uint64_t expected = nr_calls ? calls[nr_calls - 1].caller : 0;

	find_mapping_of(r->rip);
	image_unwind(tables, list.loc, &registers, memory, whole ? MAX_DEPTH : 2, &stack);
	nr_instructions++;
	if (stack.nr < 2 && stack.end != END_COMPLETE) {
		note_open(stack.end, r);
		return;
	}
	if (!nr_calls || stack.nr < 2) {
		if (!nr_calls && stack.nr < 2)
			nr_right++;
		else if (++nr_wrong)
			complain(nr_calls ? "the stack ends" : "a caller where there is none", r, expected,
				 stack.nr < 2 ? 0 : address_of(&maps, &mapped, stack.frames[1]));
		return;
	}
	if (address_of(&maps, &mapped, stack.frames[1]) != expected) {
		nr_wrong++;
		complain("caller", r, expected, address_of(&maps, &mapped, stack.frames[1]));
		return;
	}
	if (stack.cfa != calls[nr_calls - 1].cfa) {
		nr_wrong++;
		complain("CFA", r, calls[nr_calls - 1].cfa, stack.cfa);
		return;
	}
	nr_right++;
	if (!whole)
		return;
	nr_walks++;
	for (size_t i = 1; i < stack.nr || i <= nr_calls; i++) {
		if (i < stack.nr && i <= nr_calls && address_of(&maps, &mapped, stack.frames[i]) == calls[nr_calls - i].caller)
			continue;
		if (i == stack.nr && stack.end != END_COMPLETE)
			note_open(stack.end, r);
		else if (++nr_wrong_walks)
			complain("walk", r, i <= nr_calls ? calls[nr_calls - i].caller : 0,
				 i < stack.nr ? address_of(&maps, &mapped, stack.frames[i]) : 0);
		return;
	}
}

/* ---- stepping ---- */

#define NR_RT_SIGRETURN 15

static void step_through(unsigned long max, unsigned every)
{
	struct user_regs_struct r, before = {};
	int status, signal = 0;
	bool call = false, returns = false;

	if (ptrace(PTRACE_GETREGS, child, NULL, &r))
		exit(2);
	while (nr_instructions < max) {
		compare(&r, every && nr_instructions % every == 0);
		before = r;
		call = is_call(r.rip);
		returns = r.rax == NR_RT_SIGRETURN && code_at(r.rip)[0] == 0x0f && *code_at(r.rip + 1) == 0x05;
		do {
			if (ptrace(PTRACE_SINGLESTEP, child, NULL, signal) || waitpid(child, &status, 0) < 0)
				exit(2);
			if (!WIFSTOPPED(status))
				return;
			if (ptrace(PTRACE_GETREGS, child, NULL, &r))
				exit(2);
			/* a signal comes before the instruction: deliver it, and look where the handler begins */
			signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
			if (signal && (ptrace(PTRACE_SINGLESTEP, child, NULL, signal) || waitpid(child, &status, 0) < 0 ||
				       !WIFSTOPPED(status)))
				return;
			if (signal) {
				struct user_regs_struct interrupted = r;

				signal = 0;
				if (ptrace(PTRACE_GETREGS, child, NULL, &r))
					exit(2);
				if (r.rip != interrupted.rip && r.rip - interrupted.rip > 15) {
					push((struct call){ .at = r.rsp, .caller = interrupted.rip, .cfa = interrupted.rsp, .signal = true });
					called(r.rsp);
				}
				call = returns = false;
			}
		} while (signal);
		if (returns && nr_calls) {
			while (nr_calls && !calls[nr_calls - 1].signal)
				nr_calls--;
			nr_calls -= nr_calls > 0;
		}
		prune(r.rsp);
		if (call && r.rsp == before.rsp - 8)
			called(r.rsp);
	}
}

int main(int argc, char **argv)
{
	struct modules *modules = modules_new();
	struct slabs *slabs;
	unsigned long max = 1000000, open = 0;
	unsigned every = 16;
	int option, status;
	cpu_set_t one;

	while ((option = getopt(argc, argv, "+n:w:")) != -1) {
		if (option == 'n')
			max = strtoul(optarg, NULL, 10);
		else if (option == 'w')
			every = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	/* on one CPU a step is a quarter of the work: nobody has to be woken elsewhere */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	child = fork();
	if (child == 0) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(argv[optind], argv + optind);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status) || !modules ||
	    slabs_new(&slabs, (struct slab_source){ .add = plain_slab }) || tables_new(&tables, slabs, modules))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	read_maps();
	step_through(max, every);
	kill(child, SIGKILL);
	printf("%lu instructions, %lu right, %lu wrong; %lu whole walks, %lu wrong;", nr_instructions, nr_right, nr_wrong, nr_walks,
	       nr_wrong_walks);
	for (int end = 0; end < NR_END_REASONS; end++) {
		if (nr_open[end])
			printf(" %s %lu", end_reason_name(end), nr_open[end]);
		open += nr_open[end];
	}
	printf(" open %lu = %.4f %%\n", open, open * 100.0 / nr_instructions);
	return nr_wrong || nr_wrong_walks;
}
