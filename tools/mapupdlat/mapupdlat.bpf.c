// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls of bpf(2) on maps: how long, and what for.
 *
 * The kernel does not run programs on a system call's own tracepoints where another thread was preempted on this
 * CPU inside a map operation, until that goes on. So where there is preemption, raw tracepoints are used as well,
 * though every system call of the machine pays for them. Of a call, whichever comes first is told and the other one
 * finds that it was: from 7.0 on, programs on raw tracepoints may be preempted too, and then they do not run for
 * other threads, but that is at another time.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "task.bpf.h"
#include "unwind.bpf.h"
#include "stacks.bpf.h"
#include "processes.bpf.h"
#include "off_cpu.bpf.h"
#include "histograms.bpf.h"
#include "mapupdlat_abi.h"

#define NR_BPF		321
#define TS_COMPAT	2

/* ---- what is measured: set before loading ---- */

const volatile __u64 wanted_cmds;	/* bit: enum bpf_cmd */
const volatile __u64 fd_in_batch;	/* those whose attributes are of a batch */
const volatile __u64 fd_is_result;	/* those that return the fd */
const volatile bool only_map_id, only_map_name, only_map_type;
const volatile __u32 wanted_map_id, wanted_map_type;
const volatile char wanted_map_name[16];
const volatile bool by_type, by_map, by_name, by_process, by_command;
const volatile __u64 slow_ns;		/* 0: none is told of */

/* ---- the tool itself ---- */

bool measuring;		/* set when all programs are attached, reset before they are detached */
__s32 own_map_fd;	/* some map's; set before note_self() is run */
__u64 map_fops;		/* what makes a file a map */
__u64 prog_active, per_cpu_offset;	/* addresses of these variables of the kernel's; 0: it does not tell */

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *fdt = untrusted(task)->files->fdt;
	struct file *file = NULL;

	if (fd < fdt->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), fdt->fd + fd);
	return file;
}

/* run once by the tool, in its own process */
SEC("syscall")
int note_self(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct files_struct *files = BPF_CORE_READ(task, files);
	struct fdtable *fdt = BPF_CORE_READ(files, fdt);
	struct file **fds = BPF_CORE_READ(fdt, fd), *file = NULL;

	bpf_probe_read_kernel(&file, sizeof(file), fds + own_map_fd);
	map_fops = (__u64)BPF_CORE_READ(file, f_op);
	if (bpf_kallsyms_lookup_name("bpf_prog_active", sizeof("bpf_prog_active"), 0, &prog_active) ||
	    bpf_kallsyms_lookup_name("__per_cpu_offset", sizeof("__per_cpu_offset"), 0, &per_cpu_offset))
		prog_active = 0;
	return 0;
}

/* ---- calls in flight ---- */

/* by which tracepoints a call is seen, as bits */
enum way { BY_SYSCALL = 1, BY_RAW = 2 };

struct call {
	__u64 start_ns;		/* 0: this thread is in no call that is measured */
	__u32 begun_by;		/* ways by which this beginning was seen; holds while start_ns does */
	__u32 returned_by;	/* the way by which the last return was told, until the other one was there too; or 0 */
	struct off_cpu off;
	__u64 blocked_ns, waiting_ns;
	__u64 kernel_stack;	/* where it is blocked */
	/* once it has returned: */
	bool told;
	__s32 user_end;
	__u64 user_stack, latency_ns, ended_ns;
	__s64 result;
	__u32 slot;
	__u32 nr_blocked;
	__u32 series;		/* of what the key said when it was last looked up */
	__u32 series_map_id, series_command;
	struct blocked_in blocked[MAX_BLOCKED_STACKS];
	struct map_call_key key;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_SERIES);
	__type(key, struct map_call_key);
	__type(value, __u32);	/* its number */
} series SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct map_call_counts);
} call_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} slow_calls SEC(".maps");

static __always_inline struct map_call_counts *own_counts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&call_counts, &zero);
}

