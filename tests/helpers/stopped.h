/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stopped process under our tables and walk, in plain memory: what the helpers share that compare
 * it with others.
 */
#ifndef EHPERF_STOPPED_H
#define EHPERF_STOPPED_H

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "unwind/mapping_list.h"
#include "slabs_abi.h"
#include "stacks_abi.h"

static inline size_t read_memory(pid_t pid, void *to, size_t bytes, uint64_t addr)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)addr, bytes };
	ssize_t done = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return done < 0 ? 0 : done;
}

/* for struct host_memory, whose arg is a pid_t */
static inline uint32_t read_process_memory(void *pid, void *to, uint32_t bytes, uint64_t addr)
{
	return read_memory(*(pid_t *)pid, to, bytes, addr);
}

/* for struct slab_source */
static inline int plain_slab(void *arg, uint32_t number, uint8_t **bytes)
{
	(void)arg, (void)number;
	*bytes = calloc(1, SLAB_VALUE_SIZE);
	return *bytes ? 0 : -ENOMEM;
}

/* by DWARF numbers */
static inline struct host_registers registers_of(const struct user_regs_struct *r)
{
	return (struct host_registers){
		.reg = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
			 r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 },
		.ip = r->rip,
		.in_syscall = (long)r->orig_rax >= 0,
	};
}

static inline uint64_t address_of(const struct proc_maps *maps, const struct mapped_modules *mapped,
				  uint64_t frame)
{
	for (size_t i = 0; i < maps->nr && !(frame & FRAME_ADDRESS); i++) {
		const struct proc_mapping *m = &maps->mappings[i];
		uint64_t in_mapping = FRAME_OFFSET(frame) - m->file_offset;

		if (mapped->of[i].module_id == FRAME_MODULE(frame) &&
		    in_mapping <= m->end - m->start)
			return m->start + in_mapping;
	}
	return frame & ((1ULL << FRAME_TAG_SHIFT) - 1); /* a tag may lie above it */
}

#endif
