// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/order.h"
#include "process/priority.h"
#include "report/counted.h"
#include "run/descendants.h"
#include "run/kernel.h"
#include "run/output_file.h"
#include "run/run_start.h"
#include "run/signals.h"
#include "run/targets.h"

/* between two lines of progress in a file; on a terminal, each replaces the one before */
#define PROGRESS_S 10
#define WORK_MS    50 /* parts run at least this often, so that no buffer fills up */
/* urgent records come in bursts: wait for more of them before the parts run */
#define GATHER_US 2000
#define END_MS    1000 /* the command may take so long to end before that is said */
#define ROUNDED_S 1e-6 /* by less than this, sums of times differ */

/* ---- options ---- */

/* the same name in the same directory */
static bool same_file(const char *left, const char *right)
{
	const char *left_base = strrchr(left, '/'), *right_base = strrchr(right, '/');
	char *left_folder = left_base ? strndup(left, left_base - left + 1) : strdup(".");
	char *right_folder = right_base ? strndup(right, right_base - right + 1) : strdup(".");
	struct stat l, r;
	bool same =
		!strcmp(left_base ? left_base + 1 : left, right_base ? right_base + 1 : right) &&
		left_folder && right_folder && !stat(left_folder, &l) && !stat(right_folder, &r) &&
		l.st_dev == r.st_dev && l.st_ino == r.st_ino;

	free(left_folder);
	free(right_folder);
	return same;
}

static bool same_output(const struct run_output *left, const struct run_output *right)
{
	return left->name && right->name ? same_file(left->name, right->name)
					 : !left->name && !right->name && left->fd == right->fd;
}

void run_take_output(struct argp_state *state, struct run_options *o, const char *name)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	struct run_output output = {};
	uint64_t fd = 0;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (!strncmp(name, folders[i], strlen(folders[i])))
			cli_parse_number(name + strlen(folders[i]), 1, INT_MAX, &fd);
	if (!strcmp(name, "/dev/stderr"))
		fd = STDERR_FILENO;
	output.fd = fd == STDOUT_FILENO ? 0 : fd;
	output.name = fd ? NULL : cli_output_name(name);
	for (size_t i = 0; i < o->nr_outputs; i++)
		if (same_output(&o->outputs[i], &output))
			argp_failure(state, EXIT_USAGE, 0, "two -o name the same file: '%s'", name);
	if (o->nr_outputs == MAX_RUN_OUTPUTS)
		argp_failure(state, EXIT_USAGE, 0, "at most %d -o are allowed: '%s'",
			     MAX_RUN_OUTPUTS, name);
	o->outputs[o->nr_outputs++] = output;
}

size_t run_nr_outputs(const struct run_options *o)
{
	return o->nr_outputs ? o->nr_outputs : 1;
}

void run_use_output(struct run *run, size_t number)
{
	run->outs[run->output] = run->out;
	run->output = number;
	run->out = run->outs[number];
}

bool run_take_command(struct argp_state *state, struct run_options *o)
{
	if (!state->quoted || state->next <= state->quoted)
		return false;
	o->command = &state->argv[state->next - 1];
	state->next = state->argc;
	return true;
}

void run_check_command(struct argp_state *state, const struct run_options *o)
{
	if (state->quoted && !o->command)
		argp_failure(state, EXIT_USAGE, 0, "a command is missing after --");
	if (o->command && (o->tasks.pids.nr || o->tasks.tids.nr))
		argp_failure(state, EXIT_USAGE, 0, "a command excludes -p and -t");
}

enum { OPTION_OUTPUT_FD = 0x2000, OPTION_KILL, OPTION_AS, OPTION_DURATION, OPTION_CHILDREN };

