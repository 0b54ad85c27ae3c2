// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/stack_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bpf/object.h"
#include "live/terminal.h"
#include "process/cgroup.h"
#include "process/clock.h"
#include "process/priority.h"
#include "report/counted.h"
#include "report/json.h"
#include "report/other_stacks.h"
#include "report/stack_report.h"
#include "report/stack_summary.h"
#include "report/time_of_day.h"
#include "run/kernel.h"
#include "run/signals.h"
#include "run/run_report.h"
#include "run/run_start.h"
#include "runtimes/runtimes.h"
#include "stacks_abi.h"
#include "unwind/host_unwind.h"
#include "unwind/processes.h"

/* a report that takes more of a CPU is long, and nothing is lost while it waits for one */
#define REPORT_CPU_MS 500

static void set_hash_seed(struct bpf_object *object)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		cli_check(-errno, "get a random number");
	seed |= 1;
	kernel_set(object, "hash_seed", &seed, sizeof(seed));
	host_unwind_seed(seed);
}

void stack_session_configure(struct bpf_object *object, const struct run_options *run,
			     const struct stacks_wanted *wanted)
{
	static const char *const maps_of_stacks[] = { "values", "sent" };
	bool user = !wanted->only_kernel, kernel = !wanted->only_user;

	priority_begin();
	task_filter_configure(object, &run->tasks, run->command);
	kernel_set(object, "with_user_stacks", &user, sizeof(user));
	kernel_set(object, "with_kernel_stacks", &kernel, sizeof(kernel));
	kernel_set(object, "follow_all", &wanted->others, sizeof(wanted->others));
	kernel_set(object, "with_runtimes", &wanted->runtimes, sizeof(wanted->runtimes));
	kernel_set(object, "max_depth", &wanted->max_depth, sizeof(wanted->max_depth));
	kernel_check(unwinder_configure(object, user), "load the BPF programs");
	set_hash_seed(object);
	kernel_check(object_resize_to_cpus(object, "raw_samples"), "load the BPF programs");
	if (wanted->max_depth > DEFAULT_DEPTH)
		kernel_check(object_resize_to_cpus(object, "deep_stacks"), "load the BPF programs");
	for (size_t i = 0; i < sizeof(maps_of_stacks) / sizeof(maps_of_stacks[0]); i++)
		kernel_check(object_resize(object, maps_of_stacks[i], wanted->max_stacks),
			     "load the BPF programs");
}

/* ---- as a part of the run ---- */

/* Those that have come, or become another program, since the last time. */
static int see_programs(struct stack_session *s)
{
	const struct processes *processes = unwinder_processes(s->unwinder);
	int error = 0;

	if (s->programs_seen == processes->nr_programs)
		return 0;
	for (struct process *process = processes->by_pid; process && !error; process = process->hh.next)
		if (process->program > s->programs_seen)
			error = cmdlines_see(s->cmdlines, process->pid, process->program);
	s->programs_seen = processes->nr_programs;
	return error;
}

static int work(void *arg)
{
	struct stack_session *s = arg;
	int error = namer_follow(s->namer);

	priority_watch(&s->priority, 0, clock_cpu_ns());
	if (!error)
		error = unwinder_follow(s->unwinder, false);
	runtime_names_follow(s->runtime_names, s->foreign);
	if (!error)
		error = see_programs(s);
	return error ? error : cmdlines_follow(s->cmdlines);
}

static void add_to_run(struct stack_session *s)
{
	struct run_part part = {
		.doing = "gather the stacks",
		.work = work,
		.arg = s,
		.fds = s->urgent,
		.nr_fds = UNWINDER_FDS,
	};

	unwinder_fds(s->unwinder, s->urgent);
	run_add(&s->run, &part);
}

static int progress(void *arg, uint64_t *count)
{
	struct stack_session *s = arg;
	struct stack_stats stats;
	int error = stack_store_sum_stats(s->store, &stats);

	if (!error)
		*count = stats.samples;
	return error;
}

void stack_session_show_progress(struct stack_session *s, const char *counted)
{
	run_add(&s->run, &(struct run_part){ .progress = progress, .counted = counted, .arg = s });
}

/* ---- opening ---- */

static void start_namer(struct stack_session *s, const struct naming_options *naming)
{
	struct symbol_options options = SYMBOL_OPTIONS_DEFAULT;
	struct namer_options how = { .interrupt_fd = signals_fd() };
	const char *urls = getenv("DEBUGINFOD_URLS");

	options.search.directories = naming->directories;
	options.search.nr_directories = naming->nr_directories;
	options.no_demangle = naming->no_demangle;
	options.chosen = s->nr_pids || s->run.options->command;
	if (naming->debuginfod || (urls && *urls))
		cli_check(debuginfod_new(&s->debuginfod), "fetch debug files");
	modules_set_symbol_options(s->modules, &options);
	s->names = (struct frame_names){ .modules = s->modules, .jit = s->jit };
	how.debuginfod = s->debuginfod;
	cli_check(namer_new(&s->namer, &s->names, &how), "name the frames");
}

