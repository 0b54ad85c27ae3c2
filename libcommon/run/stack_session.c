// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/stack_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/memory_limit.h"
#include "kernel/kernel_names.h"
#include "kernel/object.h"
#include "live/terminal.h"
#include "process/cgroup.h"
#include "process/kallsyms.h"
#include "process/priority.h"
#include "report/counted.h"
#include "report/json.h"
#include "run/kernel.h"
#include "run/signals.h"
#include "runtimes/runtimes.h"
#include "stacks_abi.h"
#include "unwind/host_unwind.h"
#include "unwind/processes.h"

static void set_hash_seed(struct bpf_object *object)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		cli_check(-errno, "get a random number");
	seed |= 1;
	kernel_set(object, "hash_seed", &seed, sizeof(seed));
	host_unwind_seed(seed);
}

/* of processes and threads that maps have room for; with little memory, tables need it more */
#define MAX_PROCESSES           65536
#define MAX_PROCESSES_OF_LITTLE 16384
#define LITTLE_MEMORY           (128 << 20)

static int size_maps(struct bpf_object *object, const struct run_options *run,
		     const struct stacks_wanted *wanted)
{
	uint32_t processes =
		wanted->memory.kernel < LITTLE_MEMORY ? MAX_PROCESSES_OF_LITTLE : MAX_PROCESSES;
	bool pids = run->tasks.pids.nr || run->command;
	const struct {
		const char *name;
		uint32_t nr;
		bool at_once;
	} maps[] = {
		{ "values", wanted->max_stacks, wanted->may_be_nmi },
		{ "sent", wanted->max_stacks, wanted->may_be_nmi },
		{ "procs", processes },
		{ "changes", processes },
		{ "exiting", processes },
		{ "listed_pids", pids ? processes : 1 },
		{ "listed_tids", run->tasks.tids.nr ? processes : 1 },
	};
	int error = 0;

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]) && !error; i++) {
		error = object_resize(object, maps[i].name, maps[i].nr);
		if (!error && maps[i].at_once)
			error = object_preallocate(object, maps[i].name);
	}
	return error;
}

void stack_session_configure(struct bpf_object *object, const struct run_options *run,
			     const struct stacks_wanted *wanted)
{
	bool user = !wanted->only_kernel, kernel = !wanted->only_user;

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
	kernel_check(size_maps(object, run, wanted), "load the BPF programs");
}

/* ---- as a part of the run ---- */

/*
 * Reads the command lines of processes that have begun, or become another program, since the last
 * call.
 */
static int see_programs(struct stack_session *s)
{
	const struct processes *processes = unwinder_processes(s->unwinder);
	int error = 0;

	if (s->programs_seen == processes->nr_programs)
		return 0;
	for (struct process *process = processes_after(processes, s->programs_seen);
	     process && !error; process = process->next)
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
	if (unwinder_is_behind(s->unwinder))
		run_hurry(&s->run);
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
	struct namer_options how = {
		.interrupt_fd = signals_fd, /* signals are handled later */
	};
	const char *urls = getenv("DEBUGINFOD_URLS");

	options.search.directories = naming->directories;
	options.search.nr_directories = naming->nr_directories;
	options.no_demangle = naming->no_demangle;
	options.chosen = s->nr_pids || s->run.options->command;
	if (!naming->no_debuginfod && urls && *urls)
		cli_check(debuginfod_new(&s->debuginfod), "fetch debug files");
	modules_set_symbol_options(s->modules, &options);
	s->names = (struct frame_names){ .modules = s->modules };
	how.debuginfod = s->debuginfod;
	cli_check(namer_new(&s->namer, s->modules, &how), "name the frames");
}

/*
 * Called for each new user stack. Reads names that may be gone at the end while the processes live:
 * those of runtimes' functions, and those in files that may disappear.
 */
static int see_stack(void *arg, pid_t pid, uint32_t uid, uint64_t *frames, uint32_t *nr)
{
	struct stack_session *s = arg;

	*nr = runtime_names_see(s->runtime_names, unwinder_runtimes(s->unwinder, pid), s->foreign,
				pid, frames, *nr);
	return namer_see(s->namer, pid, uid, frames, *nr);
}

