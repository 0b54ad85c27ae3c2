/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64's part of kernel_types.h, which includes it */

struct pt_regs {
	unsigned long ax, bx, cx, dx, si, di, bp, sp, r8, r9, r10, r11, r12, r13, r14, r15, ip;
	unsigned long orig_ax; /* the number of the system call */
	__u16 cs;              /* 64 bits up to 6.8 */
};

/* of programs on perf events */
struct bpf_perf_event_data {
	struct pt_regs regs;
};

struct thread_struct {
	unsigned long fsbase, sp;
};
