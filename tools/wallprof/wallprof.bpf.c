// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sends every off-CPU period of the measured threads, with its waker, and samples of these threads.
 */
#include "wallprof_abi.h"

#include "off_cpu_periods.bpf.h"
#include "wakers.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} lives SEC(".maps");

__u64 periods_lost, samples_lost, names_lost; /* records that found no room */

/*
 * Periods and samples leave a quarter of the buffer to the beginnings and ends of lives, without
 * which nobody could tell how many of them were lost.
 */
static __always_inline bool send_moment(const void *record, __u32 bytes)
{
	__u64 size = bpf_ringbuf_query(&lives, BPF_RB_RING_SIZE);

	return bpf_ringbuf_query(&lives, BPF_RB_AVAIL_DATA) < size - size / 4 &&
	       !bpf_ringbuf_output(&lives, (void *)record, bytes, BPF_RB_NO_WAKEUP);
}

static __always_inline struct life_header header_of(__u32 tid, __u32 number, enum life_kind kind)
{
	return (struct life_header){
		.tid = tid,
		.number = number,
		.cpu = bpf_get_smp_processor_id(),
		.kind = kind,
	};
}

static __always_inline bool period_counts(const struct stack_value *value)
{
	return true;
}

static __always_inline void fill_period(struct life_period *period, const struct thread *thread,
					struct stack_key *key, __u64 left_ns,
					const struct stack_value *value)
{
	period->left_ns = left_ns;
	period->woken_ns = left_ns + value->blocked_ns;
	period->ran_ns = period->woken_ns + value->waiting_ns;
	period->taken_ns = thread->taken_ns;
	period->waker = key->waker;
	key->waker = 0; /* the same key, whoever ends the period */
}

/*
 * As a life_short_period, if it fits; 0 or less than 0. A global function, which the verifier looks
 * at once, and not for each way through its caller.
 */
__noinline int send_period(const struct life_period *p)
{
	struct life_short_period less = {};
	__u64 blocked_ns, waiting_ns;

	if (!p)
		return 0;
	blocked_ns = p->woken_ns - p->left_ns;
	waiting_ns = p->ran_ns - p->woken_ns;
	if (blocked_ns >> 48 | waiting_ns >> 40 | (p->taken_ns + (1ULL << 39)) >> 40)
		return send_moment(p, sizeof(*p)) ? 0 : -1;
	less.of = p->of;
	less.of.kind = LIFE_SHORT;
	less.left_ns = p->left_ns;
	less.key = p->key;
	less.waker = p->waker;
	less.blocked_ns = blocked_ns;
	less.waiting_low = waiting_ns;
	less.waiting_high = waiting_ns >> 16;
	less.taken_ns = p->taken_ns;
	return send_moment(&less, sizeof(less)) ? 0 : -1;
}

static __always_inline void period_ended(struct thread *thread, struct stack_key *key,
					 __u64 left_ns, const struct stack_value *value,
					 struct stack_stats *stats)
{
	struct life_period period = { .of = header_of(key->tid, ++thread->nr_ended, LIFE_PERIOD) };

	stats->samples++;
	fill_period(&period, thread, key, left_ns, value);
	period.key = number_key(key, stats);
	if (send_period(&period))
		__sync_fetch_and_add(&periods_lost, 1);
}

static __always_inline struct life_name name_of(struct task_struct *task, enum life_kind kind,
						__u64 now_ns)
{
	struct life_name name = {
		.of = header_of(task_user_tid(task), 0, kind),
		.time_ns = now_ns,
		.pid = task_user_pid(task),
		.uid = task_uid(task),
	};

	bpf_probe_read_kernel(name.comm, sizeof(name.comm), task->comm);
	return name;
}