static void start_unwinder(struct stack_session *s)
{
	const struct run_options *run = s->run.options;
	struct unwinder_options options = {
		.user_stacks = !s->wanted->only_kernel,
		.all = ((!s->nr_pids && !run->command) || s->wanted->others) &&
		       !s->wanted->only_kernel,
		.pids = s->pids,
		.nr_pids = s->nr_pids,
		.children = run->command || run->tasks.children,
		.max_depth = s->wanted->max_depth,
		.kernel_bytes = s->wanted->memory.kernel,
		.user_bytes = s->wanted->memory.user / 8 * 3,
		.use = runtime_names_use,
		.forget = runtime_names_forget,
		.names = s->runtime_names,
	};

	kernel_check(unwinder_new(&s->unwinder, s->object, s->modules, s->store, &options),
		     "follow the processes");
	cli_check(unwinder_start(s->unwinder), "read the processes' mappings");
}

/*
 * Called before the tool has read anything of other users, because the serving process has a copy
 * of the tool's memory.
 */
static void open_web_view(struct stack_session *s)
{
	const struct server_address *at = &s->run.options->serve_at;
	int error = web_view_new(&s->web_view, at, s->wanted->memory.user / 16);
	unsigned port;

	if (error == -ENOSYS)
		cli_die(EXIT_FAILURE,
			"--serve needs the library libmicrohttpd.so.12, which is not there, or cannot be used");
	cli_check(error, "listen");
	cli_warn("open %s in a browser", web_view_url(s->web_view));
	port = web_view_port(s->web_view);
	if (!server_is_local(at))
		cli_warn(
			"nothing is encrypted: who can read the network sees it, too. With --serve=%u and 'ssh -L %u:127.0.0.1:%u HOST' nobody does",
			port, port, port);
}

