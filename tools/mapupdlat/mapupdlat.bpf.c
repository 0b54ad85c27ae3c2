// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Times calls of bpf(2) on maps: at the kernel's function for bpf(2) if possible, else by
 * tracepoints of system calls. call_ways.c chooses the programs that are loaded, and says why.
 *
 * The kernel skips each kind of program at different moments. Fentry and fexit programs, and from
 * 7.0 on programs on raw tracepoints, can be preempted, and are then skipped for other threads on
 * that CPU. Kprobes and programs on the tracepoints of single system calls are skipped while their
 * CPU is inside a map operation, even of a thread that was preempted there. So on kernels that
 * preempt, one program of each kind is loaded: the kernel rarely skips both for one event.
 */
#include "mapupdlat_abi.h"

#define SERIES_KEY struct map_call_key
#include "timed_calls.bpf.h"
#include "user_registers.bpf.h"

/* one is skipped inside map operations, the other is skipped while it is preempted itself */
enum { SKIPPED_IN_MAPS = CALL_WAY_1, SKIPPED_PREEMPTED = CALL_WAY_2 };

/* ---- what is measured: set before loading ---- */

const volatile __u64 wanted_cmds;  /* bits: enum bpf_cmd */
const volatile __u64 fd_in_batch;  /* commands whose attributes are those of a batch */
const volatile __u64 fd_is_result; /* commands that return the map's fd */
const volatile bool only_map_id, only_map_name, only_map_type;
const volatile __u32 wanted_map_id, wanted_map_type;
const volatile char wanted_map_name[16];
const volatile bool by_type, by_map, by_name, by_process, by_command;

/* ---- the tool itself ---- */

__s32 own_map_fd; /* the fd of any map of the tool; set before note_self() is run */
__u64 map_fops; /* the address of the kernel's bpf_map_fops, by which a map's file is recognised */

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *fdt = untrusted(task)->files->fdt;
	struct file *file = NULL;

	if (fd < fdt->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), fdt->fd + fd);
	return file;
}

/* Run once by the tool, in its own process. */
SEC("syscall")
int note_self(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct files_struct *files = BPF_CORE_READ(task, files);
	struct fdtable *fdt = BPF_CORE_READ(files, fdt);
	struct file **fds = BPF_CORE_READ(fdt, fd), *file = NULL;

	bpf_probe_read_kernel(&file, sizeof(file), fds + own_map_fd);
	map_fops = (__u64)BPF_CORE_READ(file, f_op);
	find_prog_active();
	return 0;
}

/*
 * The raw tracepoints are 32-bit programs' too, whose numbers are others. The tool's own calls go
 * on at once: where programs on raw tracepoints can be preempted, they are at preemption_on(), and
 * hide what others do on that CPU.
 */
static __always_inline bool is_bpf_call(struct task_struct *task, __u64 nr)
{
	return nr == NR_BPF && !is_call_of_32bit(task) && task->tgid != own_tgid;
}

/* ---- what the call is on ---- */

