/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks: their process and thread IDs as the tool's user sees them, their images, and which of them
 * are measured.
 */
#ifndef EHPERF_TASK_BPF_H
#define EHPERF_TASK_BPF_H

#include "kernel.bpf.h"
#include "stats.bpf.h"
#include "processes_abi.h"
#include "task_abi.h"

#define PF_IDLE    0x00000002
#define PF_KTHREAD 0x00200000

void *bpf_rdonly_cast(const void *object, __u32 btf_id) __ksym __weak;

enum special_kfunc_type___ehperf { KF_bpf_rdonly_cast___ehperf = 1 }; /* exists from 6.2 on */

/*
 * The task as a pointer that the verifier does not trust, which is good enough for reading. For
 * each pointer that is read from a trusted task, the verifier searches all of the kernel's BTF four
 * times, which takes a millisecond or two.
 */
static __always_inline struct task_struct *untrusted(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum special_kfunc_type___ehperf,
				       KF_bpf_rdonly_cast___ehperf))
		return bpf_rdonly_cast(task, bpf_core_type_id_kernel(struct task_struct));
	return task;
}

/*
 * Reads a signed field of whatever width: on_cpu is an int up to 7.1 and a u8 from 7.2 on. In a
 * plain read, libbpf adapts the width only of unsigned fields and pointers, and turns the read of
 * any other into an invalid instruction.
 */
#define SIGNED_FIELD(s, field) BPF_CORE_READ_BITFIELD(s, field)

/*
 * The tool's own process and PID namespace, set when the tool runs the iterator list_tasks, which
 * it does first.
 */
__u32 own_tgid;
__u64 own_pid_ns;
__u32 own_pid_level;

static __always_inline struct upid pid_at_level(struct pid *pid, __u32 level)
{
	struct upid upid = {};
	/* level is at most MAX_PID_NS_LEVEL, 32; the mask is for 6.1's verifier */
	__u32 offset = bpf_core_field_offset(struct pid, numbers) +
		       (level & 63) * bpf_core_type_size(struct upid);

	bpf_probe_read_kernel(&upid, sizeof(upid), (void *)pid + offset);
	return upid;
}

/*
 * The PID in the tool's PID namespace; 0: it has none there. Behind the numbers that a process has
 * may lie those of one that was there before.
 */
static __always_inline __u32 pid_number(struct pid *pid)
{
	struct upid upid = pid_at_level(pid, own_pid_level);

	return BPF_CORE_READ(pid, level) >= own_pid_level && (__u64)upid.ns == own_pid_ns ? upid.nr
											  : 0;
}

/*
 * User space's pid (the kernel's tgid) and tid (the kernel's pid), in the tool's PID namespace; 0
 * for tasks outside it, and for the idle task.
 */
static __always_inline __u32 task_user_pid(struct task_struct *task)
{
	return own_pid_level == 0 ? task->tgid
				  : pid_number(untrusted(task)->group_leader->thread_pid);
}

static __always_inline __u32 task_user_tid(struct task_struct *task)
{
	return own_pid_level == 0 ? task->pid : pid_number(untrusted(task)->thread_pid);
}

/* the real user: a program that is set-user-ID is its caller's */
static __always_inline __u32 task_uid(struct task_struct *task)
{
	return untrusted(task)->real_cred->uid.val;
}

static __always_inline void task_image(struct task_struct *task, struct process_image *image)
{
	struct task_struct *leader = untrusted(task)->group_leader;

	image->tgid = task->tgid;
	image->exec_id = leader->self_exec_id;
	image->start_ns = leader->start_boottime;
}

/* Outputs every thread as a struct task_record. */
SEC("iter/task")
int list_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *self = untrusted(bpf_get_current_task_btf()), *task = ctx->task;
	struct task_record record = {};

	own_tgid = self->tgid;
	own_pid_level = self->thread_pid->level;
	own_pid_ns = (__u64)pid_at_level(self->thread_pid, own_pid_level).ns;
	if (!task)
		return 0;
	task_image(task, &record.image);
	record.pid = task_user_pid(task);
	record.tid = task_user_tid(task);
	record.kernel_thread = !!(task->flags & PF_KTHREAD);
	record.uid = task_uid(task);
	record.last_ran_ns = task->se.exec_start;
	if (record.pid)
		bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

/* ---- filters: set before loading ---- */

const volatile bool only_listed_pids, only_listed_tids;
const volatile bool only_user_threads, only_kernel_threads;
const volatile bool with_idle;
const volatile bool only_one_comm, only_one_cgroup;
const volatile char only_comm[16]; /* padded with zeroes */
const volatile __u64 only_cgroup;  /* its ID in the v2 hierarchy */
const volatile bool only_listed_cpus;
const volatile __u64 listed_cpus[MAX_LISTED_CPUS / 64];
const volatile bool follow_forks; /* list the children of listed processes, too */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u8);
} listed_pids SEC(".maps"), listed_tids SEC(".maps");

/* The command, until it executes its program: what its process does before is the tool's. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} awaited_pids SEC(".maps");

#define MAX_CGROUP_DEPTH 32

struct ancestors {
	__u64 address; /* of the array, from the root to the cgroup itself */
	bool found;
};

static long compare_ancestor(__u32 i, struct ancestors *a)
{
	struct cgroup *ancestor;

	a->found = !bpf_probe_read_kernel(&ancestor, sizeof(ancestor),
					  (void *)a->address + i * sizeof(ancestor)) &&
		   BPF_CORE_READ(ancestor, kn, id) == only_cgroup;
	return a->found;
}

/*
 * is it in this cgroup, or in one below? Not a loop for the verifier to follow: that made 3,000
 * instructions of it
 */
