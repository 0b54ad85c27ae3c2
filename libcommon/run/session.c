// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/session.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "bpf/load.h"
#include "process/clock.h"
#include "stacks_abi.h"

#define DRAIN_MS 50
#define GATHER_US 2000

/* ---- options into the kernel ---- */

int stack_session_configure(struct bpf_object *object, const struct stack_options *o)
{
	const struct {
		const char *name;
		bool value;
	} flags[] = {
		{ "only_listed_pids", o->pids.nr || o->command },
		{ "only_listed_tids", o->tids.nr },
		{ "only_user_threads", o->only_user_threads },
		{ "only_kernel_threads", o->only_kernel_threads },
		{ "follow_forks", o->command },
		{ "only_one_comm", o->comm },
		{ "only_one_cgroup", o->cgroup },
		{ "with_user_stacks", !o->only_kernel_stacks },
		{ "with_kernel_stacks", !o->only_user_stacks },
	};
	static const char *const maps_of_stacks[] = { "values", "sent" };
	struct bpf_map *raw_samples = bpf_object__find_map_by_name(object, "raw_samples");
	char comm[16] = "";
	int error;

	strncpy(comm, o->comm ? o->comm : "", sizeof(comm) - 1);
	error = bpf_load_set(object, "only_comm", comm, sizeof(comm));
	if (!error)
		error = bpf_load_set(object, "only_cgroup", &o->cgroup, sizeof(o->cgroup));
	if (!error)
		error = bpf_load_set(object, "max_depth", &o->max_depth, sizeof(o->max_depth));
	if (!error)
		error = bpf_map__set_max_entries(raw_samples, libbpf_num_possible_cpus());
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && !error; i++)
		error = bpf_load_set(object, flags[i].name, &flags[i].value, sizeof(flags[i].value));
	for (size_t i = 0; i < sizeof(maps_of_stacks) / sizeof(maps_of_stacks[0]) && !error; i++)
		error = bpf_map__set_max_entries(bpf_object__find_map_by_name(object, maps_of_stacks[i]), o->max_stacks);
	return error;
}