static const struct argp_option option_list[] = {
	{ .doc = "What is measured:", .group = OF_MEASURE },
	{ .doc = "Processes and threads:", .group = OF_TASKS },
	{ .doc = "Output:", .group = OF_OUTPUT },
	{ "duration", OPTION_DURATION, "TIME", 0, "end after this time", OF_MEASURE },
	{ "output-fd", OPTION_OUTPUT_FD, "N", 0, "write to this file descriptor", OF_OUTPUT },
	{ "children", OPTION_CHILDREN, NULL, 0, "with -p: measure child processes, too", OF_TASKS },
	{ "as", OPTION_AS, "USER", 0, "run the command as this user", OF_TASKS },
	{ "kill", OPTION_KILL, NULL, 0, "at the end, SIGTERM the command and its children",
	  OF_TASKS },
	{ "quiet", 'q', NULL, 0, "print no progress and no line at the start", OF_OUTPUT },
	{ "verbose", 'v', NULL, 0, "more detail; twice: libbpf's messages too", OF_OUTPUT },
	{},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run_options *o = state->input;
	uint64_t number;

	switch (key) {
	case OPTION_DURATION:
		if (o->duration_ns)
			argp_failure(state, EXIT_USAGE, 0, "one duration only: '%s'", arg);
		if (!cli_parse_time(arg, 1000000000, &o->duration_ns) || !o->duration_ns)
			argp_failure(state, EXIT_USAGE, 0, "not a duration: '%s'", arg);
		break;
	case OPTION_OUTPUT_FD:
		if (!cli_parse_number(arg, 1, INT_MAX, &number) || number == STDERR_FILENO)
			argp_failure(state, EXIT_USAGE, 0, "not a file descriptor for output: '%s'",
				     arg);
		o->output_fd = number;
		break;
	case OPTION_CHILDREN:
		o->tasks.children = true;
		break;
	case OPTION_AS:
		if (!command_find_user(arg, &o->user))
			argp_failure(state, EXIT_USAGE, 0, "no such user: '%s'", arg);
		o->as_user = true;
		break;
	case OPTION_KILL:
		o->kill = true;
		break;
	case 'q':
		o->quiet = true;
		break;
	case 'v':
		o->verbose++;
		break;
	case ARGP_KEY_END:
		if (o->nr_outputs && o->output_fd)
			argp_failure(state, EXIT_USAGE, 0, "-o and --output-fd exclude each other");
		if (o->tasks.children && !o->command && (!o->tasks.pids.nr || o->tasks.tids.nr))
			argp_failure(state, EXIT_USAGE, 0, "--children needs -p, and excludes -t");
		if (o->kill && !o->command)
			argp_failure(state, EXIT_USAGE, 0, "--kill needs a command");
		if (o->as_user && !o->command)
			argp_failure(state, EXIT_USAGE, 0, "--as needs a command");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* the tool's own options, those of its kind, those of all runs */
enum { NR_INPUTS = 3 };

static error_t hand_inputs_down(int key, char *arg, struct argp_state *state)
{
	void *const *inputs = state->input;

	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	for (int i = 0; i < NR_INPUTS; i++)
		state->child_inputs[i] = inputs[i];
	return 0;
}

/* the arguments, separated by blanks; NULL without memory */
static char *joined(int argc, char **argv)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	for (int i = 0; out && i < argc; i++)
		fprintf(out, "%s%s", i ? " " : "", i ? argv[i] : program_invocation_short_name);
	return out && !fclose(out) ? text : NULL;
}

static int fd_of(const struct run_options *o, size_t number)
{
	if (o->outputs[number].fd)
		return o->outputs[number].fd;
	return o->output_fd ? o->output_fd : STDOUT_FILENO;
}

/*
 * To be called before the tool opens anything: a number that it has opened itself is not the
 * caller's.
 */
static void check_descriptors(const struct run_options *o)
{
	for (size_t i = 0; i < run_nr_outputs(o); i++) {
		int fd = fd_of(o, i), flags = o->outputs[i].name ? O_WRONLY : fcntl(fd, F_GETFL);

		if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
			cli_die(EXIT_FAILURE,
				fd == STDOUT_FILENO ? "standard output is closed"
						    : "file descriptor %d is not open for output",
				fd);
	}
}

/*
 * With the /proc of another PID namespace, our numbers of processes would be those of others there.
 */
static void check_proc(void)
{
	char self[32];
	ssize_t bytes = readlink("/proc/self", self, sizeof(self) - 1);

	if (bytes <= 0)
		return;
	self[bytes] = 0;
	if (atoi(self) != getpid())
		cli_die(EXIT_FAILURE,
			"/proc is that of another PID namespace: mount this one's, as 'unshare --mount-proc' "
			"and 'nsenter -m' do");
}

void run_parse(const struct argp *own, void *input, const struct argp *shared, void *shared_input,
	       int argc, char **argv, struct run_options *options)
{
	const struct argp only_options = { .options = own->options, .parser = own->parser };
	static const struct argp run_argp = { .options = option_list, .parser = parse };
	const struct argp_child children[] = {
		{ &only_options }, { shared }, { &run_argp }, { &cli_help_argp }, {}
	};
	const struct argp argp = {
		.parser = hand_inputs_down,
		.args_doc = own->args_doc,
		.doc = own->doc,
		.children = children,
	};
	void *inputs[NR_INPUTS] = { input, shared_input, options };

	cli_init();
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, inputs);
	check_descriptors(options);
	check_proc();
	options->command_line = joined(argc, argv);
	cli_check(options->command_line ? 0 : -ENOMEM, "set up");
	kernel_init(options->verbose > 1);
	priority_begin();
}

