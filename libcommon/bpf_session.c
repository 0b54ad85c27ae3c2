// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf_session.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "bpf_load.h"

#define DRAIN_MS 100

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

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
		{ "with_user_stacks", !o->only_kernel_stacks },
		{ "with_kernel_stacks", !o->only_user_stacks },
	};
	int error = bpf_load_set(object, "max_depth", &o->max_depth, sizeof(o->max_depth));

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && !error; i++)
		error = bpf_load_set(object, flags[i].name, &flags[i].value, sizeof(flags[i].value));
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

static bool is_listed(const struct stack_session *s, pid_t pid)
{
	__u32 key = pid;
	__u8 value;

	if (s->options->pids.nr || s->options->command)
		return !bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(s->object, "listed_pids"), &key, &value);
	for (size_t i = 0; i < s->options->tids.nr; i++)
		if (process_of(s->options->tids.ids[i]) == pid)
			return true;
	return !s->options->tids.nr;
}

/* gone, busy with exec, or not ours to look at: no failure */
static int forgiven(int error)
{
	return error == -ENOMEM ? error : 0;
}

static int refresh_known(struct stack_session *s)
{
	const struct stack_options *o = s->options;
	int error = 0;

	if (o->only_kernel_stacks)
		return 0;
	if (!o->pids.nr && !o->tids.nr)
		return unwinder_refresh_all(s->unwinder);
	for (size_t i = 0; i < o->pids.nr && !error; i++)
		error = forgiven(unwinder_refresh(s->unwinder, o->pids.ids[i]));
	for (size_t i = 0; i < o->tids.nr && !error; i++)
		error = forgiven(unwinder_refresh(s->unwinder, process_of(o->tids.ids[i])));
	return error;
}

static void note_change(void *arg, enum process_change change, pid_t pid)
{
	struct stack_session *s = arg;

	if (change == PROCESS_UNKNOWN || pid <= 0) {
		s->all_changed |= change == PROCESS_UNKNOWN;
		return;
	}
	for (int i = s->nr_changed_pids; i-- > 0;)
		if (s->changed_pids[i] == pid)
			return;
	if (s->nr_changed_pids == s->changed_pids_max) {
		int max = s->changed_pids_max ? s->changed_pids_max * 2 : 64;
		pid_t *more = reallocarray(s->changed_pids, max, sizeof(*more));

		if (!more) {
			s->all_changed = true;
			return;
		}
		s->changed_pids = more;
		s->changed_pids_max = max;
	}
	s->changed_pids[s->nr_changed_pids++] = pid;
}

static void follow_processes(struct stack_session *s)
{
	perf_records_read(s->records, note_change, s);
	if (s->all_changed)
		refresh_known(s);
	s->all_changed = false;
	for (int i = 0; i < s->nr_changed_pids; i++) {
		pid_t pid = s->changed_pids[i];

		if (!is_listed(s, pid) || unwinder_refresh(s->unwinder, pid) == -ESRCH)
			unwinder_forget(s->unwinder, pid);
	}
	s->nr_changed_pids = 0;
}

/* ---- the run ---- */

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
	s->doing = "list the processes";
	error = unwinder_new(&s->unwinder, object, s->modules);
	if (error)
		return error;
	s->doing = "follow the processes";
	error = options->only_kernel_stacks ? 0 : perf_records_open(&s->records);
	if (error)
		return error;
	s->doing = "list what to measure";
	error = list_ids(object, "listed_pids", options->pids.ids, options->pids.nr);
	if (!error)
		error = list_ids(object, "listed_tids", options->tids.ids, options->tids.nr);
	if (error)
		return error;
	s->doing = "read the processes' mappings";
	error = options->command ? 0 : refresh_known(s);
	if (error)
		return error;
	if (options->command) {
		s->doing = "start the command";
		error = command_start(&s->command, options->command);
		if (!error)
			error = list_ids(object, "listed_pids", &s->command.pid, 1);
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
	fprintf(stderr, "\r%s: %.0f s, %llu samples ", program_invocation_short_name, now() - s->started,
		(unsigned long long)samples);
}

static int wait_ms(const struct stack_session *s)
{
	double left;

	if (!s->options->duration_ns)
		return DRAIN_MS;
	left = s->options->duration_ns / 1e9 - (now() - s->started);
	return left <= 0 ? 0 : left * 1e3 < DRAIN_MS ? (int)(left * 1e3) + 1 : DRAIN_MS;
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
	struct pollfd fds[] = {
		{ .fd = s->signal_fd, .events = POLLIN },
		{ .fd = s->records ? perf_records_fd(s->records) : -1, .events = POLLIN },
		{ .fd = s->command.pid > 0 ? s->command.pidfd : -1, .events = POLLIN },
	};
	int error;

	s->started = shown = now();
	if (s->command.pid > 0) {
		s->doing = "run the command";
		error = command_release(&s->command);
		if (error)
			return error;
	}
	s->doing = "gather the stacks";
	for (;;) {
		int timeout = wait_ms(s);

		if (!timeout || (poll(fds, 3, timeout) < 0 && errno != EINTR))
			break;
		error = stack_store_drain(s->store);
		if (error)
			return error;
		if (fds[1].revents)
			follow_processes(s);
		if (fds[0].revents) {
			take_signal(s);
			s->signalled = true;
			break;
		}
		if (fds[2].revents)
			break;
		if (progress && now() - shown >= 1) {
			show_progress(s);
			shown += 1;
		}
	}
	s->seconds = now() - s->started;
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

int stack_session_report(struct stack_session *s, const struct perf_events *clock, uint64_t ns_per_value,
			 struct report_summary *summary)
{
	const struct stack_options *o = s->options;
	struct report_options report = {
		.format = o->format, .delimiter = o->delimiter, .annotate = o->annotate, .ns_per_value = ns_per_value,
	};
	struct stack_entry *entries;
	size_t nr;
	int error;

	s->doing = "read what was gathered";
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
		cli_warn("%s: %u instructions verified", bpf_program__name(program), bpf_load_verified(program));
	cli_warn("%llu processes, %zu files (%llu without a table), %llu rows in %llu bytes of tables, %llu KiB of slabs, %llu refreshes",
		 (unsigned long long)c.processes, modules_count(s->modules), (unsigned long long)c.files_without_table,
		 (unsigned long long)c.rows, (unsigned long long)c.table_bytes, (unsigned long long)c.slab_bytes / 1024,
		 (unsigned long long)c.refreshes);
}

int stack_session_close(struct stack_session *s)
{
	int status = 0;

	if (s->command.pid > 0 && s->started > 0)
		status = wait_for_command(s);
	if (s->options->verbose && s->unwinder)
		show_counts(s);
	perf_records_close(s->records);
	unwinder_free(s->unwinder);
	stack_store_free(s->store);
	modules_free(s->modules);
	free(s->changed_pids);
	if (s->signal_fd >= 0)
		close(s->signal_fd);
	return status;
}