static __always_inline bool is_in_cgroup(struct task_struct *task)
{
	struct cgroup *cgroup = BPF_CORE_READ(untrusted(task)->cgroups, dfl_cgrp);
	struct ancestors a = { .address = (__u64)cgroup +
					  bpf_core_field_offset(struct cgroup, ancestors) };
	__u32 nr = BPF_CORE_READ_BITFIELD_PROBED(cgroup, level) + 1;

	bpf_loop(nr < MAX_CGROUP_DEPTH ? nr : MAX_CGROUP_DEPTH, compare_ancestor, &a, 0);
	return a.found;
}

static __always_inline bool has_comm(struct task_struct *task)
{
	char comm[16] = {};
	int i;

	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	for (i = 0; i < 16; i++)
		if (comm[i] != only_comm[i])
			return false;
	return true;
}

static __always_inline bool cpu_wanted(__u32 cpu)
{
	if (!only_listed_cpus)
		return true;
	if (cpu >= MAX_LISTED_CPUS)
		return false;
	barrier_var(cpu); /* or the compiler leaves out the mask, which the verifier wants */
	return listed_cpus[cpu / 64 & (MAX_LISTED_CPUS / 64 - 1)] >> (cpu & 63) & 1;
}

/* filters by what may change during a task's life: to be evaluated each time */
static __always_inline bool task_fits(struct task_struct *task)
{
	return (!only_one_comm || has_comm(task)) && (!only_one_cgroup || is_in_cgroup(task));
}

/*
 * Is it the tool, a worker, or a worker's child? Not if the user has selected processes or threads:
 * then these are measured.
 */
static __always_inline bool is_own(struct task_struct *task)
{
	const struct task_struct *parent;

	if (task->tgid == own_tgid)
		return true;
	if (only_listed_pids || only_listed_tids)
		return false;
	parent = untrusted(task)->group_leader->real_parent;
	return parent->tgid == own_tgid || parent->real_parent->tgid == own_tgid;
}

/* filters by what never changes */
static __always_inline bool task_wanted(struct task_struct *task, __u32 pid, __u32 tid)
{
	bool kernel_thread = task->flags & PF_KTHREAD;

	if (task->pid == 0) /* the kernel's idle task */
		return with_idle && !only_listed_pids && !only_listed_tids && !only_user_threads;
	if (pid == 0 || (only_user_threads && kernel_thread) ||
	    (only_kernel_threads && !kernel_thread))
		return false;
	if (only_listed_pids && !bpf_map_lookup_elem(&listed_pids, &pid))
		return false;
	return !only_listed_tids || bpf_map_lookup_elem(&listed_tids, &tid);
}

/* ---- processes that come and go ---- */

/*
 * A process gets a new name when execve() cannot fail any more, and has just put the new memory in
 * place of the old. Its tracepoint sched_process_exec comes later: that is the command's own event,
 * as are page faults of loading it.
 */
SEC("tp_btf/task_rename")
int BPF_PROG(command_executes, struct task_struct *task)
{
	__u32 pid = task_user_pid(task);
	__u8 one = 1;

	if (follow_forks && bpf_map_lookup_elem(&awaited_pids, &pid) &&
	    !bpf_map_update_elem(&listed_pids, &pid, &one, BPF_ANY))
		bpf_map_delete_elem(&awaited_pids, &pid);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_forked, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = task_user_pid(parent), to = task_user_pid(child);
	struct stack_stats *counts = own_stats();
	__u8 one = 1;

	if (!follow_forks || !to || to == from || !bpf_map_lookup_elem(&listed_pids, &from))
		return 0;
	if (bpf_map_update_elem(&listed_pids, &to, &one, BPF_ANY) && counts)
		counts->forks_lost++;
	return 0;
}

/*
 * A thread is measured as long as it can run: what it does in its exit, giving back its memory
 * above all, is its own. It is gone when the kernel frees its task. By then the task has lost its
 * numbers in namespaces, which are kept here from its exit on.
 */
struct task_numbers {
	__u32 pid, tid;
	bool last; /* of its process's threads */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64); /* the task's address: exec changes numbers */
	__type(value, struct task_numbers);
} exiting SEC(".maps");

SEC("tp_btf/sched_process_exit")
int BPF_PROG(thread_exiting, struct task_struct *task)
{
	struct task_numbers numbers = { .pid = task_user_pid(task), .tid = task_user_tid(task) };
	struct stack_stats *counts = own_stats();
	__u64 at = (__u64)task;

	if (own_pid_level && numbers.tid && bpf_map_update_elem(&exiting, &at, &numbers, BPF_ANY) &&
	    counts)
		counts->changes_lost++;
	return 0;
}

static __always_inline struct task_numbers numbers_of_freed(struct task_struct *task)
{
	struct task_numbers numbers = { .pid = task->tgid, .tid = task->pid }, *kept;
	__u64 at = (__u64)task;

	if (own_pid_level) {
		kept = bpf_map_lookup_elem(&exiting, &at);
		numbers = kept ? *kept : (struct task_numbers){};
		bpf_map_delete_elem(&exiting, &at);
	}
	numbers.last = task->pid == task->tgid;
	return numbers;
}

/* The IDs may be reused soon. */
static __always_inline void take_off_lists(const struct task_numbers *freed)
{
	if (only_listed_tids)
		bpf_map_delete_elem(&listed_tids, &freed->tid);
	if (only_listed_pids && freed->last)
		bpf_map_delete_elem(&listed_pids, &freed->pid);
}

/*
 * for objects without processes.bpf.h, whose process_exited() does it: not loaded unless a session
 * asks for it
 */
SEC("?tp_btf/sched_process_free")
int BPF_PROG(process_ended, struct task_struct *task)
{
	struct task_numbers freed = numbers_of_freed(task);

	take_off_lists(&freed);
	return 0;
}

#endif