/* ---- beginning ---- */

static FILE *open_descriptor(int fd)
{
	FILE *out;

	if (fd == STDOUT_FILENO)
		return stdout;
	if (fd == STDERR_FILENO)
		return stderr;
	out = fdopen(fd, "w");
	if (!out)
		cli_die(EXIT_FAILURE, "cannot write to file descriptor %d: %s", fd,
			strerror(errno));
	fcntl(fd, F_SETFD, FD_CLOEXEC); /* not for the command */
	return out;
}

bool run_names_apart(const struct run_options *o, const char *name)
{
	return o->every && name && strchr(name, '%');
}

bool run_reports_apart(const struct run *run)
{
	return run_names_apart(run->options, run->options->outputs[run->output].name);
}

void run_report_to_none(struct run *run)
{
	run->out = fopen("/dev/null", "we");
	cli_check(run->out ? 0 : -errno, "write the report");
}

void run_open(struct run *run, const struct run_options *options)
{
	*run = (struct run){ .options = options,
			     .command.pid = -1,
			     .interval_ns = options->interval_ns };
	for (size_t i = 0; i < run_nr_outputs(options); i++)
		if (!options->outputs[i].name)
			run->outs[i] = open_descriptor(fd_of(options, i));
	run->out = run->outs[0];
	run_start_init(run);
}

void run_get_ready(struct run *run)
{
	const struct run_options *o = run->options;

	if (o->command)
		cli_check(command_start(&run->command, o->command, o->as_user ? &o->user : NULL),
			  "start the command");
	/* after the fork, so that the command takes signals as the tool's caller does */
	cli_check(signals_begin(run->command.pid, o->as_user ? run->command.child : 0,
				run->command.pid > 0 ? run->command.own_pidfd : -1),
		  "take signals");
	/*
	 * the summary must be told even if nobody reads the output to its end; after the fork, too
	 */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow any more is an error of write() */
	/*
	 * after signals are taken, so that one removes an unfinished file, and ends the waiting for
	 * a FIFO's reader
	 */
	for (size_t i = run_nr_outputs(o); i-- > 0;) {
		run_use_output(run, i);
		if (run_reports_apart(run))
			run_report_to_none(run);
		else if (o->outputs[i].name)
			run->out =
				output_file_open(o->outputs[i].name, RUN_FILE_MODE, o->duration_ns);
	}
}

void run_doing(struct run *run, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(run->doing, sizeof(run->doing), format, args);
	va_end(args);
}

void run_add(struct run *run, const struct run_part *part)
{
	if (run->nr_parts == MAX_RUN_PARTS)
		abort();
	run->parts[run->nr_parts++] = *part;
}

/* ---- while it lasts ---- */

/* the time until then, in ms, WORK_MS at most; 0: it is past */
static int wait_ms(double then)
{
	double left = then - clock_seconds();

	return left <= 0 ? 0 : clamped(left * 1e3 + 1, 0, WORK_MS);
}

static void work(struct run *run)
{
	for (size_t i = 0; i < run->nr_parts; i++)
		if (run->parts[i].work)
			cli_check(run->parts[i].work(run->parts[i].arg), run->parts[i].doing);
}

