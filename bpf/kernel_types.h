/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's types, as far as programs here use them: each struct has the members that are read,
 * in any order. When libbpf loads a program, it looks up structs, members and enumerators by name
 * in the running kernel's BTF, and puts their real places, sizes and values into the program
 * (CO-RE). So a build needs no kernel's BTF.
 *
 * bpf_core_field_exists() asks for a member that only some kernels have. A header that needs
 * another declaration of a type adds ___ and a word to its name, like orc_entry___any: libbpf
 * ignores these.
 */
#ifndef EHPERF_KERNEL_TYPES_H
#define EHPERF_KERNEL_TYPES_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * tells bpf_tracing.h that struct pt_regs has the kernel's names of registers, and not user space's
 */
#define __VMLINUX_H__

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* ---- registers, and the contexts that programs are called with ---- */

#include "machine_types.h"

/* of iterators */
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct seq_file {
	size_t size, count; /* of the buffer; and what is used of it */
};

/* ---- tasks ---- */

/* numbers in PID namespaces */
struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[]; /* from the first namespace's, level 0, on */
};

/* what the threads of a process share */
struct signal_struct {
	int nr_threads;
};

struct thread_info {
	unsigned long flags; /* TIF_... */
	__u32 cpu;
	__u32 status; /* TS_..., of x86 alone */
};

/* the scheduler's account of a task */
struct sched_entity {
	struct cfs_rq *cfs_rq;
	__u64 exec_start, sum_exec_runtime;
};

struct cfs_rq {
	struct rq *rq; /* with CONFIG_FAIR_GROUP_SCHED */
};

struct rq {
	__u64 clock;
};

/* without CONFIG_SCHED_INFO, it is empty */
struct sched_info {
	unsigned long long run_delay, last_arrival, last_queued;
};

struct cred {
	struct {
		unsigned int val;
	} uid;
};

struct task_struct {
	int pid, tgid; /* user space's tid and pid */
	struct pid *thread_pid;
	struct task_struct *group_leader, *real_parent;
	struct signal_struct *signal;
	const struct cred *real_cred;
	char comm[16];
	unsigned int flags; /* PF_... */
	__u64 start_boottime;
	__u64 self_exec_id;            /* how often it has executed a program */
	struct completion *vfork_done; /* NULL: its parent does not wait for it in vfork() */
	void *stack;                   /* the kernel's: its lowest byte */
	struct mm_struct *mm;
	struct files_struct *files;
	struct css_set *cgroups;
	struct thread_info thread_info;
	struct thread_struct thread;

	unsigned int __state; /* TASK_... */
	int exit_state;
	int on_cpu;
	struct sched_entity se;
	struct sched_info sched_info;

	struct uprobe_task *utask;             /* with CONFIG_UPROBES */
	struct bpf_local_storage *bpf_storage; /* NULL: no program keeps a value for it */
};

/* ---- memory, and what uprobes do in it ---- */

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct {
		int counter;
	} mm_users;
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
};

struct vm_area_struct {
	unsigned long vm_end, vm_flags;
};

/* the page "[uprobes]", in which a process executes copies of probed instructions */
struct xol_area {
	unsigned long vaddr;
};

/* a task that executes a copy, at .xol_vaddr, of the probed instruction at .vaddr */
struct uprobe_task {
	unsigned long vaddr, xol_vaddr;
	struct return_instance *return_instances;
};

/* a return address that a uretprobe has replaced, and its place on the stack */
struct return_instance {
	struct return_instance *next;
	unsigned long orig_ret_vaddr, stack;
};

/* ---- cgroups ---- */

struct css_set {
	struct cgroup *dfl_cgrp; /* in the v2 hierarchy */
};

struct cgroup {
	struct kernfs_node *kn;
	int level;
	struct cgroup *ancestors[]; /* from the root on to the cgroup itself */
};

struct kernfs_node {
	__u64 id;
};

/* ---- files, and BPF maps, of which a file is one ---- */

struct files_struct {
	struct fdtable *fdt;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct file {
	const struct file_operations *f_op;
	void *private_data;
};

struct bpf_map {
	__u32 id;
	enum bpf_map_type map_type;
	char name[16];
};

/* ---- block I/O ---- */

struct bvec_iter {
	unsigned int bi_size;
};

struct bio {
	struct block_device *bi_bdev;
	__u32 bi_opf; /* an operation and bits of enum req_flag_bits */
	__u8 bi_status;
	struct bvec_iter bi_iter;
};

struct request {
	struct request_queue *q;
	struct block_device *part;
	struct bio *bio;
	__u32 cmd_flags; /* as bi_opf */
	__u32 rq_flags;  /* bits of enum rqf_flags */
	unsigned int __data_len;
	__u64 start_time_ns;
};

/* numbers of bits, which differ between kernels: for bpf_core_enum_value() */
enum req_flag_bits {
	__REQ_SYNC,
	__REQ_META,
	__REQ_PRIO,
	__REQ_IDLE,
	__REQ_FUA,
	__REQ_PREFLUSH,
	__REQ_RAHEAD,
	__REQ_BACKGROUND,
	__REQ_NOWAIT,
};

enum rqf_flags {
	__RQF_FLUSH_SEQ,
};

struct request_queue {
	struct gendisk *disk;
	const struct blk_mq_ops *mq_ops; /* NULL: the disk takes bios, and has no requests */
};

struct gendisk {
	struct block_device *part0; /* the whole disk */
	struct request_queue *queue;
};

/* a disk or a partition */
struct block_device {
	__u32 bd_dev;
	struct gendisk *bd_disk;
};

#pragma clang attribute pop

#endif
