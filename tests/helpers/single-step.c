// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * single-step [-bv] [-a MILLISECONDS] [-n INSTRUCTIONS] [-s SKIPPED] [-t THREAD] [-w EVERY]
 * COMMAND...: steps through the program from its first instruction on, or from where it sends
 * itself a SIGTRAP (-b) or is after so many milliseconds (-a), or through the THREADth of the
 * threads that it creates (if that is no number: as many as it has created, in a run before, when
 * one takes this name; with -a, that long after its beginning), and asks our rules at each one
 * who the caller is: its pc, and the CFA; the first SKIPPED are only watched. The truth is a shadow
 * stack (shadow-stack.h): CFI has no part in it. At every 16th instruction (-w) the whole walk,
 * down to the entry, is compared with it too.
 *
 * Prints what was compared, each kind of disagreement with its first places (-v: all), and for what
 * our rules left open the end reasons. Exit status 1: something was wrong.
 */
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtimes/runtimes.h"
#include "unwind/end_reason.h"
#include "unwind/regions.h"
#include "shadow-stack.h"
#include "processes_abi.h"
#include "stacks_abi.h"

/* ---- the program's memory ---- */

static pid_t child; /* the thread that is followed */

static const struct proc_mapping *known_mapping_of(uint64_t pc);

/* code of no file, which may change */
static bool is_nobodys(uint64_t pc)
{
	const struct proc_mapping *m = known_mapping_of(pc);

	return m && !m->inode && m->path[0] != '[';
}

#define NR_CODE_PAGES 8192
static struct code_page {
	uint64_t page;
	bool changes;
	uint8_t bytes[4096];
} code_pages[NR_CODE_PAGES];

static const uint8_t *code_at(uint64_t pc)
{
	struct code_page *p = &code_pages[(pc >> 12) % NR_CODE_PAGES];

	if (p->page != pc >> 12 || p->changes) {
		p->page = pc >> 12;
		p->changes = !known_mapping_of(pc) || is_nobodys(pc);
		if (read_memory(child, p->bytes, 4096, pc & -4096) != 4096)
			p->page = 0;
	}
	return p->bytes + (pc & 4095);
}

/*
 * what it does to the flow: call rel32, through a register or memory, …; an instruction that
 * crosses pages is read as two
 */
static enum transfer transfer_at(uint64_t pc)
{
	uint8_t bytes[7];

	for (int i = 0; i < 7; i++)
		bytes[i] = *code_at(pc + i);
	for (int i = 0; i < 6; i++) {
		switch (bytes[i]) {
		case 0x66:
		case 0xf2:
		case 0xf3:
		case 0x2e:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0x67:
		case 0x40 ... 0x4f:
			continue; /* prefixes */
		case 0xe8:
			return TRANSFER_CALL;
		case 0xe9:
		case 0xeb:
			return TRANSFER_JUMP;
		case 0xc2:
		case 0xc3:
			return TRANSFER_RETURN;
		case 0xff:
			switch (bytes[i + 1] >> 3 & 7) {
			case 2:
				return TRANSFER_CALL;
			case 4:
				return TRANSFER_JUMP;
			}
			return TRANSFER_NONE;
		default:
			return TRANSFER_NONE;
		}
	}
	return TRANSFER_NONE;
}

static bool is_syscall(uint64_t pc)
{
	return code_at(pc)[0] == 0x0f && *code_at(pc + 1) == 0x05;
}

static struct shadow shadow;

/* ---- ours ---- */

static struct tables *tables;
static struct proc_maps maps;
static struct mapped_modules mapped;
static struct mapping_list list;

static struct runtime_process generator; /* .runtime NULL: none generates code */
static struct regions regions;

