// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stack-of PID...: stops each process's main thread and prints its stack by our tables and step on this
 * side, an address a line, leaf first, then "end REASON".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "end_reason.h"
#include "host_unwind.h"

static size_t read_stack(void *arg, uint64_t addr, void *bytes, size_t size)
{
	struct iovec local = { bytes, size }, remote = { (void *)(uintptr_t)addr, size };
	ssize_t done = process_vm_readv(*(pid_t *)arg, &local, 1, &remote, 1, 0);

	return done < 0 ? 0 : done;
}

static int print_stack(pid_t pid)
{
	struct user_regs_struct r;
	struct host_process *process;
	struct host_stack stack;
	struct frame_state frame;
	int error;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) ||
	    waitpid(pid, NULL, __WALL) < 0 || ptrace(PTRACE_GETREGS, pid, NULL, &r))
		return -errno;
	error = host_process_read(&process, pid);
	if (error)
		return error;
	frame = (struct frame_state){
		.reg = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp,
			 r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15 },
		.ip = r.rip,
		.known = KNOWN_ALL,
	};
	host_unwind(process, &frame, read_stack, &pid, &stack);
	for (size_t i = 0; i < stack.nr; i++)
		printf("%#lx\n", stack.pcs[i]);
	printf("end %s\n", end_reason_name(stack.end));
	host_process_free(process);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int error = print_stack(atoi(argv[i]));

		if (error) {
			fprintf(stderr, "stack-of: %s: %s\n", argv[i], strerror(-error));
			return 1;
		}
	}
	return 0;
}