/*
 * Files and functions that will not be there any more when all is printed are read while their processes
 * live.
 */
static int see_stack(void *arg, pid_t pid, uint64_t *frames, uint32_t *nr)
{
	struct stack_session *s = arg;

	*nr = runtime_names_see(s->runtime_names, unwinder_runtimes(s->unwinder, pid), s->foreign, pid, frames, *nr);
	return namer_see(s->namer, pid, frames, *nr);
}

static void start_unwinder(struct stack_session *s)
{
	const struct run_options *run = s->run.options;
	struct unwinder_options options = {
		.user_stacks = !s->wanted->only_kernel,
		.all = ((!s->nr_pids && !run->command) || s->wanted->others) && !s->wanted->only_kernel,
		.pids = s->pids,
		.nr_pids = s->nr_pids,
		.children = run->command || run->tasks.children,
		.max_depth = s->wanted->max_depth,
		.kernel_bytes = s->wanted->memory.kernel,
		.user_bytes = s->wanted->memory.user / 8 * 3,
	};

	kernel_check(unwinder_new(&s->unwinder, s->object, s->modules, s->store, &options),
		  "follow the processes");
	cli_check(unwinder_start(s->unwinder), "read the processes' mappings");
}

/* The tool has read nothing of others yet, of which the serving process could have a copy. */
static void open_web_view(struct stack_session *s)
{
	const struct server_address *at = &s->run.options->serve_at;
	int error = web_view_new(&s->web_view, at, s->wanted->memory.user / 16);
	unsigned port;

	if (error == -ENOSYS)
		cli_die(EXIT_FAILURE, "--serve needs the library libmicrohttpd.so.12, which is not there, or cannot be used");
	cli_check(error, "listen");
	cli_warn("open %s in a browser", web_view_url(s->web_view));
	port = web_view_port(s->web_view);
	if (!server_is_local(at))
		cli_warn("nothing is encrypted: who can read the network sees it, too. With --serve=%u and 'ssh -L %u:127.0.0.1:%u HOST' nobody does",
			 port, port, port);
}

void stack_session_open(struct stack_session *s, struct bpf_object *object, const struct run_options *run,
			const struct stacks_wanted *wanted)
{
	*s = (struct stack_session){ .object = object, .wanted = wanted };
	if (wanted->runtimes)
		runtimes = all_runtimes;
	run_open(&s->run, run);
	if (run->serve)
		open_web_view(s);
	if (wanted->only_user || wanted->only_kernel)
		json_object_object_add(s->run.filters, "stacks",
				       json_object_new_string(wanted->only_user ? "user" : "kernel"));
	s->modules = modules_new();
	s->jit = jit_processes_new();
	s->runtime_names = runtime_names_new();
	s->kallsyms = kallsyms_new();
	cli_check(s->modules && s->jit && s->runtime_names && s->kallsyms ? 0 : -ENOMEM, "set up");
	cli_check(cmdlines_new(&s->cmdlines), "set up");
	cli_check(foreign_new(&s->foreign, wanted->memory.user / 8 * 5), "set up");
	modules_set_foreign(s->modules, s->foreign);
	s->pids = task_filter_processes(&run->tasks, &s->nr_pids);
	start_namer(s, &wanted->naming);
	cli_check(stack_store_new(&s->store, object), "set up");
	stack_store_limit(s->store, wanted->memory.user / 4);
	s->run.object = object;
	task_filter_list(object, &run->tasks);
	start_unwinder(s);
	if (run->live)
		cli_check(terminal_take(), "begin the view");
	run_get_ready(&s->run);
	if (run->command) {
		task_filter_await(object, s->run.command.pid);
		cli_check(unwinder_expect(s->unwinder, s->run.command.pid), "start the command");
	}
	stack_store_on_stack(s->store, see_stack, s);
	add_to_run(s);
}

/* ---- what was gathered ---- */

void stack_session_see_trampolines(struct stack_session *s)
{
	if (!s->wanted->only_user)
		kallsyms_read(s->kallsyms);
}

void stack_session_drain(struct stack_session *s)
{
	/* not before: programs and modules of the kernel come and go */
	if (!s->wanted->only_user)
		kallsyms_begin(s->kallsyms);
	cli_check(unwinder_follow(s->unwinder, true), "read the results");
	cli_check(stack_store_finish(s->store), "read the results");
	priority_leave_after(REPORT_CPU_MS);
}