/* True: it was the last interval. */
static bool end_interval(struct run *run)
{
	bool last = ++run->intervals == run->options->nr_intervals;
	double late;
	uint64_t passed;

	run->interval_ended_ns = clock_ns();
	late = run->interval_ended_ns / 1e9 - run->next_interval;
	/* those that are over, too, are parts of this one */
	passed = 1 + (uint64_t)(late * 1e9 / run->interval_ns);
	run->next_interval += passed * (run->interval_ns / 1e9);
	run->intervals_passed += passed;
	for (size_t i = 0; i < run->nr_parts; i++)
		if (run->parts[i].interval)
			cli_check(run->parts[i].interval(run->parts[i].arg, last),
				  run->parts[i].doing);
	return last;
}

static void show_progress(struct run *run)
{
	uint64_t count;

	if (clock_seconds() < run->next_progress)
		return;
	run->next_progress += run->on_terminal ? 1 : PROGRESS_S;
	fprintf(stderr, "%s%s: %.0f s", run->on_terminal ? "\r" : "", program_invocation_short_name,
		clock_seconds() - run->started);
	for (size_t i = 0; i < run->nr_parts; i++)
		if (run->parts[i].progress && !run->parts[i].progress(run->parts[i].arg, &count))
			fprintf(stderr, ", %s", counted(count, run->parts[i].counted).text);
	putc(run->on_terminal ? ' ' : '\n', stderr);
	fflush(stderr);
}

enum { FD_SIGNAL, FD_COMMAND, FD_OUTPUT, FD_PARTS };

struct poll_list {
	struct pollfd fds[FD_PARTS + MAX_RUN_FDS];
	nfds_t nr;
};

static void add_fd(struct poll_list *list, int fd, short events)
{
	if (list->nr < sizeof(list->fds) / sizeof(list->fds[0]))
		list->fds[list->nr++] = (struct pollfd){ .fd = fd, .events = events };
}

static struct poll_list fds_of(const struct run *run)
{
	struct poll_list list = {};

	add_fd(&list, signals_fd(), POLLIN);
	add_fd(&list, run->command.pid > 0 ? run->command.pidfd : -1, POLLIN);
	/* a pipe that nobody reads any more: POLLERR */
	add_fd(&list,
	       run_reports_apart(run) || run->options->nr_outputs > 1 ? -1 : fileno(run->out), 0);
	for (size_t i = 0; i < run->nr_parts; i++)
		for (size_t fd = 0; fd < run->parts[i].nr_fds; fd++)
			add_fd(&list, run->parts[i].fds[fd], POLLIN);
	return list;
}

static bool any_urgent(const struct poll_list *list)
{
	for (nfds_t i = FD_PARTS; i < list->nr; i++)
		if (list->fds[i].revents)
			return true;
	return false;
}

/* Is the interval over, but not the run? The end of the run ends the last interval, too. */
static bool interval_is_over(const struct run *run)
{
	const struct run_options *o = run->options;
	double now = clock_seconds();

	return run->interval_ns && now >= run->next_interval &&
	       (!o->duration_ns || now < run->started + o->duration_ns / 1e9 - ROUNDED_S);
}

/* Waits until there is something to do, and does it. False: the run is over. */
static bool do_some(struct run *run, struct poll_list *list, struct targets *targets)
{
	const struct run_options *o = run->options;
	int duration = o->duration_ns ? wait_ms(run->started + o->duration_ns / 1e9) : WORK_MS;
	int interval = run->interval_ns ? wait_ms(run->next_interval) : WORK_MS;
	int wait = duration < interval ? duration : interval;

	if (!duration || (poll(list->fds, list->nr, run->hurries ? 0 : wait) < 0 && errno != EINTR))
		return false;
	run->hurries = false;
	if (list->fds[FD_SIGNAL].revents || list->fds[FD_COMMAND].revents ||
	    list->fds[FD_OUTPUT].revents)
		return false;
	if (any_urgent(list))
		usleep(GATHER_US);
	work(run);
	if (interval_is_over(run) && end_interval(run))
		return false;
	return !run->over && !targets_ended(targets) && !ferror(run->out);
}

/* the statuses are the shell's */
static void release_command(struct run *run)
{
	int error = command_release(&run->command);

	if (error)
		cli_die(error == -ENOENT ? EXIT_NO_COMMAND : EXIT_NOT_EXECUTABLE,
			"cannot run '%s': %s", run->options->command[0], strerror(-error));
}