static int list_ids(struct bpf_object *object, const char *map, const pid_t *ids, size_t nr)
{
	int fd = bpf_object__find_map_fd_by_name(object, map);
	__u8 one = 1;

	for (size_t i = 0; i < nr; i++) {
		__u32 id = ids[i];

		if (bpf_map_update_elem(fd, &id, &one, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* ---- processes ---- */

/* the process of a thread, 0 if it is gone */
static pid_t process_of(pid_t tid)
{
	char name[64], line[256];
	pid_t pid = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/status", tid);
	file = fopen(name, "re");
	while (file && !pid && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &pid) != 1)
			pid = 0;
	if (file)
		fclose(file);
	return pid;
}

void stack_session_check_tasks(const struct stack_options *o)
{
	for (size_t i = 0; i < o->pids.nr; i++) {
		pid_t pid = process_of(o->pids.ids[i]);

		if (!pid)
			cli_die(EXIT_FAILURE, "no process with PID %d", o->pids.ids[i]);
		if (pid != o->pids.ids[i])
			cli_die(EXIT_FAILURE, "%d is a thread of process %d: use -p %d, or -t %d", o->pids.ids[i], pid, pid,
				o->pids.ids[i]);
	}
	for (size_t i = 0; i < o->tids.nr; i++)
		if (!process_of(o->tids.ids[i]))
			cli_die(EXIT_FAILURE, "no thread with TID %d", o->tids.ids[i]);
}

/* the processes that the options name, by themselves or by a thread */
static int list_processes(struct stack_session *s)
{
	const struct stack_options *o = s->options;

	s->pids = calloc(o->pids.nr + o->tids.nr + 1, sizeof(*s->pids));
	if (!s->pids)
		return -ENOMEM;
	for (size_t i = 0; i < o->pids.nr; i++)
		s->pids[s->nr_pids++] = o->pids.ids[i];
	for (size_t i = 0; i < o->tids.nr; i++)
		s->pids[s->nr_pids++] = process_of(o->tids.ids[i]);
	return 0;
}

/* ---- the run ---- */

static int new_unwinder(struct stack_session *s)
{
	const struct stack_options *o = s->options;
	struct unwinder_options options = {
		.user_stacks = !o->only_kernel_stacks,
		.all = !s->nr_pids && !o->command && !o->only_kernel_stacks,
		.pids = s->pids,
		.nr_pids = s->nr_pids,
		.children = o->command,
		.max_depth = o->max_depth,
	};

	return unwinder_new(&s->unwinder, s->object, s->modules, s->store, &options);
}

int stack_session_open(struct stack_session *s, struct bpf_object *object, const struct stack_options *options)
{
	sigset_t signals;
	int error;

	*s = (struct stack_session){ .options = options, .object = object, .signal_fd = -1, .command.pid = -1 };
	snprintf(s->doing_what, sizeof(s->doing_what), "open '%s'", options->output);
	s->doing = s->doing_what;
	s->out = options->output ? fopen(options->output, "we") : stdout;
	if (!s->out)
		return -errno;
	s->doing = "set up";
	s->modules = modules_new();
	if (!s->modules)
		return -ENOMEM;
	error = stack_store_new(&s->store, object);
	if (error)
		return error;
	s->doing = "list what to measure";
	error = list_ids(object, "listed_pids", options->pids.ids, options->pids.nr);
	if (!error)
		error = list_ids(object, "listed_tids", options->tids.ids, options->tids.nr);
	if (!error)
		error = list_processes(s);
	if (error)
		return error;
	s->doing = "follow the processes";
	error = new_unwinder(s);
	if (error)
		return error;
	s->doing = "read the processes' mappings";
	error = unwinder_start(s->unwinder);
	if (error)
		return error;
	if (options->command) {
		s->doing = "start the command";
		error = command_start(&s->command, options->command);
		if (!error)
			error = list_ids(object, "listed_pids", &s->command.pid, 1);
		if (!error)
			error = unwinder_expect(s->unwinder, s->command.pid);
		if (error)
			return error;
	}
	s->doing = "take signals";	/* after the fork: the command has the caller's mask */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &signals, NULL))
		return -errno;
	s->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
	return s->signal_fd < 0 ? -errno : 0;
}

static void show_progress(struct stack_session *s)
{
	struct stack_stats *stats;
	uint64_t samples = 0;
	size_t nr;

	if (stack_store_stats(s->store, &stats, &nr))
		return;
	for (size_t cpu = 0; cpu < nr; cpu++)
		samples += stats[cpu].samples;
	free(stats);
	fprintf(stderr, "\r%s: %.0f s, %llu samples ", program_invocation_short_name, clock_seconds() - s->started,
		(unsigned long long)samples);
}

/* until then, but not longer than until the next drain; 0: it is past */
static int wait_ms(double then)
{
	double left = then - clock_seconds();

	return left <= 0 ? 0 : left * 1e3 < DRAIN_MS ? (int)(left * 1e3) + 1 : DRAIN_MS;
}

static int call_hook(struct stack_session *s)
{
	const struct session_hook *hook = s->hook;
	int result = hook && hook->look ? hook->look(hook->arg) : 0;

	if (result || !hook || !hook->interval_ns || clock_seconds() < s->next_interval)
		return result;
	s->next_interval += hook->interval_ns / 1e9;
	return hook->interval(hook->arg);
}

/* The signal; a SIGTERM is the command's as well, a SIGINT from the terminal it has got itself. */
static int take_signal(struct stack_session *s)
{
	struct signalfd_siginfo signal;

	if (read(s->signal_fd, &signal, sizeof(signal)) != sizeof(signal))
		return SIGINT;
	if (s->command.pid > 0 && (signal.ssi_signo == SIGTERM || signal.ssi_code != SI_KERNEL))
		kill(s->command.pid, signal.ssi_signo);
	return signal.ssi_signo;
}

/* Waits for the command, and passes signals on meanwhile: it may take them otherwise. The second one ends the wait. */
static int wait_for_command(struct stack_session *s)
{
	struct pollfd fds[] = {
		{ .fd = s->command.pidfd, .events = POLLIN },
		{ .fd = s->signal_fd, .events = POLLIN },
	};

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return EXIT_FAILURE;
		if (fds[0].revents)
			return command_wait(&s->command);
		if (fds[1].revents) {
			int signal = take_signal(s);

			if (s->signalled)
				return 128 + signal;
			s->signalled = true;
		}
	}
}

int stack_session_run(struct stack_session *s)
{
	bool progress = !s->options->quiet && isatty(STDERR_FILENO);
	double shown;
	int urgent[UNWINDER_FDS];
	int error;

	unwinder_fds(s->unwinder, urgent);
	struct pollfd fds[] = {
		{ .fd = s->signal_fd, .events = POLLIN },
		{ .fd = s->command.pid > 0 ? s->command.pidfd : -1, .events = POLLIN },
		{ .fd = urgent[0], .events = POLLIN },
		{ .fd = urgent[1], .events = POLLIN },
	};

	s->started = shown = clock_seconds();
	if (s->command.pid > 0) {
		s->doing = "run the command";
		error = command_release(&s->command);
		if (error)
			return error;
	}
	s->doing = "gather the stacks";
	if (s->hook)
		s->next_interval = s->started + s->hook->interval_ns / 1e9;
	for (;;) {
		int timeout = s->options->duration_ns ? wait_ms(s->started + s->options->duration_ns / 1e9) : DRAIN_MS;

		if (!timeout)
			break;
		if (s->hook && s->hook->interval_ns && wait_ms(s->next_interval) < timeout)
			timeout = wait_ms(s->next_interval);
		if (poll(fds, 4, timeout) < 0 && errno != EINTR)
			break;
		if (fds[0].revents) {
			take_signal(s);
			s->signalled = true;
			break;
		}
		if (fds[1].revents)
			break;
		if (fds[2].revents || fds[3].revents)
			usleep(GATHER_US);	/* one raw sample seldom comes alone */
		error = unwinder_follow(s->unwinder, false);
		if (!error)
			error = call_hook(s);
		if (error > 0)
			break;
		if (error)
			return error;
		if (progress && clock_seconds() - shown >= 1) {
			show_progress(s);
			shown += 1;
		}
	}
	s->seconds = clock_seconds() - s->started;
	if (progress)
		fputs("\r\033[K", stderr);
	return 0;
}