static struct frame_names names_of(const struct stack_session *s)
{
	return (struct frame_names){
		.modules = s->modules, .namer = s->namer, .runtimes = s->runtime_names,
		.jit = s->jit, .kallsyms = s->kallsyms,
	};
}

struct stack_writer stack_session_writer(struct stack_session *s)
{
	return (struct stack_writer){ .out = s->run.out, .names = names_of(s), .ended = signals_cut_report };
}

#define SETTLE_MS 300	/* for names that were asked for and have not come */

void stack_session_place(const struct stack_session *s, struct placed_stacks *placed,
			 struct stack_entry *entries, size_t nr)
{
	struct placing how = { s->modules, s->runtime_names, s->wanted->naming.native_frames };

	runtime_names_settle(s->runtime_names, s->foreign, SETTLE_MS);
	cli_check(placed_stacks_add(placed, &how, entries, nr), "name the frames");
}

void stack_session_note(const struct stack_session *s, struct process_notes *notes, const uint32_t *pids, size_t nr)
{
	char path[4096];

	for (size_t i = 0; i < nr; i++)
		cli_check(cmdlines_see(s->cmdlines, pids[i], 0), "record the processes");
	cli_check(cmdlines_settle(s->cmdlines, SETTLE_MS), "record the processes");
	for (size_t i = 0; i < nr; i++) {
		/* where the process is now: what has ended has no cgroup any more */
		bool in_cgroup = !process_notes_find(notes, pids[i]) && !cgroup_path(pids[i], path, sizeof(path));

		cli_check(process_notes_add(notes, pids[i], cmdlines_get(s->cmdlines, pids[i]), in_cgroup ? path : NULL),
			  "record the processes");
	}
}

/* those of the stacks, and of their wakers */
static void note_processes(const struct stack_session *s, struct process_notes *notes, const struct stack_entry *entries,
			   size_t nr)
{
	uint32_t *pids = calloc(2 * nr + 1, sizeof(*pids));
	size_t nr_pids = 0;

	cli_check(pids ? 0 : -ENOMEM, "record the processes");
	for (size_t i = 0; i < nr; i++) {
		pids[nr_pids++] = entries[i].key.pid;
		if (entries[i].waker)
			pids[nr_pids++] = entries[i].waker->key.pid;
	}
	stack_session_note(s, notes, pids, nr_pids);
	free(pids);
}

void stack_session_describe(struct stack_session *s, const struct stack_options *o, const char *report)
{
	struct json_object *start = s->run.start;

	json_object_object_add(start, "report", json_object_new_string(report));
	json_object_object_add(start, "command_line", json_name(o->run.command_line));
	if (o->wanted.naming.lines)
		json_object_object_add(start, "lines", json_object_new_boolean(true));
}

/* what a stack's value is, of which frames it has one more */
static void describe_measure(struct stack_session *s, const struct measure *measure)
{
	struct json_object *start = s->run.start;

	json_object_object_add(start, "counted", json_object_new_string(measure->counted));
	if (measure->sum_unit)
		json_object_object_add(start, "summed", json_name(measure->sum_unit));
	if (!measure->is_time && measure->value_ns)
		json_object_object_add(start, "sample_ns", json_object_new_uint64(measure->value_ns));
	if (measure->root)
		json_object_object_add(start, "by_event", json_object_new_boolean(true));
}

struct stack_stats stack_session_stats(const struct stack_session *s)
{
	struct stack_stats stats;

	cli_check(stack_store_sum_stats(s->store, &stats), "read the results");
	return stats;
}

uint64_t stack_session_lost(const struct stack_session *s, const struct perf_events *events)
{
	struct stack_stats *stats;
	struct perf_runs *runs;
	uint64_t lost;
	size_t nr;

	cli_check(stack_store_stats(s->store, &stats, &nr), "read the results");
	runs = calloc(nr, sizeof(*runs));
	cli_check(runs ? 0 : -ENOMEM, "read the results");
	for (size_t cpu = 0; cpu < nr; cpu++)
		runs[cpu] = (struct perf_runs){ .runs = stats[cpu].runs, .idle_runs = stats[cpu].idle_runs };
	cli_check(perf_events_lost(events, runs, &lost), "read the results");
	free(runs);
	free(stats);
	return lost;
}

/* ---- the report ---- */

size_t stack_session_losses(const struct stack_session *s, const char *unfollowed, const struct loss *losses,
			    size_t nr_losses, struct loss all[MAX_LOSSES])
{
	struct stack_stats stats = stack_session_stats(s);
	const struct loss own[] = {
		{ "lost_no_room", stats.no_room - s->reported.no_room,
		  "samples lost by this tool: no room, see --max-stacks and --max-memory", .lost = true },
		{ "forks_lost", stats.forks_lost - s->reported.forks_lost,
		  unfollowed ? unfollowed : "tasks not followed: too many at a time" },
		{ "processes_refused", unwinder_counts(s->unwinder).refused, NULL },
		{ "stacks_lost", stats.stacks_lost - s->reported.stacks_lost,
		  "failed attempts to send a stack's frames: the ring buffer was full" },
	};

	return losses_join(all, losses, nr_losses, own, sizeof(own) / sizeof(own[0]));
}