void run_set_interval(struct run *run, uint64_t ns)
{
	run->interval_ns = ns;
	run->next_interval = clock_seconds() + ns / 1e9;
}

void run_end(struct run *run)
{
	run->over = true;
}

void run_hurry(struct run *run)
{
	run->hurries = true;
}

void run_counts_from_now(struct run *run)
{
	run->counted_from = clock_seconds();
}

void run_counted_until_now(struct run *run)
{
	run->seconds = clock_seconds() - run->counted_from;
}

static bool command_ends_within(const struct run *run, int ms)
{
	return poll(&(struct pollfd){ .fd = run->command.pidfd, .events = POLLIN }, 1, ms) != 0;
}

void run_measure(struct run *run)
{
	/* what is printed at each interval shows the progress */
	bool progress = !run->options->quiet && !run->options->interval_ns && !run->options->live;
	struct poll_list list = fds_of(run);
	struct targets targets;

	targets_open(&targets, &run->options->tasks, run->object);
	run_start_say(run);
	run->on_terminal = isatty(STDERR_FILENO);
	run->started = clock_seconds();
	if (!run->counted_from)
		run->counted_from = run->started;
	run->next_progress = run->started + (run->on_terminal ? 1 : PROGRESS_S);
	run->next_interval = run->started + run->interval_ns / 1e9;
	if (run->command.pid > 0)
		release_command(run);
	while (do_some(run, &list, &targets))
		if (progress)
			show_progress(run);
	run->signalled = signals_report_begins();
	run_counted_until_now(run);
	run->outlived = run->command.pid > 0 && !run->signalled && !command_ends_within(run, 0);
	if (progress && run->on_terminal) {
		fputs("\r\033[K", stderr);
		fflush(stderr); /* before the report */
	}
	targets_close(&targets);
}

/* ---- the end ---- */

void run_flush_output(struct run *run)
{
	cli_flush(run->out);
	if (!ferror(run->out))
		run->unwritten |= !output_file_publish(run->out);
}

void run_say_losses(const struct loss *losses, size_t nr, uint64_t taken)
{
	losses_print(stderr, program_invocation_short_name, losses, nr, taken);
}

/*
 * True: the command and what it has forked were told to end, because the run was over before the
 * command.
 */
static bool leave_command(struct run *run)
{
	if (run->signalled && !command_ends_within(run, END_MS))
		cli_warn(
			"process %d has got the signal, too: waiting for its end (a second signal ends the tool)",
			run->command.pid);
	if (!run->outlived)
		return false;
	if (!run->options->kill) {
		if (command_ends_within(run, 0))
			return false;
		cli_warn(
			"process %d still runs, and is no longer measured: waiting for its end (--kill ends it)",
			run->command.pid);
		return false;
	}
	descendants_terminate(run->object, &run->command);
	if (!command_ends_within(run, END_MS))
		cli_warn("process %d has got SIGTERM: waiting for its end", run->command.pid);
	return true;
}

/* Waits for the command, if there is one. Its exit status, or 0 */
static int end_command(struct run *run)
{
	bool killed;
	int status;

	if (run->command.pid <= 0)
		return 0;
	killed = leave_command(run);
	/* it may ignore the signals that are passed on to it: the second one ends the tool */
	status = command_wait(&run->command);
	if (killed)
		descendants_say_left(run->object);
	return status;
}

void run_finish_output(struct run *run)
{
	const struct run_options *o = run->options;
	const char *name = o->outputs[run->output].name             ? output_file_name(run->out)
			   : fd_of(o, run->output) != STDOUT_FILENO ? "the report"
								    : "standard output";

	run->unwritten |= !cli_close(run->out, name) || !output_file_publish(run->out);
	if (run->output)
		return;
	if (run->unwritten) {
		run->outlived = run->command.pid > 0 && !run->signalled;
		end_command(run);
		output_file_remove();
		_exit(EXIT_FAILURE);
	}
	run->cut_by = signals_report_ends();
}

int run_close(struct run *run)
{
	int status = end_command(run);

	json_object_put(run->start);
	if (!run->cut_by)
		return status;
	cli_warn("a signal ended the report: what is there is valid, and the rest is left out");
	return 128 + run->cut_by;
}
