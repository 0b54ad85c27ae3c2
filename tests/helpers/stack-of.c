// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stack-of PID...: stops each process's main thread and prints its stack by our tables and walk on this
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
#include "images.h"

static uint32_t read_stack(void *arg, void *to, uint32_t bytes, uint64_t addr)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)addr, bytes };
	ssize_t done = process_vm_readv(*(pid_t *)arg, &local, 1, &remote, 1, 0);

	return done < 0 ? 0 : done;
}

static int plain_slab(void *arg, uint32_t number, uint8_t **bytes)
{
	(void)arg, (void)number;
	*bytes = calloc(1, SLAB_VALUE_SIZE);
	return *bytes ? 0 : -ENOMEM;
}

static void print_frame(const struct proc_maps *maps, uint64_t frame)
{
	for (size_t i = 0; i < maps->nr; i++) {
		const struct proc_mapping *m = &maps->mappings[i];
		uint64_t in_mapping = FRAME_OFFSET(frame) - m->file_offset;

		if (!(frame & FRAME_ADDRESS) && m->module_id == FRAME_MODULE(frame) && in_mapping <= m->end - m->start) {
			printf("%#lx\n", m->start + in_mapping);
			return;
		}
	}
	printf("%#llx\n", FRAME_ADDR(frame));
}

static int print_stack(pid_t pid)
{
	struct host_memory memory = { .read = read_stack, .arg = &pid };
	struct modules *modules = modules_new();
	struct eh_image image = { .tgid = pid };
	static struct host_stack stack;
	struct host_registers registers;
	struct user_regs_struct r;
	struct proc_maps maps;
	struct slabs *slabs;
	size_t bytes;
	loc_t list;
	int error;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) ||
	    waitpid(pid, NULL, __WALL) < 0 || ptrace(PTRACE_GETREGS, pid, NULL, &r))
		return -errno;
	error = slabs_new(&slabs, (struct slab_source){ .add = plain_slab });
	if (!error)
		error = proc_maps_read(&maps, pid);
	if (!error)
		error = image_make_tables(slabs, modules, &maps);
	if (!error)
		error = image_write(slabs, modules, &maps, &image, 0, 1, &list, &bytes);
	if (error)
		return error;
	registers = (struct host_registers){
		.reg = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp,
			 r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15 },
		.ip = r.rip,
	};
	host_unwind(slabs, list, &registers, memory, MAX_DEPTH, &stack);
	for (size_t i = 0; i < stack.nr; i++)
		print_frame(&maps, stack.frames[i]);
	printf("end %s\n", end_reason_name(stack.end));
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