void stack_session_open(struct stack_session *s, struct bpf_object *object,
			const struct run_options *run, const struct stacks_wanted *wanted)
{
	*s = (struct stack_session){ .object = object, .wanted = wanted };
	memory_limit_set(wanted->memory.user);
	if (wanted->runtimes)
		runtimes = all_runtimes;
	run_open(&s->run, run);
	if (run->serve)
		open_web_view(s);
	if (wanted->only_user || wanted->only_kernel)
		json_object_object_add(s->run.filters, "stacks",
				       json_object_new_string(wanted->only_user ? "user"
										: "kernel"));
	s->modules = modules_new();
	s->runtime_names = runtime_names_new();
	s->kernel = kernel_symbols_new(kernel_names_ask, object);
	cli_check(s->modules && s->runtime_names && s->kernel ? 0 : -ENOMEM, "set up");
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

void stack_session_drain(struct stack_session *s)
{
	priority_take_for(2 * REPORT_CPU_MS); /* with what the ring buffer still has */
	cli_check(unwinder_follow(s->unwinder, true), "read the results");
	cli_check(stack_store_finish(s->store), "read the results");
}

static struct frame_names names_of(const struct stack_session *s)
{
	return (struct frame_names){
		.modules = s->modules,
		.namer = s->namer,
		.runtimes = s->runtime_names,
		.kernel = s->kernel,
	};
}

struct stack_writer stack_session_writer(struct stack_session *s)
{
	return (struct stack_writer){ .out = s->run.out,
				      .names = names_of(s),
				      .ended = signals_cut_report };
}

#define SETTLE_MS 300 /* a report waits so long for names that were asked for and have not come */

void stack_session_place(const struct stack_session *s, struct placed_stacks *placed,
			 struct stack_entry *entries, size_t nr)
{
	struct placing how = { s->modules, s->runtime_names, s->wanted->naming.native_frames };

	runtime_names_settle(s->runtime_names, s->foreign, SETTLE_MS);
	cli_check(placed_stacks_add(placed, &how, entries, nr), "name the frames");
}

void stack_session_note(const struct stack_session *s, struct process_notes *notes,
			const uint32_t *pids, size_t nr)
{
	char path[4096];

	for (size_t i = 0; i < nr; i++)
		cli_check(cmdlines_see(s->cmdlines, pids[i], 0), "record the processes");
	cli_check(cmdlines_settle(s->cmdlines, SETTLE_MS), "record the processes");
	for (size_t i = 0; i < nr; i++) {
		/* the current cgroup; a process that has ended has none any more */
		bool in_cgroup = !process_notes_find(notes, pids[i]) &&
				 !cgroup_path(pids[i], path, sizeof(path));

		cli_check(process_notes_add(notes, pids[i], cmdlines_get(s->cmdlines, pids[i]),
					    in_cgroup ? path : NULL),
			  "record the processes");
	}
}

void stack_session_describe(struct stack_session *s, const struct stack_options *o,
			    const char *report)
{
	struct json_object *start = s->run.start;

	json_object_object_add(start, "report", json_object_new_string(report));
	json_object_object_add(start, "command_line", json_name(o->run.command_line));
	if (o->wanted.naming.lines)
		json_object_object_add(start, "lines", json_object_new_boolean(true));
}

struct stack_stats stack_session_stats(const struct stack_session *s)
{
	struct stack_stats stats;

	cli_check(stack_store_sum_stats(s->store, &stats), "read the results");
	return stats;
}

uint64_t stack_session_lost(const struct stack_session *s, struct perf_events *events)
{
	struct stack_stats *stats;
	struct perf_runs *runs;
	uint64_t lost;
	size_t nr;

	cli_check(perf_events_look(events), "read the results");
	cli_check(stack_store_stats(s->store, &stats, &nr), "read the results");
	runs = calloc(nr, sizeof(*runs));
	cli_check(runs ? 0 : -ENOMEM, "read the results");
	for (size_t cpu = 0; cpu < nr; cpu++)
		runs[cpu] = (struct perf_runs){ .runs = stats[cpu].runs,
						.idle_runs = stats[cpu].idle_runs };
	lost = perf_events_lost(events, runs);
	free(runs);
	free(stats);
	return lost;
}

static size_t losses_by_now(const struct stack_session *s, struct loss all[MAX_LOSSES])
{
	const char *unfollowed = s->measure->unfollowed;
	struct stack_stats stats = stack_session_stats(s);
	const struct loss of_stacks[] = {
		{ "lost_no_room", stats.no_room,
		  "samples lost by this tool: no room, see --max-stacks and --max-memory",
		  .lost = true },
		{ "forks_lost", stats.forks_lost,
		  unfollowed ? unfollowed : "tasks not followed: too many at a time" },
		{ "processes_refused", unwinder_counts(s->unwinder).refused, NULL },
		{ "stacks_lost", stats.stacks_lost,
		  "failed attempts to send a stack's frames: the ring buffer was full" },
	};

	return losses_join(all, s->own_losses->rows, s->own_losses->nr, of_stacks,
			   sizeof(of_stacks) / sizeof(of_stacks[0]));
}

size_t stack_session_losses(const struct stack_session *s, const int64_t lost[MAX_LOSSES],
			    struct loss all[MAX_LOSSES])
{
	size_t nr = losses_by_now(s, all);

	for (size_t i = 0; i < nr && lost; i++)
		all[i].count = lost[i] > 0 ? lost[i] : 0;
	return nr;
}

void stack_session_lost_since(struct stack_session *s, int64_t lost[MAX_LOSSES])
{
	struct loss all[MAX_LOSSES];
	size_t nr = losses_by_now(s, all);

	memset(lost, 0, MAX_LOSSES * sizeof(*lost));
	for (size_t i = 0; i < nr; i++) {
		lost[i] = all[i].count - s->counted_losses[i];
		s->counted_losses[i] = all[i].count;
	}
}

struct stack_writer stack_session_named_writer(struct stack_session *s,
					       const struct stack_options *o)
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

void stack_session_explain(const struct stack_session *s, const struct stack_entry *entries,
			   size_t nr)
{
	const char *tool = program_invocation_short_name;

	stack_summary_refused(stderr, tool, unwinder_processes(s->unwinder), entries, nr);
	stack_summary_crowded(stderr, tool, s->modules);
	stack_summary_tableless(stderr, tool, s->modules, entries, nr);
	if (s->wanted->runtimes)
		stack_summary_unknown_runtimes(stderr, tool, s->modules, entries, nr);
	stack_summary_nameless(stderr, tool, s->namer);
	stack_summary_unread(stderr, tool, s->modules);
}

struct idle_asked stack_session_asked(const struct stack_session *s)
{
	const struct task_filter *tasks = &s->run.options->tasks;
	pid_t only = tasks->pids.nr == 1 ? tasks->pids.ids[0] : 0;

	return (struct idle_asked){
		.main = s->run.command.pid > 0 ? s->run.command.pid : only,
		.tids = tasks->tids.ids,
		.nr_tids = tasks->tids.nr,
	};
}

static void warn_crowded(const struct stack_session *s)
{
	uint32_t uid, nr = stack_store_crowded(s->store, &uid);

	if (!nr)
		return;
	fprintf(stderr, "%s: no room for more stacks of uid %" PRIu32,
		program_invocation_short_name, uid);
	if (nr > 1)
		fprintf(stderr, " and of %s", counted(nr - 1, "other users").text);
	fputs(": their values are summed up by thread, see --max-memory\n", stderr);
}

/* ---- the end ---- */

static void show_counts(const struct stack_session *s)
{
	struct unwinder_counts c = unwinder_counts(s->unwinder);

	kernel_say_verified(s->object);
	if (c.untraced_munmap)
		cli_warn(
			"mapping changes are not seen (%s): frames in code that has just replaced other code may be wrong",
			strerror(c.untraced_munmap));
	cli_warn(
		"start: %s read in %.1f ms, %s compiled in %.1f ms, %llu KiB of slabs inserted in %.1f ms, lists published in %.1f ms",
		counted(c.processes, "processes").text, c.read_s * 1e3,
		counted(c.files_at_start, "files").text, c.compile_s * 1e3,
		(unsigned long long)c.slab_bytes / 1024, c.insert_s * 1e3, c.publish_s * 1e3);
	if (c.unpublished)
		cli_warn("%llu mapping lists could not be published",
			 (unsigned long long)c.unpublished);
	if (c.regions_given_up)
		cli_warn("JIT code changed too often, and was not read any more: %s",
			 counted(c.regions_given_up, "mappings").text);
	cli_warn(
		"run: %llu files (%llu without a table), %llu rows in %llu bytes of tables, %llu tables evicted; "
		"%llu process events, %llu publications (%llu waited for a slab), %llu raw samples",
		(unsigned long long)c.files, (unsigned long long)c.files_without_table,
		(unsigned long long)c.rows, (unsigned long long)c.table_bytes,
		(unsigned long long)c.evicted, (unsigned long long)c.events,
		(unsigned long long)c.publications, (unsigned long long)c.slab_waits,
		(unsigned long long)c.raw_samples);
}

int stack_session_close(struct stack_session *s)
{
	int status, unnamed = kernel_symbols_error(s->kernel);

	if (unnamed)
		cli_warn("kernel functions are shown without names: %s", kallsyms_explain(unnamed));
	warn_crowded(s);
	status = run_close(&s->run);
	terminal_passed();
	if (s->run.options->verbose)
		show_counts(s);
	stack_session_free_views(s);
	unwinder_free(s->unwinder);
	namer_free(s->namer);
	stack_store_free(s->store);
	modules_free(s->modules);
	foreign_free(s->foreign);
	cmdlines_free(s->cmdlines);
	runtime_names_free(s->runtime_names);
	debuginfod_free(s->debuginfod);
	kernel_symbols_free(s->kernel);
	free(s->pids);
	return status;
}
