/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Process events for which perf has no records, and that must take effect at once: the end of a
 * process, and the unmapping or replacing of memory that held code (a "change"). Changes are
 * counted per process, so that older mapping lists are stale at once, and new code is never unwound
 * by an old list. libcommon/kernel/unwinder.c attaches these programs.
 */
#ifndef EHPERF_PROCESSES_BPF_H
#define EHPERF_PROCESSES_BPF_H

#include "kernel.bpf.h"
#include "records_abi.h"
#include "stacks.bpf.h"
#include "task.bpf.h"
#include "unwind.bpf.h"

/*
 * Follow all processes, not only the measured ones: others' stacks are taken, too. Set before
 * loading
 */
const volatile bool follow_all;

#define VM_EXEC      4
#define MAP_FIXED    0x10
#define MREMAP_FIXED 2
#define MAX_VMAS     8 /* examined in an unmapped range; a library has four or five */

static __always_inline void send_process_record(struct process_record *record)
{
	struct stack_stats *counts = own_stats();

	record->time_ns = bpf_ktime_get_ns();
	if (bpf_ringbuf_output(&records, record, sizeof(*record), BPF_RB_NO_WAKEUP) && counts)
		counts->changes_lost++;
}

static __always_inline bool process_wanted(struct task_struct *task, __u32 pid)
{
	return pid && !(task->flags & PF_KTHREAD) &&
	       (!only_listed_pids || follow_all || bpf_map_lookup_elem(&listed_pids, &pid));
}

/* Reports a process that is gone: its PID may be reused soon. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(process_exited, struct task_struct *task)
{
	struct task_numbers freed = numbers_of_freed(task);
	struct process_record record = { .kind = RECORD_EXITED, .pid = freed.pid };
	__u32 tgid = task->tgid;

	if (freed.last && process_wanted(task, freed.pid)) {
		send_process_record(&record);
		bpf_map_delete_elem(&procs, &tgid);
		bpf_map_delete_elem(&changes, &tgid);
	}
	take_off_lists(&freed);
	return 0;
}

struct vma_seen {
	__u64 end;
	bool code;
};

static long see_vma(struct task_struct *task, struct vm_area_struct *vma, struct vma_seen *seen)
{
	seen->end = vma->vm_end;
	seen->code |= !!(vma->vm_flags & VM_EXEC);
	return 0;
}

/* Does a mapping in the process's published list overlap [start, end)? */
static __always_inline bool is_published(__u32 tgid, __u64 start, __u64 end)
{
	__u64 *slot = bpf_map_lookup_elem(&procs, &tgid);
	loc_t loc = slot ? HANDLE_LOC(*(volatile __u64 *)slot) : 0;
	struct published_process *process;
	struct published_mapping *mapping;
	__u32 nr;
	void *slab = slot ? slab_of(NULL, loc) : NULL;

	if (!slab)
		return false;
	process = slab + LOC_OFFSET(loc);
	nr = process->nr_mappings;
	if (!nr || nr > MAX_MAPPINGS)
		return false;
	mapping = search_mappings(slab, loc, nr, end - 1);
	return mapping->start < end && mapping->end > start;
}

/*
 * Is there an executable mapping in [start, end)? bpf_find_vma() fails at holes, and while another
 * thread holds the mmap lock: then the published list decides.
 */
static __always_inline bool holds_code(struct task_struct *task, __u64 start, __u64 end)
{
	struct vma_seen seen = { .end = start };
	int i;

	for (i = 0; i < MAX_VMAS; i++) {
		if (bpf_find_vma(task, seen.end, see_vma, &seen, 0))
			break;
		if (seen.code)
			return true;
		if (seen.end >= end)
			return false;
	}
	return is_published(task->tgid, start, end);
}

/* The process gives up code at these addresses: its published list is stale from now on. */
static __always_inline void count_change(struct task_struct *task, __u32 pid, __u64 start,
					 __u64 end)
{
	struct process_record record = {
		.kind = RECORD_UNMAPPED, .pid = pid, .start = start, .end = end
	};
	struct stack_stats *counts = own_stats();
	__u32 tgid = task->tgid, *changed, none = 0;

	bpf_map_update_elem(&changes, &tgid, &none, BPF_NOEXIST);
	changed = bpf_map_lookup_elem(&changes, &tgid);
	if (changed) {
		record.changes = __sync_fetch_and_add(changed, 1) + 1;
	} else {
		/* no room for a counter: unpublish the process */
		bpf_map_delete_elem(&procs, &tgid);
		if (counts)
			counts->changes_lost++;
	}
	send_process_record(&record);
}

/*
 * A system call of the task is about to change the process's mappings, before it takes the lock of
 * these.
 */
static __always_inline int changes_mappings(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__s32 call = syscall_of(regs);
	__u64 start, bytes;
	__u32 pid;

	if (call != NR_MUNMAP && call != NR_MREMAP &&
	    !(call == NR_MMAP && PT_REGS_PARM4_SYSCALL(regs) & MAP_FIXED))
		return 0;
	pid = task_user_pid(task);
	if (!process_wanted(task, pid))
		return 0;
	/* MREMAP_FIXED is rare: the destination counts as code without being examined */
	if (call == NR_MREMAP && PT_REGS_PARM4_SYSCALL(regs) & MREMAP_FIXED) {
		start = PT_REGS_PARM5_SYSCALL(regs);
		count_change(task, pid, start, start + PT_REGS_PARM3_SYSCALL(regs));
	}
	start = PT_REGS_PARM1_SYSCALL(regs);
	bytes = PT_REGS_PARM2_SYSCALL(regs);
	if (bytes && holds_code(task, start, start + bytes))
		count_change(task, pid, start, start + bytes);
	return 0;
}

/*
 * The tracepoint's arguments: the mm; before 6.14, the path of a cgroup; whether it is locked for
 * writing
 */
struct trace_event_raw_mmap_lock___since_6_14 {
	__u64 memcg_id;
} __attribute__((preserve_access_index));

/*
 * Programs on the tracepoints of single system calls would slow down every system call of every
 * process. So these programs run where mappings are locked, which costs other processes little. One
 * of the two is loaded (unwinder_configure()). Locks for reading must be left alone: holds_code()
 * takes one, which the programs of all other tools that run would see, and then take one, and so
 * on.
 */
SEC("?tp_btf/mmap_lock_start_locking")
int mappings_locked(const __u64 *args)
{
	__u64 writes;

	if (bpf_core_field_exists(struct trace_event_raw_mmap_lock___since_6_14, memcg_id)) {
		writes = args[1];
		barrier(); /* the verifier follows no pointer that is chosen here */
	} else {
		writes = args[2];
	}
	return (__u8)writes ? changes_mappings() : 0;
}

/*
 * Before 6.14, that tracepoint would make page faults slower: it makes up the path of a cgroup each
 * time.
 */
SEC("?kprobe")
int mappings_called(void *ctx)
{
	return changes_mappings();
}

#endif
