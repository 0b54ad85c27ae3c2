/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arm64's part of kernel_types.h, which includes it */

struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};

struct pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
	__u64 orig_x0;
	__s32 syscallno; /* the number of the system call */
};

/* of programs on perf events */
struct bpf_perf_event_data {
	struct user_pt_regs regs;
};

struct thread_struct {
	struct cpu_context {
		__u64 sp;
	} cpu_context;
	struct {
		unsigned long tp_value; /* as it was when the thread was last switched out */
	} uw;
};