static void find_generator(const struct runtime *runtime, struct published_runtimes *says)
{
	for (size_t i = 0; i < maps.nr && !generator.runtime; i++) {
		const struct module *module =
			modules_get(tables_modules(tables), mapped.of[i].module_id);

		generator.image = module ? runtime_image(&module->runtime, runtime) : NULL;
		if (!generator.image)
			continue;
		generator.runtime = runtime;
		if (runtime->process_new(&generator.own, tables_slabs(tables), child))
			exit(2);
		runtime->describe(&generator, says,
				  maps.mappings[i].start - maps.mappings[i].file_offset);
	}
}

static void find_runtimes(struct mapping_contents *contents)
{
	for (size_t i = 0; runtimes[i]; i++)
		if (runtimes[i]->code_module)
			find_generator(runtimes[i], &contents->runtimes);
	if (generator.runtime)
		contents->generated = generator.runtime->code_module(generator.own);
}

static void read_maps(void)
{
	static uint32_t generation;
	struct mapping_contents contents = {
		.image = { .tgid = child },
		.generation = ++generation,
		.maps = &maps,
		.mapped = &mapped,
		.regions = &regions,
	};

	proc_maps_free(&maps);
	if (proc_maps_read(&maps, child) || mapping_list_make_tables(tables, &maps, &mapped))
		exit(2);
	find_runtimes(&contents);
	if (mapping_list_write(tables, &contents, &list))
		exit(2);
}

static uint64_t number_of(const struct published_mapping *mapping)
{
	for (size_t i = 0; i < maps.nr; i++)
		if (maps.mappings[i].start == mapping->start)
			return maps.mappings[i].number;
	return 0;
}

static bool want_region(uint64_t pc)
{
	struct published_process *written = slabs_at(tables_slabs(tables), list.loc);
	struct published_mapping *mapping = written->mappings;
	bool given_up;

	regions_resume(&regions, tables);
	while (mapping->end <= pc)
		mapping++;
	return regions_want(&regions, tables, child, mapping, number_of(mapping), &given_up);
}

/* Walks, and makes what the walk wants in code of no file. */
static void walk(const struct host_registers *registers, uint32_t max_depth,
		 struct host_stack *stack)
{
	struct host_memory memory = { .read = read_process_memory,
				      .read_text = read_process_memory,
				      .arg = &child };

	if (generator.runtime && is_nobodys(registers->ip))
		generator.runtime->look(generator.own, NULL, clock_ns(), registers->ip, NULL, 0);
	do
		mapping_list_unwind(tables, list.loc, registers, memory, max_depth, stack);
	while (generator.runtime ? stack->wants_rows && generator.runtime->want(generator.own, NULL,
										stack->wants_rows)
				 : stack->wants_region && want_region(stack->wants_region));
}

static const struct proc_mapping *known_mapping_of(uint64_t pc)
{
	for (size_t i = 0; i < maps.nr; i++)
		if (pc >= maps.mappings[i].start && pc < maps.mappings[i].end)
			return &maps.mappings[i];
	return NULL;
}

static const struct proc_mapping *find_mapping_of(uint64_t pc)
{
	if (!known_mapping_of(pc))
		read_maps();
	return known_mapping_of(pc);
}

/* ---- comparing ---- */

/* the return address, the context */
#define SIGNAL_FRAME_RIP (8 + offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]))

static unsigned long nr_instructions, nr_right, nr_wrong, nr_open[NR_END_REASONS], nr_walks,
	nr_wrong_walks, nr_ended_at_switch;

static bool verbose;

static void complain(const char *what, const struct user_regs_struct *r, uint64_t theirs,
		     uint64_t ours)
{
	const struct proc_mapping *m = find_mapping_of(r->rip);

	if (verbose || nr_wrong + nr_wrong_walks <= 20)
		printf("%s at %s+%#llx (rsp %#llx): expected %#lx, ours %#lx\n", what,
		       m ? m->path : "?", m ? r->rip - m->start + m->file_offset : r->rip, r->rsp,
		       theirs, ours);
}