static __always_inline void send_name(const struct life_name *name)
{
	if (bpf_ringbuf_output(&lives, (void *)name, sizeof(*name), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&names_lost, 1);
}

/*
 * of thread->told: user space knows nothing of the thread; its life; that this has ended, with its
 * move out of the cgroup
 */
enum { NOT_TOLD, TOLD, LEFT };

static __always_inline void send_end(const struct thread *thread, struct task_struct *task,
				     enum life_kind kind, __u64 now_ns)
{
	struct life_end end = {
		.of = header_of(task_user_tid(task), thread->nr_ended, kind),
		.time_ns = now_ns,
		.taken_ns = thread->taken_ns,
	};

	if (thread->told == TOLD && bpf_ringbuf_output(&lives, &end, sizeof(end), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&names_lost, 1);
}

/*
 * A thread that moves into a cgroup begins a life there, and one that moves out has ended it: what
 * it does elsewhere is in none.
 */
static __always_inline bool thread_fits(struct thread *thread, struct task_struct *task,
					__u64 now_ns)
{
	bool fits = task_fits(task), known = thread->told == NOT_TOLD && thread->nr_ended;
	struct life_name name;

	if (fits == (thread->told == TOLD))
		return fits;
	if (fits) { /* known: by a period that it was in when the measurement began */
		name = name_of(task, known ? LIFE_OBSERVED : LIFE_BEGINS, now_ns);
		if (!known)
			thread->nr_ended = 0;
		send_name(&name);
	} else {
		send_end(thread, task, LIFE_ENDS, now_ns);
	}
	thread->told = fits ? TOLD : LEFT;
	return fits;
}

static __always_inline void thread_ended(struct thread *thread, struct task_struct *task,
					 __u64 now_ns)
{
	send_end(thread, task, LIFE_ENDS, now_ns);
}

/*
 * A thread that is preempted between here and its end may never run again before the measurement
 * ends. No iterator finds it then, so its end is told here.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(thread_exits, struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);

	if (thread && !ended_ns)
		send_end(thread, task, LIFE_EXITS, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(thread_renamed, struct task_struct *task, const char *comm)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, NULL, 0);
	struct life_name name;

	if (ended_ns || !thread || thread->told != TOLD)
		return 0;
	name = name_of(task, LIFE_RENAMED, bpf_ktime_get_ns());
	bpf_probe_read_kernel_str(name.comm, sizeof(name.comm), comm);
	send_name(&name);
	return 0;
}

/* ---- samples ---- */

ONE_PER_CPU(struct stack_key) sampled SEC(".maps");

SEC("perf_event")
int sample_thread(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_stats *stats = own_stats();
	__u32 zero = 0;
	struct stack_key *key = bpf_map_lookup_elem(&sampled, &zero);
	struct user_walk *u = bpf_map_lookup_elem(&unwinds, &zero);
	struct life_sample sample;
	struct thread *thread;
	__u64 now_ns;

	if (!stats || !key || !u || ended_ns)
		return 0;
	stats->runs++;
	if (task->pid == 0)
		stats->idle_runs++;
	thread = bpf_task_storage_get(&threads, task, NULL, 0);
	now_ns = bpf_ktime_get_ns();
	if (!thread || !thread_fits(thread, task, now_ns))
		return 0;
	end_unseen(thread, task, now_ns);
	name_thread(key, task, THREAD_RUNNABLE);
	if (with_kernel_stacks && is_in_kernel(ctx))
		key->kernel_stack = send_kernel_stack(ctx, stats);
	take_user_stack(u, task, key, stats);
	sample.of = header_of(key->tid, 0, LIFE_SAMPLE);
	sample.time_ns = bpf_ktime_get_ns();
	sample.key = number_key(key, stats);
	sample.pad = 0;
	if (!send_moment(&sample, sizeof(sample)))
		__sync_fetch_and_add(&samples_lost, 1);
	return 0;
}

/* ---- threads that exist when the measurement begins, and when it ends ---- */

/* Outputs a life_name for each measured thread: to be run after begin_periods. */
SEC("iter/task")
int list_lives(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *thread = task ? bpf_task_storage_get(&threads, task, NULL, 0) : NULL;
	struct life_name name;
	__u64 begun_ns;

	if (!thread || SIGNED_FIELD(task, exit_state) || !task_fits(task))
		return 0;
	begun_ns = thread->seen == BEGUN ? thread->first.off.left_ns : 0;
	name = name_of(task, LIFE_OBSERVED, begun_ns ? begun_ns : bpf_ktime_get_ns());
	thread->told = TOLD;
	bpf_seq_write(ctx->meta->seq, &name, sizeof(name));
	return 0;
}

__u64 listed_ns; /* set by user space */

/*
 * Outputs a life_period (LIFE_OPEN) for each measured thread that is off the CPU, up to listed_ns,
 * while the measurement goes on. A thread whose return the kernel did not report is left out: its
 * period is sent at its next switch.
 */
SEC("iter/task")
int list_open(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *thread = task ? bpf_task_storage_get(&threads, task, NULL, 0) : NULL;
	struct stack_stats *stats = own_stats();
	struct life_period open = {};
	struct stack_value value;
	struct period *period;
	struct stack_key key;
	struct off_cpu off;
	__u64 from_ns;

	if (!thread || !stats || ended_ns || thread->told != TOLD)
		return 0;
	period = current_period(thread);
	from_ns = period->off.from_ns;
	if (!from_ns || from_ns >= listed_ns || off_cpu_returned_unseen(&period->off, task))
		return 0;
	barrier();
	off = period->off;
	key = period->key;
	barrier();
	if (!take_part(&off, from_ns, listed_ns, delays_at(&off, task, listed_ns), &value) ||
	    period->off.from_ns != from_ns)
		return 0; /* it has come back meanwhile: its period was sent at the switch */
	open.of = header_of(key.tid, thread->nr_ended, LIFE_OPEN);
	fill_period(&open, thread, &key, from_ns, &value);
	open.key = number_key(&key, stats);
	bpf_seq_write(ctx->meta->seq, &open, sizeof(open));
	return 0;
}

/*
 * Ends the measurement: outputs a life_period (LIFE_OPEN) or a life_end (LIFE_RUNS) for each
 * measured thread.
 */
SEC("iter/task")
int end_lives(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct stack_stats *stats = own_stats();
	struct life_period last = {};
	struct stack_value value;
	struct thread *thread;
	struct period *period;
	struct off_cpu off;

	if (!ended_ns)
		ended_ns = bpf_ktime_get_ns();
	thread = task ? bpf_task_storage_get(&threads, task, NULL, 0) : NULL;
	if (!thread || !stats || thread->told != TOLD)
		return 0;
	end_unseen(thread, task, ended_ns);
	period = current_period(thread);
	off = period->off;
	last.of = header_of(task_user_tid(task), thread->nr_ended, LIFE_RUNS);
	last.left_ns = ended_ns;
	if (end_period(&off, ended_ns, delays_at(&off, task, ended_ns), &value)) {
		__u64 waker = period->key.waker;

		last.of.kind = LIFE_OPEN;
		fill_period(&last, thread, &period->key, period->off.left_ns, &value);
		last.key = number_key(&period->key, stats);
		/*
		 * which fill_period() has cleared: when the buffer is full, this runs again for the
		 * task
		 */
		period->key.waker = waker;
	}
	bpf_seq_write(ctx->meta->seq, &last, sizeof(last));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
