// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/off_cpu_run.h"

#include "kernel/links.h"
#include "kernel/object.h"
#include "kernel/off_cpu.h"
#include "process/thread_state.h"
#include "report/json.h"
#include "run/kernel.h"
#include "run/stack_session.h"

error_t off_cpu_parse(int key, char *arg, struct argp_state *state)
{
	struct off_cpu_options *o = state->input;

	switch (key) {
	case 'm':
	case 'M':
		if (!cli_parse_time(arg, 1000, key == 'm' ? &o->min_ns : &o->max_ns))
			argp_failure(state, EXIT_USAGE, 0, "not a time: '%s'", arg);
		break;
	case OPTION_STATE:
		if (!thread_states_parse(arg, &o->states))
			argp_failure(
				state, EXIT_USAGE, 0,
				"not states (letters of RSDTtPI, or a mask of the kernel's bits): '%s'",
				arg);
		break;
	case OPTION_IDLE:
		o->stacks.idle = true;
		break;
	case ARGP_KEY_END:
		if (o->min_ns > o->max_ns)
			argp_failure(state, EXIT_USAGE, 0, "-m is more than -M");
		/* else each report has the values of all open periods that count */
		o->stacks.wanted.later =
			o->min_ns || o->max_ns != UINT64_MAX || o->part == OFF_CPU_WAITING;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/*
 * A kernel thread that sleeps has nothing to do, and who is idle waits for nothing: only who asks
 * for them wants to see that.
 */
static void set_states(struct bpf_object *object, const struct off_cpu_options *o)
{
	const struct task_filter *tasks = &o->stacks.run.tasks;
	bool all = tasks->only_kernel_threads || tasks->pids.nr || tasks->tids.nr || tasks->comm ||
		   o->part == OFF_CPU_WAITING; /* for a CPU they all wait */
	uint32_t idle = 1U << THREAD_IDLE, user = all ? ~0U : ~idle,
		 kernel = all ? ~0U : ~(idle | 1U << THREAD_SLEEPING);

	if (o->states)
		user = kernel = o->states;
	/* who waits for a CPU is not blocked: no stack is needed */
	if (o->part == OFF_CPU_BLOCKED) {
		user &= ~(1U << THREAD_RUNNABLE);
		kernel &= ~(1U << THREAD_RUNNABLE);
	}
	kernel_set(object, "wanted_states", &user, sizeof(user));
	kernel_set(object, "wanted_kernel_states", &kernel, sizeof(kernel));
}

void off_cpu_run_configure(struct bpf_object *object, const struct off_cpu_options *o)
{
	bool blocked = o->part != OFF_CPU_WAITING, waiting = o->part != OFF_CPU_BLOCKED;

	if (!waiting && o->states == 1U << THREAD_RUNNABLE)
		cli_die(EXIT_USAGE,
			"time blocked leaves nothing of --state=R: threads in state R wait to run, and are not blocked");
	kernel_set(object, "min_ns", &o->min_ns, sizeof(o->min_ns));
	kernel_set(object, "max_ns", &o->max_ns, sizeof(o->max_ns));
	set_states(object, o);
	kernel_set(object, "count_blocked", &blocked, sizeof(blocked));
	kernel_set(object, "count_waiting", &waiting, sizeof(waiting));
	stack_session_configure(object, &o->stacks.run, &o->stacks.wanted);
}

/* New threads first: those that exist already get their storages later, in off_cpu_begin(). */
static void attach(struct links *links, struct bpf_object *object)
{
	static const char *const programs[] = {
		"thread_begins", "worker_begins", "command_begins",  "thread_starts",
		"thread_waking", "thread_wakes",  "thread_switches",
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (object_has_program(object, programs[i]))
			kernel_check(links_attach_named(links, object, programs[i]),
				     "attach to the scheduler's tracepoints");
}

static void show_walk(const struct kernel_start *start, const char *whose)
{
	bool trusted = start->trusted && start->walks != UINT32_MAX;

	if (trusted)
		cli_warn("%skernel stacks: by the kernel's tables", whose);
	else
		cli_warn(
			"%skernel stacks: by bpf_get_stack() (the tables' were equal %d times, and wrong %u times)",
			whose, (int)start->walks, start->failed);
}

static void show_walks(struct bpf_object *object)
{
	const struct kernel_start *starts = off_cpu_starts(object);

	if (!starts)
		return;
	show_walk(&starts[START_AT_SWITCH], "");
	if (object_has_program(object, "thread_waking"))
		show_walk(&starts[START_AT_WAKING], "wakers' ");
}

static void add_filters(struct json_object *filters, const struct off_cpu_options *o)
{
	static const char *const parts[] = {
		[OFF_CPU_ALL] = "all", [OFF_CPU_BLOCKED] = "blocked", [OFF_CPU_WAITING] = "waiting"
	};
	char states[NR_THREAD_STATES + 1] = "";
	int nr = 0;

	json_object_object_add(filters, "part", json_object_new_string(parts[o->part]));
	if (o->min_ns)
		json_object_object_add(filters, "min_ns", json_number(o->min_ns));
	if (o->max_ns != UINT64_MAX)
		json_object_object_add(filters, "max_ns", json_number(o->max_ns));
	for (int i = 0; i < NR_THREAD_STATES; i++)
		if (o->states >> i & 1)
			states[nr++] = thread_state_letter(i);
	if (nr)
		json_object_object_add(filters, "states", json_object_new_string(states));
}

struct loss off_cpu_missed(const struct stack_session *session, const struct links *links)
{
	struct loss missed = kernel_missed(links);

	missed.count += stack_session_stats(session).returns_missed;
	missed.what =
		"scheduler events lost by the kernel on the whole machine: it did not report them, or a BPF program was "
		"already running on that CPU";
	return missed;
}

struct missed {
	const struct stack_session *session;
	const struct links *links;
	struct loss loss;
};

static void count_missed(void *arg)
{
	struct missed *missed = arg;

	missed->loss = off_cpu_missed(missed->session, missed->links);
}

static int take_open(void *arg, bool last)
{
	struct stack_session *session = arg;

	(void)last;
	return off_cpu_take_open(session->object, session->store, session->run.interval_ended_ns);
}

int off_cpu_run(struct bpf_object *object, const struct off_cpu_options *o)
{
	struct stack_session session;
	struct off_cpu_begun begun;
	struct links links = {};
	struct missed missed = { .session = &session, .links = &links };
	const struct own_losses lost = { &missed.loss, 1, count_missed, &missed };

	stack_session_open(&session, object, &o->stacks.run, &o->stacks.wanted);
	kernel_check(off_cpu_find_kernel(object), "find the kernel's tables");
	attach(&links, object);
	run_counts_from_now(&session.run);
	cli_check(off_cpu_begin(object, o->stacks.run.command, &begun),
		  "list the threads that are off the CPU");
	cli_check(off_cpu_take_stacks(&begun, object, session.store, session.foreign,
				      session.unwinder),
		  "take the stacks of the threads that are off the CPU");
	run_doing(&session.run, "Measuring time off the CPU");
	add_filters(session.run.filters, o);
	run_add(&session.run, &(struct run_part){ .doing = "list the threads that are off the CPU",
						  .interval = take_open,
						  .arg = &session });
	stack_session_measure(&session, &o->stacks, &off_cpu_measures[o->part], &lost);
	cli_check(off_cpu_end(object, session.store),
		  "list the threads that are still off the CPU");
	run_counted_until_now(&session.run);
	count_missed(&missed);
	links_detach(&links);

	if (o->stacks.run.verbose)
		show_walks(object);
	stack_session_report(&session);
	return stack_session_close(&session);
}