static void note_open(enum end_reason end, const struct user_regs_struct *r)
{
	const struct proc_mapping *m = find_mapping_of(r->rip);

	if (nr_open[end]++ < 5 || verbose)
		printf("open: %s at %s+%#llx\n", end_reason_name(end), m ? m->path : "?",
		       m ? r->rip - m->start + m->file_offset : r->rip);
}

/* before the change of stacks, or after it, where a new goroutine finds its first caller at rsp */
static bool is_switch_right(uint64_t caller, uint64_t rsp)
{
	const struct calls *lists[] = { shadow.calls, &shadow.first };
	uint64_t planted;

	if (!shadow.calls->nr && !shadow.calls->floor &&
	    read_memory(child, &planted, 8, rsp) == 8 && planted == caller)
		return true;
	for (int l = 0; l < 2; l++)
		for (size_t i = lists[l]->nr; i > 0 && i + 64 > lists[l]->nr; i--)
			if (lists[l]->call[i - 1].caller == caller)
				return true;
	return false;
}

/* true: nothing is known of the leaf's caller, or what is was looked at here */
static bool compare_odd_leaf(const struct user_regs_struct *r, const struct host_stack *stack)
{
	uint64_t ours = stack->nr < 2 ? 0 : address_of(&maps, &mapped, stack->frames[1]);

	if (shadow.switching)
		nr_wrong += ours && !is_switch_right(ours, r->rsp)
				    ? (complain("in a change of stacks", r, 0, ours), 1)
				    : 0;
	else if (shadow.in_register)
		nr_wrong += ours != shadow.in_register ? (complain("return address in a register",
								   r, shadow.in_register, ours),
							  1)
						       : 0;
	else
		return !shadow.calls->nr && shadow.calls->floor;
	return true;
}

/*
 * HotSpot overwrites the return address of a frame that it deoptimises or has made itself, and in
 * its signal handler the pc at which to go on: what lies there now is where the machine goes
 */
static void look_again(struct call *call)
{
	uint64_t at = call->signal ? call->at + SIGNAL_FRAME_RIP : shadow_at(&shadow, call), now;

	if (generator.runtime && (is_nobodys(call->caller) || !known_mapping_of(call->caller)) &&
	    read_memory(child, &now, 8, at) == 8 && is_nobodys(now))
		call->caller = now;
}

/*
 * A frame of ours and one of the truth are the same. Ours may stop where the stack changes, for a
 * reason that is no guess, and may go on with the goroutine's own frames below what it has called
 * elsewhere.
 */
static void compare_walk(const struct user_regs_struct *r, const struct host_stack *stack)
{
	const struct calls *calls = shadow.calls;
	size_t i = 1, t = calls->nr;

	nr_walks++;
	while (t && i < stack->nr) {
		look_again(&calls->call[t - 1]);
		if (address_of(&maps, &mapped, stack->frames[i]) != calls->call[t - 1].caller)
			break;
		i++, t--;
	}
	if (i == stack->nr && (!t || stack->end != END_COMPLETE)) {
		if (stack->end != END_COMPLETE)
			note_open(stack->end, r);
		return;
	}
	if (!t && calls->floor)
		return;
	if (i == stack->nr && t < calls->nr &&
	    calls->call[t - 1].on_goroutine != calls->call[t].on_goroutine) {
		nr_ended_at_switch++;
		return;
	}
	nr_wrong_walks++;
	complain("walk", r, t ? calls->call[t - 1].caller : 0,
		 i < stack->nr ? address_of(&maps, &mapped, stack->frames[i]) : 0);
}