struct stack_writer stack_session_named_writer(struct stack_session *s, const struct stack_options *o)
{
	struct stack_writer writer = stack_session_writer(s);

	writer.delimiter = o->delimiter;
	writer.annotate = o->annotate;
	writer.top = o->top;
	writer.by_total = o->by_total;
	writer.names.inlined = o->wanted.naming.inlined;
	writer.names.lines = o->wanted.naming.lines;
	return writer;
}

static bool others_follow(const struct stack_session *s)
{
	return s->run.options->interval_ns && !run_reports_apart(&s->run);
}

/* a line with the time of day above a report on which others follow, as interval outputs have it */
static void put_time(const struct stack_session *s, const struct stack_format *format)
{
	if (others_follow(s) && format == stack_format_text)
		fprintf(s->run.out, "%.*s\n", TIME_OF_DAY_SECONDS, time_of_day(s->reported_until * 1e9).text);
}

static void count_names(const struct stack_session *s, struct names_count *count,
			const struct frame_names *names, const struct placed_stacks *placed,
			const struct stack_entry *entries, size_t nr)
{
	cli_check(names_count(count, names, entries, nr), "name the frames");
	if (s->wanted->runtimes)
		memcpy(count->calls, placed->calls, sizeof(count->calls));
}

/* How many frames a report has room for, in the longest of its formats. Text of few stacks and functions is small. */
static uint64_t room_of(const struct stack_options *o)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < run_nr_outputs(&o->run); i++) {
		const struct stack_format *format = o->outputs[i].format;
		uint64_t room = o->max_report / format->frame_bytes;

		if ((format != stack_format_text || o->top == TOP_ALL) && room < least)
			least = room;
	}
	return least;
}

struct idle_asked stack_session_asked(const struct stack_session *s)
{
	const struct task_filter *tasks = &s->run.options->tasks;
	pid_t only = tasks->pids.nr == 1 ? tasks->pids.ids[0] : 0;

	return (struct idle_asked){
		.main = s->run.command.pid > 0 ? s->run.command.pid : only,
		.tids = tasks->tids.ids, .nr_tids = tasks->tids.nr,
	};
}

/* Marks the waits of idle threads, and puts them last. How many entries are others */
static size_t mark_idle(const struct stack_session *s, const struct stack_options *o, struct stack_summary *summary,
			const struct frame_names *names, struct stack_entry *entries, size_t nr)
{
	struct idle_asked asked = stack_session_asked(s);
	size_t others;

	if (!summary->measure->of_waits || o->idle)
		return nr;
	cli_check(idle_mark(entries, nr, summary->seconds * 1e9, &asked, names, &summary->idle_threads), "find the idle threads");
	others = idle_to_end(entries, nr);
	for (size_t i = others; i < nr; i++)
		summary->idle_ns += summary->measure->value(&entries[i].value);
	return others;
}

/* Writes the report to the output in use. */
static void write_report(struct stack_session *s, struct stack_writer *writer, const struct stack_format *format,
			 const struct stack_summary *summary, const struct stack_entry *entries, size_t nr, bool last)
{
	int error;

	run_report_begin(&s->run, summary->started_ns / 1000000000);
	put_time(s, format);
	writer->out = s->run.out;
	error = format->write(writer, summary, entries, nr);
	if (others_follow(s) && format == stack_format_folded && !last)
		putc('\n', s->run.out);	/* readers of folded stacks skip empty lines */
	cli_flush(s->run.out);
	cli_check(ferror(s->run.out) ? 0 : error, "print the stacks");	/* run_report_end() says why writing failed */
}

static void warn_crowded(const struct stack_session *s)
{
	uint32_t uid, nr = stack_store_crowded(s->store, &uid);

	if (!nr)
		return;
	fprintf(stderr, "%s: no room for more stacks of uid %" PRIu32, program_invocation_short_name, uid);
	if (nr > 1)
		fprintf(stderr, " and of %s", counted(nr - 1, "other users").text);
	fputs(": their values are summed up by thread, see --max-memory\n", stderr);
}

/*
 * Makes a report of these entries, which were measured in this time (CLOCK_MONOTONIC). room: for so many frames. free_made() comes
 * after it.
 */