/* most threads never call bpf(2): a look at the task tells */
static __always_inline struct call *call_in_flight(struct task_struct *task)
{
	struct call *call = untrusted(task)->bpf_storage ? bpf_task_storage_get(&calls, task, NULL, 0) : NULL;

	return call && call->start_ns ? call : NULL;
}

/* the raw tracepoints are 32-bit programs' too, whose numbers are others */
static __always_inline bool is_bpf_call(struct task_struct *task, __u64 nr)
{
	return nr == NR_BPF && !(task->thread_info.status & TS_COMPAT);
}

/* ---- on what it is ---- */

/* as the kernel takes it: attributes that are not given are 0 */
static __always_inline bool read_fd(const struct pt_regs *regs, __u32 cmd, __u32 *fd)
{
	__u32 at = fd_in_batch >> cmd & 1 ? bpf_core_field_offset(union bpf_attr, batch.map_fd) : 0;
	__u32 given = regs->dx;

	*fd = 0;
	if (given >= at + sizeof(*fd))
		return !bpf_probe_read_user(fd, sizeof(*fd), (void *)regs->si + at);
	return given <= at || !bpf_probe_read_user(fd, (given - at) & 3, (void *)regs->si + at);
}

static __always_inline void no_map(struct map_call_key *key, enum map_call_kind kind)
{
	key->kind = kind;
	key->map_id = key->map_type = 0;
	__builtin_memset(key->name, 0, sizeof(key->name));
}

static __always_inline void look_at_fd(struct task_struct *task, __u32 fd, struct map_call_key *key)
{
	struct file *file = file_of(task, fd);
	struct bpf_map *map;
	__u32 id;

	if (!file) {
		no_map(key, CALL_BAD_FD);
		return;
	}
	if ((__u64)BPF_CORE_READ(file, f_op) != map_fops) {
		no_map(key, CALL_NOT_A_MAP);
		return;
	}
	map = BPF_CORE_READ(file, private_data);
	id = BPF_CORE_READ(map, id);
	key->kind = CALL_ON_MAP;
	if (id == key->map_id)
		return;		/* the thread's last call was on it too */
	key->map_id = id;
	key->map_type = BPF_CORE_READ(map, map_type);
	bpf_core_read(key->name, sizeof(key->name), &map->name);
}

static __always_inline bool same_name(const char *name)
{
	for (int i = 0; i < 16; i++) {
		if (name[i] != wanted_map_name[i])
			return false;
		if (!name[i])
			break;
	}
	return true;
}

/* Fills the key in, all but who it is. A new map's fd is known at the return only, result. */
static __always_inline void look_at_call(struct task_struct *task, const struct pt_regs *regs, long result,
					 struct map_call_key *key)
{
	__u32 cmd = regs->di, fd = result;

	key->command = cmd + 1;
	if (fd_is_result >> cmd & 1 ? result < 0 : !read_fd(regs, cmd, &fd))
		no_map(key, fd_is_result >> cmd & 1 ? CALL_NOT_CREATED : CALL_UNREADABLE);
	else
		look_at_fd(task, fd, key);
}

static __always_inline bool wants_map(const struct map_call_key *key)
{
	if (only_map_id && (key->kind != CALL_ON_MAP || key->map_id != wanted_map_id))
		return false;
	if (only_map_name && (key->kind != CALL_ON_MAP || !same_name(key->name)))
		return false;
	return !only_map_type || (key->kind == CALL_ON_MAP && key->map_type == wanted_map_type);
}

/* at the return, more is known of it: the new map, or a page of attributes that the kernel has fetched meanwhile */
static __always_inline bool is_late(const struct map_call_key *key)
{
	return key->kind == CALL_NOT_CREATED || key->kind == CALL_UNREADABLE;
}

static __always_inline bool wants_cmd(struct task_struct *task, __u32 cmd)
{
	return measuring && cmd < 64 && wanted_cmds >> cmd & 1 && task->tgid != own_tgid;
}

/* ---- it begins ---- */