static void compare(const struct user_regs_struct *r, bool whole)
{
	struct host_registers registers = registers_of(r);
	static struct host_stack stack;
	struct call *top = shadow_top(&shadow);

	if (top)
		look_again(top);
	/* of 4 frames the first two are the leaf's and its caller's, however deep the stack is */
	walk(&registers, whole ? MAX_DEPTH : 4, &stack);
	if (stack.nr < 2 && stack.end != END_COMPLETE) {
		note_open(stack.end, r);
		return;
	}
	if (compare_odd_leaf(r, &stack))
		return;
	if (!top || stack.nr < 2) {
		if (!top && stack.nr < 2)
			nr_right++;
		else if (++nr_wrong)
			complain(top ? "the stack ends" : "a caller where there is none", r,
				 top ? top->caller : 0,
				 stack.nr < 2 ? 0 : address_of(&maps, &mapped, stack.frames[1]));
		return;
	}
	if (address_of(&maps, &mapped, stack.frames[1]) != top->caller) {
		nr_wrong++;
		complain("caller", r, top->caller, address_of(&maps, &mapped, stack.frames[1]));
		return;
	}
	/*
	 * HotSpot's interpreter moves the return address down, to make room for locals above it,
	 * and up over the last argument of a method handle: the CFA stays
	 */
	if (stack.cfa != shadow_cfa(&shadow, top) &&
	    !(generator.runtime && is_nobodys(r->rip) &&
	      (stack.cfa > shadow_cfa(&shadow, top) ||
	       stack.cfa + 8 == shadow_cfa(&shadow, top)))) {
		nr_wrong++;
		complain("CFA", r, shadow_cfa(&shadow, top), stack.cfa);
		return;
	}
	nr_right++;
	if (whole)
		compare_walk(r, &stack);
}

/* ---- stepping ---- */

#define NR_RT_SIGRETURN 15

/* a thread that is not followed goes on, whatever it has stopped for */
static void go_on(pid_t tid, int status)
{
	bool ptraces = status >> 16 || WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGTRAP;

	if (WIFSTOPPED(status))
		ptrace(PTRACE_CONT, tid, NULL, ptraces ? 0 : WSTOPSIG(status));
}

static void let_others_run(void)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
		if (tid != child)
			go_on(tid, status);
}

static bool step(int signal, struct user_regs_struct *r, int *stopped_by)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, child, NULL, signal) || waitpid(child, &status, __WALL) < 0 ||
	    !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, child, NULL, r))
		return false;
	*stopped_by = WSTOPSIG(status);
	return true;
}

/*
 * Is this call none, but a way to put an address on the stack? HotSpot's call_VM() calls what
 * follows behind a jump, and that jump comes next: all within one frame.
 */
static bool is_within_frame(uint64_t at, uint64_t target)
{
	uint64_t next = at + 5;

	return code_at(at)[0] == 0xe8 && target > next &&
	       ((*code_at(next) == 0xeb && target == next + 2) ||
		(*code_at(next) == 0xe9 && target == next + 5));
}

/*
 * The call in a retpoline, before pause; lfence; jmp: it only puts a word on the stack, which is
 * overwritten or thrown away, and never returned to.
 */
static bool is_in_retpoline(uint64_t at)
{
	static const uint8_t behind[] = { 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9 };

	for (size_t i = 0; i < sizeof(behind); i++)
		if (*code_at(at + 5 + i) != behind[i])
			return false;
	return *code_at(at) == 0xe8;
}

/* pop of a register or into memory: sljit's fast calls lead there, within one frame */
static bool pops(uint64_t pc)
{
	uint8_t op = *code_at(pc);

	return (op == 0x41 ? *code_at(pc + 1) & 0xf8 : op & 0xf8) == 0x58 || op == 0x8f;
}

/* of jmp, not of one through a register or memory */
static bool is_direct(uint64_t pc)
{
	return code_at(pc)[0] == 0xe9 || code_at(pc)[0] == 0xeb;
}

/* push %rbp; mov %rsp,%rbp */
static bool makes_frame(uint64_t pc)
{
	return *code_at(pc) == 0x55 && *code_at(pc + 1) == 0x48 && *code_at(pc + 2) == 0x8b &&
	       *code_at(pc + 3) == 0xec;
}