static void make_report(struct stack_session *s, struct made_report *made, double from, double until, const struct loss *losses,
			size_t nr_losses, uint64_t room, struct stack_entry *entries, size_t nr)
{
	const struct stack_options *o = s->options;
	const struct measure *measure = s->measure;
	struct stack_summary *summary = &made->summary;

	*made = (struct made_report){ .entries = entries, .nr = nr };
	*summary = (struct stack_summary){
		.tool = program_invocation_short_name,
		.command_line = s->run.options->command_line,
		.measure = measure,
		.started_ns = clock_realtime_ns(from * 1e9),
		.seconds = until - from,
		.losses = made->losses,
		.of_some = task_filter_is_set(&s->run.options->tasks) || s->run.options->command,
	};
	summary->nr_losses = stack_session_losses(s, measure->unfollowed, losses, nr_losses, made->losses);
	stack_summary_count(summary, entries, nr);
	cli_check(other_stacks_sum_up(&made->others, measure, room, entries, &made->nr),
		  "read the results");
	summary->summed_up = made->others.nr;

	made->writer = stack_session_named_writer(s, o);
	made->writer.root = measure->root;
	stack_entries_sort(entries, made->nr, measure);
	cli_check(namer_learn(s->namer, entries, made->nr), "name the frames");
	note_processes(s, &made->processes, entries, made->nr);
	made->writer.processes = &made->processes;
	stack_session_place(s, &made->placed, entries, made->nr);
	count_names(s, &summary->names, &made->writer.names, &made->placed, entries, made->nr);
	made->nr_busy = mark_idle(s, o, summary, &made->writer.names, entries, made->nr);
}

static void free_made(struct made_report *made)
{
	process_notes_free(&made->processes);
	placed_stacks_free(&made->placed);
	other_stacks_free(&made->others);
	*made = (struct made_report){};
}

/* Writes it to all outputs. last: the run is over */
static void write_made(struct stack_session *s, struct made_report *made, bool last)
{
	const struct stack_options *o = s->options;
	const struct stack_summary *summary = &made->summary;

	for (size_t i = 0; i < run_nr_outputs(&o->run); i++) {
		const struct stack_format *format = o->outputs[i].format;
		bool all = format == stack_format_json && (!o->top || o->top == TOP_ALL);

		run_use_output(&s->run, i);
		write_report(s, &made->writer, format, summary, made->entries, all ? made->nr : made->nr_busy, last);
	}
	if (last || !o->run.quiet)
		stack_summary_print(stderr, summary);
	if (last) {
		stack_summary_refused(stderr, summary->tool, unwinder_processes(s->unwinder), made->entries, made->nr);
		stack_summary_tableless(stderr, summary->tool, s->modules, made->entries, made->nr);
		if (s->wanted->runtimes)
			stack_summary_unknown_runtimes(stderr, summary->tool, s->modules, made->entries, made->nr);
		stack_summary_nameless(stderr, summary->tool, s->namer);
		stack_summary_unread(stderr, summary->tool, s->modules);
	}
	for (size_t i = run_nr_outputs(&o->run); i-- > 0;) {
		run_use_output(&s->run, i);
		run_report_end(&s->run, last);
	}
}

/* when the measured time ends, or its part that a report is of */
static double measured_until(const struct stack_session *s, bool last)
{
	return last ? s->run.counted_from + s->run.seconds : s->run.interval_ended_ns / 1e9;
}

/* Adds what has come to the history. *value: its sum */
static int look(struct stack_session *s, uint64_t until_ns, uint64_t *value)
{
	struct stack_entry *entries;
	size_t nr;
	int error = s->source ? s->source->take(s->source->arg, &entries, &nr) : stack_store_hand_out(s->store, 0, 0, &entries, &nr);

	*value = 0;
	for (size_t i = 0; i < nr && !error; i++) {
		*value += s->measure->value(&entries[i].value);
		s->taken += entries[i].value.count;
	}
	return error ? error : history_add(s->history, entries, nr, until_ns);
}

/* Forgets what no later report needs. */
static void forget(struct stack_session *s)
{
	if (s->source)
		return;
	stack_store_forget(s->store, !s->wanted->later);
	cmdlines_forget(s->cmdlines);
	s->programs_seen = 0;	/* who lives is read again, before it ends */
}

/* ---- the history, for views ---- */

/* drawing takes at most one part in so many of the time; but who looks does not wait long, as after first names */
#define VIEW_SHARE 10
#define VIEW_REST_NS 5000000000

static void note_modules(void *arg, bool *used, size_t nr)
{
	const struct stack_session *s = arg;

	history_note_modules(s->history, &s->part, used, nr);
}

static void begin_history(struct stack_session *s)
{
	if (!s->wanted->only_user)
		kallsyms_begin(s->kallsyms);
	s->history = history_new(s->measure, s->reported_until * 1e9, s->wanted->memory.user / 16);
	cli_check(s->history ? 0 : -ENOMEM, "begin the view");
	stack_store_also_note(s->store, note_modules, s);
}

