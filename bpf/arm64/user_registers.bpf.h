/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What arm64's kernel knows of a task in user mode: its registers, its system call, and where
 * probed instructions run.
 */
#ifndef EHPERF_USER_REGISTERS_BPF_H
#define EHPERF_USER_REGISTERS_BPF_H

#include "kernel.bpf.h"
#include "walk/step.bpf.h"

/* system calls (include/uapi/asm-generic/unistd.h) */
#define NR_MMAP     222
#define NR_MUNMAP   215
#define NR_MREMAP   216
#define IS_EXEC(nr) ((nr) == 221 || (nr) == 281) /* execve, execveat */

#define NR_BPF 280
/* the function of a system call, of 64-bit programs; it gets their registers */
#define CALL_FUNCTION(name)   "__arm64_sys_" name
#define CALL_ARGUMENT_1(regs) ((regs)->orig_x0)
#define CALL_ARGUMENT_2(regs) ((regs)->regs[1])
#define CALL_ARGUMENT_3(regs) ((regs)->regs[2])
#define CALL_RESULT(regs)     ((regs)->regs[0]) /* when it returns */

/* Is the system call one by 32-bit numbers (arch/arm64/include/asm/thread_info.h: TIF_32BIT)? */
static __always_inline bool is_call_of_32bit(const struct task_struct *task)
{
	return task->thread_info.flags >> 22 & 1;
}

/* uprobes' page (kernel/events/uprobes.c): bytes of a slot, and of an instruction */
#define XOL_SLOT_BYTES 4
#define MAX_INSN_BYTES 4

/*
 * pstate (arch/arm64/include/uapi/asm/ptrace.h): the exception level, and whether the program has
 * 32 bits
 */
#define PSTATE_MODE  0x0f
#define PSTATE_32BIT 0x10

/* the number of the system call that it is in, -1: none, but an interrupt or a fault */
static __always_inline __s32 syscall_of(const struct pt_regs *regs)
{
	return regs->syscallno;
}

/*
 * the address that the C library finds the thread's own data by; the kernel's sp of a task that is
 * off the CPU
 */
#define THREAD_POINTER(task) ((task)->thread.uw.tp_value)
#define KERNEL_SP(task)      ((task)->thread.cpu_context.sp)
/* the thread's pthread_self(), right before that: glibc's and musl's are shorter than a page */
#define IS_PTHREAD(self, thread_pointer) ((thread_pointer)-1 - (self) < 4096)

/* Has the event interrupted the kernel? */
static __always_inline bool is_in_kernel(const struct bpf_perf_event_data *event)
{
	return (__s64)event->regs.pc < 0;
}

/* Are these registers of user mode? Kernel threads and io_uring workers have none. */
static __always_inline bool are_of_user(const struct pt_regs *regs)
{
	return !(regs->pstate & PSTATE_MODE) && (regs->pc | regs->sp);
}

static __always_inline bool are_of_32bit(const struct pt_regs *regs)
{
	return regs->pstate & PSTATE_32BIT;
}

static __always_inline void copy_registers(struct frame_state *frame, const struct pt_regs *regs)
{
	__u32 i;

	UNROLL
	for (i = 0; i < EH_SP; i++)
		frame->reg[i] = regs->regs[i];
	frame->reg[EH_SP] = regs->sp;
	frame->ip = regs->pc;
}

/* bytes that a return takes off the stack */
#define RETURN_POPS 0

/* where the function returns to, at its first instruction; 0: it cannot be read */
static __always_inline __u64 return_address(const struct pt_regs *regs)
{
	return regs->regs[EH_X30];
}

#endif