/* mov (%rsp),%reg */
static bool copies_top_of_stack(uint64_t pc)
{
	const uint8_t *rex = code_at(pc);

	return (*rex == 0x48 || *rex == 0x4c) && *code_at(pc + 1) == 0x8b &&
	       (*code_at(pc + 2) & 0xc7) == 0x04 && *code_at(pc + 3) == 0x24;
}

#define NO_ADDRESS (~0ULL)

/* push of a register, of memory, of a constant; not `and $-16,%rsp`, which can move rsp as far */
static bool is_push(uint64_t pc)
{
	uint8_t op;

	if ((*code_at(pc) & 0xf0) == 0x40)
		pc++;
	op = *code_at(pc);
	return (op & 0xf8) == 0x50 || op == 0x68 || op == 0x6a ||
	       (op == 0xff && (*code_at(pc + 1) >> 3 & 7) == 6);
}

/*
 * what HotSpot's interpreter does: it pushes a return address, looks up the method in the frame
 * that calls it, and jumps there; it pops one and jumps to it, or pushes it again. From compiled
 * code to interpreted, an adapter copies the return address and pushes it again below the
 * arguments: it has moved. Frames that nobody called are made by pushing a return address, or
 * something in its place, and then the frame pointer. But a method's entry barrier, which was
 * called, pushes a word above its frame pointer that is no address: -1.
 */
static void watch_nobodys_code(const struct user_regs_struct *before,
			       const struct user_regs_struct *r, enum transfer transfer)
{
	const struct call *top = shadow_top(&shadow);
	uint64_t pushed;

	if (r->rip == shadow.in_register)
		shadow.in_register = 0;
	if (transfer != TRANSFER_NONE)
		shadow.copied = 0;
	else if (top && !top->signal && shadow_at(&shadow, top) == before->rsp &&
		 copies_top_of_stack(before->rip))
		shadow.copied = top->caller;
	if (shadow.pushed_at &&
	    ((transfer == TRANSFER_JUMP && r->rsp == shadow.pushed_at && !is_direct(before->rip)) ||
	     (before->rsp == shadow.pushed_at && makes_frame(before->rip)))) {
		shadow_called(&shadow, shadow.pushed_at);
		shadow.pushed_at = 0;
	}
	if (r->rsp != before->rsp - 8 || !is_push(before->rip) ||
	    read_memory(child, &pushed, 8, r->rsp) != 8 || pushed == NO_ADDRESS ||
	    (!is_nobodys(pushed) && !makes_frame(r->rip)))
		return;
	if (top && pushed == shadow.copied) {
		shadow.calls->nr--;
		shadow.copied = 0;
	} else if (pushed != shadow.in_register) {
		shadow.pushed_at = r->rsp;
		return;
	}
	shadow_called(&shadow, r->rsp);
	shadow.in_register = 0;
}

/* from before to r by one instruction */
static void watch(const struct user_regs_struct *before, const struct user_regs_struct *r,
		  enum transfer transfer)
{
	bool nobodys = generator.runtime && is_nobodys(before->rip);
	const struct call *top;

	shadow_moved(&shadow, r);
	top = shadow_top(&shadow);
	if (nobodys && top && !top->signal && transfer == TRANSFER_NONE && r->rsp > before->rsp &&
	    r->rsp - before->rsp == 8 && shadow_at(&shadow, top) == before->rsp)
		shadow.in_register = top->caller;
	if (transfer != TRANSFER_NONE || nobodys)
		shadow.popped = false;
	else if (top && !top->signal && r->rsp == before->rsp + 8 &&
		 shadow_at(&shadow, top) == before->rsp)
		shadow.popped = true;
	if (!shadow.switching && !shadow.popped)
		shadow_prune(&shadow, transfer == TRANSFER_CALL ? before->rsp : r->rsp);
	if (transfer == TRANSFER_CALL && r->rsp == before->rsp - 8 &&
	    !is_in_retpoline(before->rip) && !(nobodys && is_within_frame(before->rip, r->rip)) &&
	    !(!generator.runtime && is_nobodys(before->rip) && pops(r->rip)))
		shadow_called(&shadow, r->rsp);
	if (shadow.switching && transfer != TRANSFER_NONE)
		shadow_arrived(&shadow, transfer, r->rsp);
	if (nobodys)
		watch_nobodys_code(before, r, transfer);
}