/* How long it is to be until the next look: what takes long is done less often; and a stopped tool does not catch up. */
static uint64_t rest_ns(const struct stack_session *s, uint64_t least_ns)
{
	uint64_t rest = clamped((clock_ns() - s->run.interval_ended_ns) * VIEW_SHARE, 0, VIEW_REST_NS);

	return rest > least_ns ? rest : least_ns;
}

/* ---- the view in a browser ---- */

#define SLICE_NS 1000000000
#define SLICE_FRAMES 200000
#define IDLE_NS 20000000000	/* in a slice alone, it is not seen who is idle */

static void warn_web_view(int error)
{
	if (error)
		cli_warn("the view in the browser has ended: %s", strerror(-error));
}

/* What was measured in the last time, in which the idle waits are marked; to be freed */
static struct history_part idle_lately(struct stack_session *s, const struct frame_names *names)
{
	struct idle_asked asked = stack_session_asked(s);
	struct history_part last = {};
	size_t threads;

	if (!s->measure->of_waits || s->options->idle)
		return last;
	cli_check(history_take(s->history, IDLE_NS, &last), "read the results");
	cli_check(idle_mark(last.entries, last.nr, last.until_ns - last.from_ns, &asked, names, &threads), "find the idle threads");
	return last;
}

/* Sends what the history has got since the last slice, unless that one is still on its way. */
static void serve(struct stack_session *s, uint64_t until_ns)
{
	struct stack_stats reported = s->reported;
	struct live_shown shown = { .start = s->run.start };
	struct history_part part, last;
	struct made_report made;

	if (!s->web_view || !web_view_is_ready(s->web_view))
		return;
	cli_check(history_take(s->history, until_ns - s->served_until_ns, &part), "read the results");
	s->reported = s->served;	/* losses since then */
	s->served = stack_session_stats(s);
	make_report(s, &made, s->served_until_ns / 1e9, until_ns / 1e9, NULL, 0, SLICE_FRAMES, part.entries, part.nr);
	s->reported = reported;
	shown.writer = made.writer;
	shown.summary = made.summary;
	shown.entries = made.entries;
	shown.nr = made.nr_busy;
	shown.nr_all = made.nr;
	last = idle_lately(s, &made.writer.names);
	warn_web_view(web_view_refresh(s->web_view, &shown, &last, until_ns));
	s->served_until_ns = until_ns;
	history_part_free(&last);
	free_made(&made);
	history_part_free(&part);
	namer_forget(s->namer);
}

/* Adds what came until the end, and sends it. */
static void look_last(struct stack_session *s)
{
	uint64_t until_ns = measured_until(s, true) * 1e9, value;

	if (until_ns <= s->served_until_ns)	/* rounded */
		until_ns = s->served_until_ns + 1;
	cli_check(look(s, until_ns, &value), "read the results");
	serve(s, until_ns);
}

static void end_web_view(struct stack_session *s, const char *said)
{
	if (s->web_view)
		web_view_end(s->web_view, said);
	s->web_view = NULL;
}

static void end_web_view_of(struct stack_session *s, const struct stack_summary *summary)
{
	char *said = stack_summary_text(summary);

	end_web_view(s, said ? said : "");
	free(said);
}

void stack_session_end_view(struct stack_session *s, const char *said)
{
	if (s->web_view)
		look_last(s);
	end_web_view(s, said);
}

static int work_web_view(void *arg)
{
	struct stack_session *s = arg;

	warn_web_view(web_view_work(s->web_view));
	return 0;
}

/* ---- reports ---- */

/* Reports what has come since the last report. last: the run is over */
static void report(struct stack_session *s, const struct loss *losses, size_t nr_losses, bool last)
{
	double until = measured_until(s, last);
	struct history_part part = {};
	struct made_report made;
	struct stack_entry *entries;
	size_t nr;

	if (s->history) {
		if (last)
			look_last(s);
		cli_check(history_take(s->history, 0, &part), "read the results");
		entries = part.entries;
		nr = part.nr;
	} else {
		cli_check(stack_store_hand_out(s->store, 0, 0, &entries, &nr), "read the results");
	}
	make_report(s, &made, s->reported_until, until, losses, nr_losses, room_of(s->options), entries, nr);
	made.summary.earlier = nr_losses ? s->reported_count : 0;	/* the tool's own are known in the last report only */
	write_made(s, &made, last);
	s->reported_until = until;
	s->reported = stack_session_stats(s);
	s->reported_count += made.summary.sum.count;
	if (last)
		end_web_view_of(s, &made.summary);
	free_made(&made);
	history_part_free(&part);
	if (s->history)
		history_reset(s->history);
}

