/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What x86-64's kernel knows of a task in user mode: its registers, its system call, and where
 * probed instructions run.
 */
#ifndef EHPERF_USER_REGISTERS_BPF_H
#define EHPERF_USER_REGISTERS_BPF_H

#include "kernel.bpf.h"
#include "walk/step.bpf.h"

/* system calls (arch/x86/entry/syscalls/syscall_64.tbl) */
#define NR_MMAP     9
#define NR_MUNMAP   11
#define NR_MREMAP   25
#define IS_EXEC(nr) ((nr) == 59 || (nr) == 322) /* execve, execveat */

#define NR_BPF 321
/* the function of a system call, of 64-bit programs; it gets their registers */
#define CALL_FUNCTION(name)   "__x64_sys_" name
#define CALL_ARGUMENT_1(regs) ((regs)->di)
#define CALL_ARGUMENT_2(regs) ((regs)->si)
#define CALL_ARGUMENT_3(regs) ((regs)->dx)
#define CALL_RESULT(regs)     ((regs)->ax) /* when it returns */

/* Is the system call one by 32-bit numbers (arch/x86/include/asm/thread_info.h: TS_COMPAT)? */
static __always_inline bool is_call_of_32bit(const struct task_struct *task)
{
	return task->thread_info.status & 2;
}

/* uprobes' page (kernel/events/uprobes.c): bytes of a slot, and of the longest instruction */
#define XOL_SLOT_BYTES 128
#define MAX_INSN_BYTES 15

/*
 * the number of the system call that it is in, -1: none, but an interrupt or a fault
 * (arch/x86/include/asm/syscall.h)
 */
static __always_inline __s32 syscall_of(const struct pt_regs *regs)
{
	return regs->orig_ax;
}

/*
 * the address that the C library finds the thread's own data by; the kernel's sp of a task that is
 * off the CPU
 */
#define THREAD_POINTER(task)             ((task)->thread.fsbase)
#define IS_PTHREAD(self, thread_pointer) ((self) == (thread_pointer))
#define KERNEL_SP(task)                  ((task)->thread.sp)

/* Has the event interrupted the kernel? */
static __always_inline bool is_in_kernel(const struct bpf_perf_event_data *event)
{
	return (__s64)event->regs.ip < 0;
}

/* Are these registers of user mode? Kernel threads and io_uring workers have none. */
static __always_inline bool are_of_user(const struct pt_regs *regs)
{
	return (regs->cs & 3) == 3 && (regs->ip | regs->sp);
}

static __always_inline bool are_of_32bit(const struct pt_regs *regs)
{
	return (__u16)regs->cs == 0x23;
}

static __always_inline void copy_registers(struct frame_state *frame, const struct pt_regs *regs)
{
	frame->reg[0] = regs->ax;
	frame->reg[1] = regs->dx;
	frame->reg[2] = regs->cx;
	frame->reg[3] = regs->bx;
	frame->reg[4] = regs->si;
	frame->reg[5] = regs->di;
	frame->reg[6] = regs->bp;
	frame->reg[7] = regs->sp;
	frame->reg[8] = regs->r8;
	frame->reg[9] = regs->r9;
	frame->reg[10] = regs->r10;
	frame->reg[11] = regs->r11;
	frame->reg[12] = regs->r12;
	frame->reg[13] = regs->r13;
	frame->reg[14] = regs->r14;
	frame->reg[15] = regs->r15;
	frame->ip = regs->ip;
}

/* bytes that a return takes off the stack */
#define RETURN_POPS 8

/* where the function returns to, at its first instruction; 0: it cannot be read */
static __always_inline __u64 return_address(const struct pt_regs *regs)
{
	__u64 address = 0;

	return bpf_probe_read_user(&address, sizeof(address), (void *)regs->sp) ? 0 : address;
}

#endif