static void step_through(unsigned long skip, unsigned long max, unsigned every)
{
	struct user_regs_struct r, before = {};
	int signal = 0;

	if (ptrace(PTRACE_GETREGS, child, NULL, &r))
		exit(2);
	for (nr_instructions = 0; nr_instructions < skip + max; nr_instructions++) {
		enum transfer transfer = transfer_at(r.rip);
		bool syscall = is_syscall(r.rip), returns = syscall && r.rax == NR_RT_SIGRETURN;

		find_mapping_of(r.rip);
		if (nr_instructions >= skip)
			compare(&r, every && nr_instructions % every == 0);
		if (nr_instructions % 256 == 0)
			let_others_run();
		shadow.syscalls += syscall;
		before = r;
		if (!step(0, &r, &signal))
			return;
		/*
		 * a signal comes before the instruction: deliver it, and look where the handler
		 * begins
		 */
		while (signal != SIGTRAP) {
			struct user_regs_struct interrupted = r;

			if (!step(signal, &r, &signal))
				return;
			if (signal == SIGTRAP && r.rip != interrupted.rip &&
			    r.rip - interrupted.rip > 15)
				shadow_interrupted(&shadow, &interrupted, r.rsp);
			transfer = TRANSFER_NONE;
			returns = false;
			before = r;
		}
		if (returns)
			shadow_signal_returned(&shadow, &r);
		watch(&before, &r, transfer);
	}
}

/* lets the program run until it traps: who called it there is not known */
static int run_to_trap(void)
{
	int status, signal = 0;

	do {
		if (ptrace(PTRACE_CONT, child, NULL, signal) ||
		    waitpid(child, &status, __WALL) < 0 || !WIFSTOPPED(status))
			return -1;
		signal = WSTOPSIG(status);
	} while (signal != SIGTRAP);
	shadow.first.floor = true;
	return 0;
}

/* lets it all run for a while: what called what until then is not known */
static int run_for(unsigned ms)
{
	int status;

	ptrace(PTRACE_CONT, child, NULL, 0);
	for (unsigned i = 0; i < ms; i++) {
		pid_t tid;

		while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
			go_on(tid, status);
		usleep(1000);
	}
	syscall(SYS_tkill, child, SIGSTOP);
	do {
		if (waitpid(child, &status, __WALL) < 0 || !WIFSTOPPED(status))
			return -1;
		if (WSTOPSIG(status) != SIGSTOP)
			go_on(child, status);
	} while (WSTOPSIG(status) != SIGSTOP);
	shadow.first.floor = true;
	return 0;
}

#define MAX_THREADS 256

/* The program's threads, in the order of their creation; the process's own is the first. */
struct threads {
	pid_t tid[MAX_THREADS];
	unsigned nr;
};

/*
 * The number of a thread that has stopped, which may be new; the next free one if there is no room
 * for it.
 */
static unsigned thread_number(struct threads *threads, pid_t tid)
{
	unsigned i = 0;

	while (i < threads->nr && threads->tid[i] != tid)
		i++;
	if (i == threads->nr && i < MAX_THREADS)
		threads->tid[threads->nr++] = tid;
	return i;
}

static void run_until_threads(void)
{
	ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
	ptrace(PTRACE_CONT, child, NULL, 0);
}

/*
 * lets the program run until it has created that many threads, and follows the last of them from
 * its first instruction on
 */
