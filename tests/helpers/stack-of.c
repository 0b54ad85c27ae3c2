// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stack-of PID...: stops each process's main thread and prints its stack by our tables and walk on
 * this side, an address a line, leaf first, then "end REASON".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "unwind/end_reason.h"
#include "stopped.h"
#include "processes_abi.h"
#include "stacks_abi.h"

static int print_stack(pid_t pid)
{
	struct host_memory memory = { .read = read_process_memory,
				      .read_text = read_process_memory,
				      .arg = &pid };
	struct modules *modules = modules_new();
	struct mapped_modules mapped = {};
	struct proc_maps maps;
	const struct mapping_contents contents = {
		.image = { .tgid = pid },
		.generation = 1,
		.maps = &maps,
		.mapped = &mapped,
	};
	static struct host_stack stack;
	struct host_registers registers;
	struct user_regs_struct r;
	struct mapping_list list;
	struct tables *tables;
	struct slabs *slabs;
	int error;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) ||
	    waitpid(pid, NULL, __WALL) < 0 || ptrace(PTRACE_GETREGS, pid, NULL, &r))
		return -errno;
	error = slabs_new(&slabs, (struct slab_source){ .add = plain_slab });
	if (!error)
		error = tables_new(&tables, slabs, modules);
	if (!error)
		error = proc_maps_read(&maps, pid);
	if (!error)
		error = mapping_list_make_tables(tables, &maps, &mapped);
	if (!error)
		error = mapping_list_write(tables, &contents, &list);
	if (error)
		return error;
	registers = registers_of(&r);
	mapping_list_unwind(tables, list.loc, &registers, memory, MAX_DEPTH, &stack);
	for (size_t i = 0; i < stack.nr; i++)
		printf("%#lx\n", address_of(&maps, &mapped, stack.frames[i]));
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