static int interval(void *arg, bool last)
{
	struct stack_session *s = arg;

	(void)last;
	priority_leave_after(REPORT_CPU_MS);	/* until the next look at what is taken */
	report(s, NULL, 0, false);
	namer_forget(s->namer);
	forget(s);
	return 0;
}

/* ---- the same with a view in a browser alone ---- */

/* the next slice, or the next report if that is earlier */
static void plan(struct stack_session *s)
{
	uint64_t wait_ns = rest_ns(s, SLICE_NS);
	double left = s->next_report ? s->next_report - clock_seconds() : wait_ns / 1e9;

	run_set_interval(&s->run, clamped(left * 1e9, 1, wait_ns));
}

static int interval_served(void *arg, bool last)
{
	struct stack_session *s = arg;
	uint64_t until_ns = s->run.interval_ended_ns, value;
	int error;

	(void)last;
	priority_leave_after(REPORT_CPU_MS);	/* until the next look at what is taken */
	error = look(s, until_ns, &value);
	if (error)
		return error;
	forget(s);
	serve(s, until_ns);
	if (s->next_report && until_ns / 1e9 >= s->next_report) {
		report(s, NULL, 0, false);
		namer_forget(s->namer);
		s->next_report += s->options->run.interval_ns / 1e9;
	}
	plan(s);
	return 0;
}

static void begin_web_view(struct stack_session *s)
{
	uint64_t every_ns = s->options->run.interval_ns;
	struct run_part part = { .doing = "serve the view", .work = work_web_view, .arg = s };

	warn_web_view(web_view_begin(s->web_view, s->run.start, s->measure));
	s->served_until_ns = s->reported_until * 1e9;
	if (!s->view) {
		part.interval = interval_served;
		s->next_report = every_ns ? s->reported_until + every_ns / 1e9 : 0;
		run_set_interval(&s->run, every_ns && every_ns < SLICE_NS ? every_ns : SLICE_NS);
	}
	run_add(&s->run, &part);
}

/* ---- the view in the terminal ---- */

/* Makes the report that the view shows, with the losses that are known by now. */
static int show(void *arg, uint64_t window_ns, const struct live_shown **shown)
{
	struct stack_session *s = arg;
	struct made_report *made = &s->made;
	int error;

	free_made(made);
	history_part_free(&s->part);
	namer_forget(s->namer);
	error = history_take(s->history, window_ns, &s->part);
	if (error)
		return error;
	make_report(s, made, s->part.from_ns / 1e9, s->part.until_ns / 1e9, NULL, 0, room_of(s->options), s->part.entries, s->part.nr);
	made->summary.earlier = s->taken - made->summary.sum.count;
	s->shown = (struct live_shown){
		.writer = made->writer, .summary = made->summary, .entries = made->entries, .nr = made->nr_busy,
		.nr_all = made->nr, .start = s->run.start,
	};
	*shown = &s->shown;
	return 0;
}

static int refresh_view(void *arg, bool last)
{
	struct stack_session *s = arg;
	double now = s->run.interval_ended_ns / 1e9, seconds = now - s->looked;
	uint64_t cpu_ns = clock_cpu_ns(), value;
	int error;

	(void)last;
	priority_leave_after(REPORT_CPU_MS);	/* until the next look at what is taken */
	error = look(s, s->run.interval_ended_ns, &value);
	if (error)
		return error;
	forget(s);
	serve(s, s->run.interval_ended_ns);
	error = live_view_refresh(s->view, seconds, value, (cpu_ns - s->looked_cpu_ns) / 1e9 / seconds);
	s->looked = now;
	s->looked_cpu_ns = cpu_ns;
	run_set_interval(&s->run, rest_ns(s, s->refresh_ns));
	return error;
}

static int work_in_view(void *arg)
{
	struct stack_session *s = arg;

	return live_view_work(s->view);
}

static void reset_history(void *arg)
{
	struct stack_session *s = arg;

	history_reset(s->history);
}

static void set_interval(void *arg, uint64_t ns)
{
	struct stack_session *s = arg;

	s->refresh_ns = ns;
	run_set_interval(&s->run, ns);
}

static void end_run(void *arg)
{
	struct stack_session *s = arg;

	run_end(&s->run);
}

static void begin_view(struct stack_session *s)
{
	const struct live_source source = {
		.doing = s->run.doing, .note = s->web_view ? web_view_url(s->web_view) : NULL, .show = show,
		.reset = reset_history, .set_interval = set_interval, .end = end_run, .arg = s,
	};
	const struct run_part part = {
		.doing = "draw the view", .work = work_in_view, .interval = refresh_view, .arg = s, .fds = &s->keys, .nr_fds = 1,
	};

	cli_check(terminal_begin(), "begin the view");
	signals_before_exit(terminal_reset);
	cli_check(live_view_new(&s->view, &source), "begin the view");
	s->keys = terminal_fd();
	s->looked = s->reported_until;
	s->looked_cpu_ns = clock_cpu_ns();
	set_interval(s, LIVE_INTERVAL_NS);
	run_add(&s->run, &part);
}

