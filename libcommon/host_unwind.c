// SPDX-License-Identifier: GPL-2.0-or-later
#include "host_unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_file.h"
#include "unwind_table.h"

struct host_process {
	struct proc_maps maps;
	struct unwind_table *tables;	/* one for each mapping; empty where there is none */
};

static void read_table(struct unwind_table *table, pid_t pid, const struct proc_mapping *mapping)
{
	struct elf_file file;
	void *image = NULL;
	int fd = -1, error;

	if (mapping->inode) {
		fd = proc_maps_open(pid, mapping);
		error = fd < 0 ? fd : elf_file_open(&file, fd);
	} else {
		ssize_t size = strcmp(mapping->path, "[vdso]") ? -ENOENT : proc_maps_read_vdso(pid, mapping, &image);

		error = size < 0 ? (int)size : elf_file_open_memory(&file, image, size);
	}
	if (!error) {
		unwind_table_build(table, &file);
		elf_file_close(&file);
	}
	if (fd >= 0)
		close(fd);
	free(image);
}

int host_process_read(struct host_process **process, pid_t pid)
{
	struct host_process *p = calloc(1, sizeof(*p));
	int error;

	if (!p)
		return -ENOMEM;
	error = proc_maps_read(&p->maps, pid);
	if (!error) {
		p->tables = calloc(p->maps.nr + 1, sizeof(*p->tables));
		error = p->tables ? 0 : -ENOMEM;
	}
	if (error) {
		host_process_free(p);
		return error;
	}
	for (size_t i = 0; i < p->maps.nr; i++)
		read_table(&p->tables[i], p->maps.tid, &p->maps.mappings[i]);
	*process = p;
	return 0;
}

void host_process_free(struct host_process *process)
{
	if (!process)
		return;
	for (size_t i = 0; process->tables && i < process->maps.nr; i++)
		unwind_table_free(&process->tables[i]);
	free(process->tables);
	proc_maps_free(&process->maps);
	free(process);
}

/* the table for this pc and its offset in the file, NULL where nothing is mapped */
static const struct unwind_table *find_table(const struct host_process *process, uint64_t pc, uint64_t *file_offset)
{
	for (size_t i = 0; i < process->maps.nr; i++) {
		const struct proc_mapping *m = &process->maps.mappings[i];

		if (pc < m->start || pc >= m->end)
			continue;
		*file_offset = pc - m->start + m->file_offset;
		return &process->tables[i];
	}
	return NULL;
}

void host_unwind(const struct host_process *process, const struct frame_state *registers,
		 size_t (*read_stack)(void *arg, uint64_t addr, void *bytes, size_t size), void *arg,
		 struct host_stack *stack)
{
	struct frame_state frame = *registers;
	struct window window = {};
	bool by_call = false;

	frame.stage = 0;
	stack->nr = 0;
	stack->end = END_TOO_DEEP;
	while (stack->nr < MAX_DEPTH) {
		uint64_t need = 0, file_offset;
		const struct unwind_table *table = find_table(process, frame.ip - by_call, &file_offset);
		struct eh_rule rule = table ? unwind_table_lookup(table, file_offset) : (struct eh_rule){};
		int result;

		if (!table && stack->nr) {
			stack->end = END_NO_MAPPING;
			return;
		}
		stack->pcs[stack->nr++] = frame.ip;
		while ((result = unwind_step(&rule, &frame, &window, (__u64 *)&need)) == STEP_NEEDS_STACK) {
			window.base = need;
			window.len = read_stack(arg, need, window.bytes, WINDOW_BYTES);
			if (window.len < 8) {
				stack->end = END_UNREADABLE;
				return;
			}
		}
		if (result >= 0) {
			if (result == END_NO_ROW && table && file_offset >= table->entry_start && file_offset < table->entry_end)
				result = END_COMPLETE;
			stack->end = table ? result : END_NO_MAPPING;
			return;
		}
		by_call = !(rule.flags & RULE_SIGNAL);
	}
}