static int add_losses(struct stack_session *s, const struct perf_events *clock, struct report_summary *summary)
{
	struct stack_stats *stats;
	struct perf_runs *runs;
	size_t nr;
	int error = stack_store_stats(s->store, &stats, &nr);

	if (error)
		return error;
	runs = calloc(nr, sizeof(*runs));
	if (!runs) {
		free(stats);
		return -ENOMEM;
	}
	for (size_t cpu = 0; cpu < nr; cpu++) {
		runs[cpu] = (struct perf_runs){ .runs = stats[cpu].runs, .idle_runs = stats[cpu].idle_runs };
		summary->no_room += stats[cpu].no_room;
		summary->stacks_lost += stats[cpu].stacks_lost;
		summary->forks_lost += stats[cpu].forks_lost;
	}
	if (clock)
		summary->lost = perf_events_lost(clock, runs);
	free(runs);
	free(stats);
	return 0;
}

int stack_session_report(struct stack_session *s, const struct perf_events *clock, uint64_t ns_per_sample,
			 struct report_summary *summary)
{
	const struct stack_options *o = s->options;
	struct report_options report = {
		.format = o->format, .delimiter = o->delimiter, .annotate = o->annotate, .ns_per_sample = ns_per_sample,
	};
	struct stack_entry *entries;
	size_t nr;
	int error;

	s->doing = "read what was gathered";
	error = unwinder_follow(s->unwinder, true);
	if (!error)
		error = stack_store_finish(s->store, &entries, &nr);
	if (!error)
		error = add_losses(s, clock, summary);
	if (error)
		return error;
	summary->seconds = s->seconds;
	s->doing = "print the stacks";
	error = stack_report(s->out, &report, s->modules, entries, nr, summary);
	if (!error && report.format == REPORT_JSON)
		stack_report_summary_json(s->out, summary);
	cli_finish(s->out, o->output ? o->output : "standard output");
	stack_report_summary_text(stderr, summary);
	stack_report_tableless(stderr, summary->tool, s->modules, entries, nr);
	return error;
}

static void show_counts(const struct stack_session *s)
{
	struct unwinder_counts c = unwinder_counts(s->unwinder);
	struct bpf_program *program;

	bpf_object__for_each_program(program, s->object)
		if (bpf_program__autoload(program))
			cli_warn("%s: %u instructions verified", bpf_program__name(program),
				 bpf_load_verified(program));
	if (c.deaf)
		cli_warn("no tracepoints (%s): code that is unmapped and replaced within milliseconds may be taken for what was there",
			 strerror(c.deaf));
	cli_warn("start: %llu processes read in %.1f ms, %llu files compiled in %.1f ms, %llu KiB of slabs inserted in %.1f ms, lists published in %.1f ms",
		 (unsigned long long)c.processes, c.read_s * 1e3, (unsigned long long)c.files_at_start, c.compile_s * 1e3,
		 (unsigned long long)c.slab_bytes / 1024, c.insert_s * 1e3, c.publish_s * 1e3);
	if (c.unpublished)
		cli_warn("%llu mapping lists found no room", (unsigned long long)c.unpublished);
	cli_warn("run: %llu files (%llu without a table), %llu rows in %llu bytes of tables; %llu process events, %llu publications (%llu waited for a slab), %llu raw samples",
		 (unsigned long long)c.files, (unsigned long long)c.files_without_table, (unsigned long long)c.rows,
		 (unsigned long long)c.table_bytes, (unsigned long long)c.events, (unsigned long long)c.publications,
		 (unsigned long long)c.slab_waits, (unsigned long long)c.raw_samples);
}

int stack_session_close(struct stack_session *s)
{
	int status = 0;

	if (s->command.pid > 0 && s->started > 0)
		status = wait_for_command(s);
	if (s->options->verbose && s->unwinder)
		show_counts(s);
	unwinder_free(s->unwinder);
	stack_store_free(s->store);
	modules_free(s->modules);
	free(s->pids);
	if (s->signal_fd >= 0)
		close(s->signal_fd);
	return status;
}