static __always_inline void begins(struct task_struct *task, const struct pt_regs *regs, enum way way)
{
	__u32 cmd = regs->di, pid;
	struct map_call_counts *counts;
	struct call *call;

	if (!wants_cmd(task, cmd))
		return;
	pid = task_user_pid(task);
	counts = own_counts();
	if (!counts || !task_wanted(task, pid, 0))
		return;
	call = bpf_task_storage_get(&calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call) {
		counts->no_memory++;
		return;
	}
	if (call->start_ns && !(call->begun_by & way)) {
		call->begun_by |= way;
		return;
	}
	if (call->start_ns)
		counts->returns_unseen++;
	call->start_ns = 0;
	call->begun_by = way;
	call->returned_by = 0;
	look_at_call(task, regs, -1, &call->key);
	if (!is_late(&call->key) && !wants_map(&call->key))
		return;
	call->key.pid = pid;
	call->off.left_ns = 0;
	call->blocked_ns = call->waiting_ns = 0;
	call->nr_blocked = 0;
	call->user_stack = 0;
	call->user_end = END_NOT_TAKEN;
	call->told = true;
	counts->entered++;
	call->start_ns = bpf_ktime_get_ns();
}

SEC("tp/syscalls/sys_enter_bpf")
int call_begins(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	begins(task, (struct pt_regs *)bpf_task_pt_regs(task), BY_SYSCALL);
	return 0;
}

/* programs on raw tracepoints write per-CPU values: not to be preempted meanwhile, where they could be */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

static __always_inline void stay(void)
{
	if (bpf_preempt_disable)
		bpf_preempt_disable();
}

static __always_inline void may_leave(void)
{
	if (bpf_preempt_enable)
		bpf_preempt_enable();
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_begins_raw, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!is_bpf_call(task, nr))
		return 0;
	stay();
	begins(task, regs, BY_RAW);
	may_leave();
	return 0;
}

/* ---- it leaves the CPU and comes back ---- */

static __always_inline void add_blocked(struct call *call, __u64 blocked_ns)
{
	struct map_call_counts *counts = own_counts();
	__u32 i;

	for (i = 0; i < MAX_BLOCKED_STACKS; i++) {
		if (i >= call->nr_blocked) {
			call->nr_blocked = i + 1;
			call->blocked[i].kernel_stack = call->kernel_stack;
			call->blocked[i].ns = blocked_ns;
			return;
		}
		if (call->blocked[i].kernel_stack == call->kernel_stack) {
			call->blocked[i].ns += blocked_ns;
			return;
		}
	}
	if (counts)
		counts->stacks_untold++;
}