static int follow_thread(unsigned number)
{
	struct threads threads = { { child }, 1 };
	int status;
	pid_t tid;

	if (number >= MAX_THREADS)
		return -1;
	run_until_threads();
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		if (thread_number(&threads, tid) == number && WIFSTOPPED(status)) {
			child = tid;
			return 0;
		}
		go_on(tid, status);
	}
	return -1;
}

static bool has_name(pid_t process, pid_t tid, const char *name)
{
	char path[64], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", process, tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fgets(comm, sizeof(comm), f))
		comm[strcspn(comm, "\n")] = 0;
	fclose(f);
	return !strcmp(comm, name);
}

/*
 * Lets the program run until a thread that it has created takes this name, and kills it: the
 * thread's number, or 0. Threads name themselves, when they have run for a while.
 */
static unsigned find_thread(const char *name)
{
	struct threads threads = { { child }, 1 };
	unsigned number = 0;
	pid_t tid = 0;
	int status;

	run_until_threads();
	while (!number && tid >= 0) {
		while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
			thread_number(&threads, tid);
			go_on(tid, status);
		}
		for (unsigned i = 1; i < threads.nr && !number; i++)
			number = has_name(child, threads.tid[i], name) ? i : 0;
		usleep(1000);
	}
	kill(child, SIGKILL);
	while (waitpid(-1, &status, __WALL) > 0)
		;
	return number;
}

/* the program, stopped at its first instruction */
static int start(char **command)
{
	int status;

	child = fork();
	if (child == 0) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(command[0], command);
		_exit(127);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status) ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct modules *modules = modules_new();
	struct slabs *slabs;
	unsigned long max = 1000000, skip = 0, open = 0;
	unsigned every = 16, thread = 0, after_ms = 0;
	const char *name = NULL;
	bool to_trap = false;
	pid_t process;
	int option;
	cpu_set_t one;

	runtimes = all_runtimes;
	while ((option = getopt(argc, argv, "+a:bn:s:t:vw:")) != -1) {
		if (option == 'a')
			after_ms = strtoul(optarg, NULL, 10);
		else if (option == 'n')
			max = strtoul(optarg, NULL, 10);
		else if (option == 'b')
			to_trap = true;
		else if (option == 's')
			skip = strtoul(optarg, NULL, 10);
		else if (option == 't' && strspn(optarg, "0123456789") < strlen(optarg))
			name = optarg;
		else if (option == 't')
			thread = strtoul(optarg, NULL, 10);
		else if (option == 'v')
			verbose = true;
		else if (option == 'w')
			every = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	/* on one CPU a step is a quarter of the work: nobody has to be woken elsewhere */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (name && (start(argv + optind) || !(thread = find_thread(name))))
		return 2;
	if (start(argv + optind) || !modules ||
	    slabs_new(&slabs, (struct slab_source){ .add = plain_slab }) ||
	    tables_new(&tables, slabs, modules))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	shadow.calls = &shadow.first;
	process = child;
	if ((to_trap && run_to_trap()) || (thread && follow_thread(thread)) ||
	    (after_ms && run_for(after_ms)))
		return 2;
	shadow.tid = child;
	read_maps();
	step_through(skip, max, every);
	kill(process, SIGKILL);
	nr_instructions -= nr_instructions < skip ? nr_instructions : skip;
	printf("%lu instructions, %lu right, %lu wrong; %lu whole walks, %lu wrong;",
	       nr_instructions, nr_right, nr_wrong, nr_walks, nr_wrong_walks);
	if (nr_ended_at_switch)
		printf(" %lu ended where the stack changes;", nr_ended_at_switch);
	for (int end = 0; end < NR_END_REASONS; end++) {
		if (nr_open[end])
			printf(" %s %lu", end_reason_name(end), nr_open[end]);
		open += nr_open[end];
	}
	printf(" open %lu = %.4f %%\n", open, open * 100.0 / nr_instructions);
	return nr_wrong || nr_wrong_walks;
}