/* Reads the map's fd as the kernel does: attributes beyond the given size are 0. */
static __always_inline bool read_fd(const struct pt_regs *regs, __u32 cmd, __u32 *fd)
{
	__u32 at = fd_in_batch >> cmd & 1 ? bpf_core_field_offset(union bpf_attr, batch.map_fd) : 0;
	__u32 given = CALL_ARGUMENT_3(regs);

	*fd = 0;
	if (given >= at + sizeof(*fd))
		return !bpf_probe_read_user(fd, sizeof(*fd), (void *)CALL_ARGUMENT_2(regs) + at);
	return given <= at ||
	       !bpf_probe_read_user(fd, (given - at) & 3, (void *)CALL_ARGUMENT_2(regs) + at);
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
		return; /* the same map as in the thread's last call: the rest is right already */
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

/*
 * Fills in the key, except the process. result: the call's result, which is the fd if it creates a
 * map; -1 at entry
 */
static __always_inline void look_at_call(struct task_struct *task, const struct pt_regs *regs,
					 long result, struct map_call_key *key)
{
	__u32 cmd = CALL_ARGUMENT_1(regs), fd = result;

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

/*
 * Is the map known at the return only? A new one is, and one whose attributes were not in memory at
 * the entry.
 */
static __always_inline bool is_late(const struct map_call_key *key)
{
	return key->kind == CALL_NOT_CREATED || key->kind == CALL_UNREADABLE;
}

static __always_inline bool wants_cmd(struct task_struct *task, __u32 cmd)
{
	return measuring && cmd < 64 && wanted_cmds >> cmd & 1 && task->tgid != own_tgid;
}

/* ---- entry ---- */

static __always_inline void begins(struct task_struct *task, const struct pt_regs *regs,
				   enum call_way way)
{
	__u32 cmd = CALL_ARGUMENT_1(regs), pid;
	struct timed_call *call;

	if (!wants_cmd(task, cmd))
		return;
	pid = task_user_pid(task);
	if (!task_wanted(task, pid, 0))
		return;
	call = call_enter(task, way);
	if (!call)
		return;
	look_at_call(task, regs, -1, &call->key);
	if (!is_late(&call->key) && !wants_map(&call->key))
		return;
	call->key.pid = pid;
	call_start(call, pid);
}

static __always_inline void begin_call(enum call_way way)
{
	struct task_struct *task = bpf_get_current_task_btf();

	begins(task, (struct pt_regs *)bpf_task_pt_regs(task), way);
}

SEC("?fentry/" CALL_FUNCTION("bpf"))
int BPF_PROG(function_begins, const struct pt_regs *regs)
{
	preemption_off();
	begins(bpf_get_current_task_btf(), regs, SKIPPED_PREEMPTED);
	preemption_on();
	return 0;
}

SEC("?ksyscall/bpf")
int kprobe_begins(void *ctx)
{
	begin_call(SKIPPED_IN_MAPS);
	return 0;
}

SEC("?tp/syscalls/sys_enter_bpf")
int call_begins(void *ctx)
{
	begin_call(SKIPPED_IN_MAPS);
	return 0;
}

SEC("?tp_btf/sys_enter")
int BPF_PROG(call_begins_raw, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!is_bpf_call(task, nr))
		return 0;
	preemption_off();
	begins(task, regs, SKIPPED_PREEMPTED);
	preemption_on();
	return 0;
}

/* ---- return ---- */

/* the series that a call belongs to */
static __always_inline void call_series(const struct map_call_key *call, struct map_call_key *key,
					struct task_struct *task)
{
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
		bpf_probe_read_kernel_str(key->comm, sizeof(key->comm),
					  untrusted(task)->group_leader->comm);
	}
}

/* A return without an entry: counts it if the call is one that is measured. */
static __always_inline void count_unseen(struct task_struct *task, const struct pt_regs *regs,
					 long result, enum call_way way)
{
	__u32 cmd = CALL_ARGUMENT_1(regs), pid = task_user_pid(task);
	struct map_call_key key = {};

	if (!wants_cmd(task, cmd) || !task_wanted(task, pid, 0))
		return;
	look_at_call(task, regs, result, &key);
	if (wants_map(&key))
		call_unseen(task, way);
}

static __always_inline void returns(struct task_struct *task, const struct pt_regs *regs,
				    long result, enum call_way way)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct call_counts *counts = own_counts();
	bool again;
	struct timed_call *call;

	if (!counts || !measuring)
		return;
	call = call_leave(task, way, &again);
	if (again)
		return;
	if (!call) {
		count_unseen(task, regs, result, way);
		return;
	}
	call_stop(call, task, way, now_ns);
	if (is_late(&call->key)) {
		look_at_call(task, regs, result, &call->key);
		if (!wants_map(&call->key)) {
			counts->entered--;
			return;
		}
	}
	call_finish(call, task, result);
}

SEC("?fexit/" CALL_FUNCTION("bpf"))
int BPF_PROG(function_returns, const struct pt_regs *regs, long result)
{
	preemption_off();
	returns(bpf_get_current_task_btf(), regs, result, SKIPPED_PREEMPTED);
	call_report();
	preemption_on();
	return 0;
}

SEC("?kretsyscall/bpf")
int kprobe_returns(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	returns(task, (struct pt_regs *)bpf_task_pt_regs(task), PT_REGS_RC(ctx), SKIPPED_IN_MAPS);
	call_report();
	return 0;
}

SEC("?tp/syscalls/sys_exit_bpf")
int call_returns(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	returns(task, regs, CALL_RESULT(regs), SKIPPED_IN_MAPS);
	call_report();
	return 0;
}

SEC("?tp_btf/sys_exit")
int BPF_PROG(call_returns_raw, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!is_bpf_call(task, syscall_of(regs)))
		return 0;
	preemption_off();
	returns(task, regs, result, SKIPPED_PREEMPTED);
	call_report();
	preemption_on();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