/* Is this CPU inside a map operation? Where that cannot be told, it may be. */
static __always_inline bool in_map_operation(void)
{
	__u64 offset = 0;
	int active = 1;

	if (!prog_active || bpf_probe_read_kernel(&offset, sizeof(offset), (void *)per_cpu_offset + 8 * bpf_get_smp_processor_id()))
		return true;
	bpf_probe_read_kernel(&active, sizeof(active), (void *)prog_active + offset);
	return active;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switches, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	struct call *call = call_in_flight(prev);
	__u64 blocked_ns, waited_ns;

	if (call) {
		bool runnable = leaves_runnable(preempt, prev_state);
		struct stack_stats *stats = own_stats();
		struct map_call_counts *counts = own_counts();

		if (preempt && counts && in_map_operation())
			counts->preempted++;
		off_cpu_leave(&call->off, bpf_ktime_get_ns(), runnable);
		call->kernel_stack = !runnable && stats ? send_kernel_stack(ctx, stats) : 0;
	}
	call = call_in_flight(next);
	if (call && off_cpu_return(&call->off, bpf_ktime_get_ns(), &blocked_ns, &waited_ns)) {
		call->blocked_ns += blocked_ns;
		call->waiting_ns += waited_ns;
		if (blocked_ns)
			add_blocked(call, blocked_ns);
	}
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(wakes, struct task_struct *task)
{
	struct call *call = call_in_flight(task);

	if (call)
		off_cpu_wake(&call->off, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(thread_dies, struct task_struct *task)
{
	struct call *call = call_in_flight(task);
	struct map_call_counts *counts = own_counts();

	if (call && counts) {
		call->start_ns = 0;
		counts->died++;
	}
	return 0;
}

/* ---- it returns ---- */

static __always_inline void series_key(const struct map_call_key *call, struct map_call_key *key, struct task_struct *task)
{
	__builtin_memset(key, 0, sizeof(*key));
	if (by_type)
		key->kind = call->kind;
	if (by_map)
		key->map_id = call->map_id;
	if (by_type)
		key->map_type = call->map_type;
	if (by_name)
		__builtin_memcpy(key->name, call->name, sizeof(key->name));
	if (by_command)
		key->command = call->command;
	if (by_process) {
		key->pid = call->pid;
		bpf_probe_read_kernel_str(key->comm, sizeof(key->comm), untrusted(task)->group_leader->comm);
	}
}

static __always_inline __u32 find_series(struct call *call, struct task_struct *task)
{
	struct map_call_key key;
	__u32 *number, new;

	if (!by_process && call->key.kind == CALL_ON_MAP && call->key.map_id == call->series_map_id &&
	    call->key.command == call->series_command)
		return call->series;
	series_key(&call->key, &key, task);
	number = bpf_map_lookup_elem(&series, &key);
	if (!number) {
		new = series_number();
		if (new == MAX_SERIES)
			return MAX_SERIES;
		bpf_map_update_elem(&series, &key, &new, BPF_NOEXIST);	/* another CPU may be first */
		number = bpf_map_lookup_elem(&series, &key);
		if (!number)
			return MAX_SERIES;
	}
	call->series = *number;
	call->series_map_id = call->key.kind == CALL_ON_MAP ? call->key.map_id : 0;
	call->series_command = call->key.command;
	return *number;
}

/* what bpf_loop() hands on: a call's time, stack by stack */
struct stacks_of_call {
	struct call *call;
	struct stack_key key;
	__u64 rest_ns;		/* of the latency, not yet added */
	bool raw;
};

/* the i-th stack that it was blocked in, or else the rest */
static long add_stack(__u32 i, struct stacks_of_call *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_stats *stats = own_stats();
	struct stack_value value = {};
	__u64 ns = s->rest_ns;
	__u32 zero = 0;
	struct eh_unwind *u = bpf_map_lookup_elem(&unwinds, &zero);

	if (!stats || !u)
		return 1;
	s->key.kernel_stack = 0;
	if (i < MAX_BLOCKED_STACKS && i < s->call->nr_blocked) {
		s->key.kernel_stack = s->call->blocked[i].kernel_stack;
		ns = s->call->blocked[i].ns;
	}
	s->rest_ns -= ns;
	value.count = !!ns;
	value.blocked_ns = s->key.kernel_stack ? ns : 0;
	value.waiting_ns = ns - value.blocked_ns;
	if (ns && !(s->raw && send_raw(u, task, &s->key, &value, 0)))
		add_value(&s->key, &value, stats);
	return 0;
}

/* The stacks that the call was blocked in; with user stacks, the rest of the time too. */
static __always_inline void add_stacks(struct call *call, struct task_struct *task)
{
	struct stacks_of_call s = { .call = call, .rest_ns = call->latency_ns };
	struct stack_stats *stats = own_stats();
	__u32 zero = 0;
	struct eh_unwind *u = bpf_map_lookup_elem(&unwinds, &zero);

	if (!stats || !u)
		return;
	s.key.end = END_NOT_TAKEN;
	s.key.flags = STACK_SLOT(call->slot);
	if (with_user_stacks) {
		unwind_current(u, task);
		s.raw = wants_raw(u);
		s.key.user_stack = call->user_stack = send_user_stack(u, stats);
		s.key.end = call->user_end = u->end;
		s.key.pid = call->key.pid;
	}
	bpf_loop(call->nr_blocked + with_user_stacks, add_stack, &s, 0);
}

static __always_inline void tell_slow(const struct call *call, struct task_struct *task, struct map_call_counts *counts)
{
	struct slow_call *slow = bpf_ringbuf_reserve(&slow_calls, sizeof(*slow), 0);

	if (!slow) {
		counts->slow_lost++;
		return;
	}
	slow->key = call->key;
	bpf_probe_read_kernel_str(slow->key.comm, sizeof(slow->key.comm), task->comm);
	slow->tid = task_user_tid(task);
	slow->result = call->result;
	slow->ended_ns = call->ended_ns;
	slow->latency_ns = call->latency_ns;
	slow->blocked_ns = call->blocked_ns;
	slow->waiting_ns = call->waiting_ns;
	slow->user_stack = call->user_stack;
	slow->user_end = call->user_end;
	slow->nr_blocked = call->nr_blocked;
	__builtin_memcpy(slow->blocked, call->blocked, sizeof(slow->blocked));
	bpf_ringbuf_submit(slow, 0);
}

/* its beginning was not seen: was it one that is wanted? */
static __always_inline void count_unseen(struct task_struct *task, const struct pt_regs *regs, long result, enum way way)
{
	struct call *call = bpf_task_storage_get(&calls, task, NULL, 0);
	struct map_call_counts *counts = own_counts();
	__u32 cmd = regs->di, pid = task_user_pid(task);
	struct map_call_key key = {};

	if (call && call->returned_by && call->returned_by != way) {
		call->returned_by = 0;
		return;
	}
	if (!counts || !wants_cmd(task, cmd) || !task_wanted(task, pid, 0))
		return;
	look_at_call(task, regs, result, &key);
	if (!wants_map(&key))
		return;
	counts->unseen++;
	if (!call)
		call = bpf_task_storage_get(&calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (call)
		call->returned_by = way;
}

static __always_inline void returns(struct task_struct *task, const struct pt_regs *regs, long result, enum way way)
{
	struct map_call_counts *counts;
	__u64 now_ns, latency_ns;
	struct call *call;

	now_ns = bpf_ktime_get_ns();
	call = call_in_flight(task);
	counts = own_counts();
	if (!counts)
		return;
	if (!call) {
		count_unseen(task, regs, result, way);
		return;
	}
	latency_ns = now_ns - call->start_ns;
	call->start_ns = 0;
	call->returned_by = way;
	if (is_late(&call->key)) {
		look_at_call(task, regs, result, &call->key);
		if (!wants_map(&call->key)) {
			counts->entered--;
			return;
		}
	}
	call->slot = series_slot(find_series(call, task));
	if (!series_add(call->slot, latency_ns, call->blocked_ns, call->waiting_ns, result < 0 ? -result : 0))
		counts->no_series++;
	call->latency_ns = latency_ns;
	call->ended_ns = now_ns;
	call->result = result;
	call->told = false;
}

/* What is told of a call that has returned, besides numbers: apart, so that this is verified once and not for each way that leads here. */
static __noinline void tell_stacks(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call *call = bpf_task_storage_get(&calls, task, NULL, 0);
	struct map_call_counts *counts = own_counts();

	if (!call || !counts || call->told)
		return;
	call->told = true;
	if (with_user_stacks || call->nr_blocked)
		add_stacks(call, task);
	if (slow_ns && call->latency_ns > slow_ns)
		tell_slow(call, task, counts);
}

SEC("tp/syscalls/sys_exit_bpf")
int call_returns(struct trace_event_raw_sys_exit *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	returns(task, (struct pt_regs *)bpf_task_pt_regs(task), ctx->ret, BY_SYSCALL);
	tell_stacks();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_returns_raw, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!is_bpf_call(task, regs->orig_ax))
		return 0;
	stay();
	returns(task, regs, result, BY_RAW);
	tell_stacks();
	may_leave();
	return 0;
}

/* ---- calls that have not returned ---- */

/* Every thread that is in one, as struct call_in_flight[]. */
SEC("iter/task")
int list_calls(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct call *call = task ? call_in_flight(task) : NULL;
	struct call_in_flight record = {};

	if (!call)
		return 0;
	record.key = call->key;
	record.start_ns = call->start_ns;
	record.tid = task_user_tid(task);
	bpf_probe_read_kernel_str(record.key.comm, sizeof(record.key.comm), task->comm);
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