/* Reports what was shown; unless the user has left, with what has come since. */
static void report_shown(struct stack_session *s, const struct loss *losses, size_t nr_losses)
{
	struct made_report *made = &s->made;

	if (!s->run.over || !s->part.history) {
		look_last(s);
		cli_check(live_view_catch_up(s->view), "draw the view");
	}
	made->summary.nr_losses = stack_session_losses(s, s->measure->unfollowed, losses, nr_losses, made->losses);
	made->summary.earlier = s->taken - made->summary.sum.count;
	run_start_put(&s->run);
	write_made(s, made, true);
	end_web_view_of(s, &made->summary);
}

static void free_view(struct stack_session *s)
{
	live_view_free(s->view);
	free_made(&s->made);
	history_part_free(&s->part);
	history_free(s->history);
}

/* ---- measuring ---- */

void stack_session_measure(struct stack_session *s, const struct stack_options *o,
			   const struct measure *measure)
{
	const struct run_part reports = { .doing = "report", .interval = interval, .arg = s };

	s->options = o;
	s->measure = measure;
	s->reported_until = s->run.counted_from ? s->run.counted_from : clock_seconds();
	stack_session_describe(s, o, s->source ? "timeline" : "stacks");
	if (!s->source)
		describe_measure(s, measure);
	stack_session_show_progress(s, measure->is_time && !s->source ? "periods" : measure->counted);
	if (o->run.live || o->run.serve)
		begin_history(s);
	if (o->run.live)
		begin_view(s);
	if (o->run.serve)
		begin_web_view(s);
	else if (o->run.interval_ns)
		run_add(&s->run, &reports);
	run_measure(&s->run);
	terminal_end();
	if (o->run.live && o->run.command)
		cli_check(terminal_pass_on(), "pass on the command's output");
}

void stack_session_report(struct stack_session *s, const struct stack_options *o,
			  const struct measure *measure, const struct loss *losses, size_t nr_losses)
{
	s->options = o;
	s->measure = measure;
	stack_session_drain(s);
	if (s->view)
		report_shown(s, losses, nr_losses);
	else
		report(s, losses, nr_losses, true);
}

/* ---- the end ---- */

static void show_counts(const struct stack_session *s)
{
	struct unwinder_counts c = unwinder_counts(s->unwinder);

	kernel_say_verified(s->object);
	if (c.untraced_munmap)
		cli_warn("mapping changes are not seen (%s): frames in code that has just replaced other code may be wrong",
			 strerror(c.untraced_munmap));
	cli_warn("start: %s read in %.1f ms, %s compiled in %.1f ms, %llu KiB of slabs inserted in %.1f ms, lists published in %.1f ms",
		 counted(c.processes, "processes").text, c.read_s * 1e3, counted(c.files_at_start, "files").text,
		 c.compile_s * 1e3, (unsigned long long)c.slab_bytes / 1024, c.insert_s * 1e3,
		 c.publish_s * 1e3);
	if (c.unpublished)
		cli_warn("%llu mapping lists could not be published", (unsigned long long)c.unpublished);
	if (c.regions_given_up)
		cli_warn("JIT code changed too often, and was not read any more: %s",
			 counted(c.regions_given_up, "mappings").text);
	cli_warn("run: %llu files (%llu without a table), %llu rows in %llu bytes of tables, %llu tables evicted; "
		 "%llu process events, %llu publications (%llu waited for a slab), %llu raw samples",
		 (unsigned long long)c.files, (unsigned long long)c.files_without_table,
		 (unsigned long long)c.rows, (unsigned long long)c.table_bytes, (unsigned long long)c.evicted,
		 (unsigned long long)c.events,
		 (unsigned long long)c.publications, (unsigned long long)c.slab_waits,
		 (unsigned long long)c.raw_samples);
}

int stack_session_close(struct stack_session *s)
{
	int status, unnamed = kallsyms_error(s->kallsyms);

	if (unnamed)
		cli_warn("kernel functions are shown without names: %s", kallsyms_explain(unnamed));
	warn_crowded(s);
	status = run_close(&s->run);
	terminal_passed();
	if (s->run.options->verbose)
		show_counts(s);
	free_view(s);
	unwinder_free(s->unwinder);
	namer_free(s->namer);
	stack_store_free(s->store);
	modules_free(s->modules);
	foreign_free(s->foreign);
	cmdlines_free(s->cmdlines);
	jit_processes_free(s->jit);
	runtime_names_free(s->runtime_names);
	debuginfod_free(s->debuginfod);
	kallsyms_free(s->kallsyms);
	free(s->pids);
	return status;
}
