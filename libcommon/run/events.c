// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/events.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/load.h"
#include "nested_calls_abi.h"
#include "report/counted.h"
#include "report/escape.h"
#include "run/cli.h"
#include "run/kernel.h"

static bool has_pmu(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	return !access(path, F_OK);
}

#define NO_KPROBES                                                              \
	"this kernel has no kprobes: use one built with CONFIG_KPROBE_EVENTS, " \
	"or a tracepoint (-l 't:*')"

/* ---- finding ---- */

static struct events find(const char *text, struct events_search search,
			  const struct task_filter *filter)
{
	struct symbol_options symbols = SYMBOL_OPTIONS_DEFAULT;
	struct events_problem *problem = calloc(1, sizeof(*problem));
	struct event_name *name = calloc(1, sizeof(*name));
	struct events events = {};
	size_t nr_pids, p = 0;
	pid_t *pids = task_filter_processes(filter, &nr_pids);
	const char *wrong;
	int error;

	if (!problem || !name)
		cli_check(-ENOMEM, "find the events");
	wrong = event_name_parse(name, text, search.list);
	if (wrong)
		cli_die(EXIT_USAGE, "not an event: '%s': %s", text, wrong);
	/* nor need it list its functions */
	if (name->kind == EVENT_KERNEL_FUNCTION && !has_pmu("kprobe"))
		cli_die(EXIT_FAILURE, "cannot attach to '%s': " NO_KPROBES, text);
	search.symbols = &symbols;
	do {
		search.pid = nr_pids ? pids[p] : 0;
		events_free(&events);
		error = events_find(&events, name, &search, problem);
		/* it may have ended since it was found */
	} while (error && ++p < nr_pids && kill(search.pid, 0) && errno == ESRCH);
	if (error && problem->text[0])
		cli_die(EXIT_FAILURE, "%s", problem->text);
	cli_check(error, "find the events");
	if (events.nr_mangled)
		cli_warn("%s not compared: they take too long to demangle",
			 counted(events.nr_mangled, "names").text);
	free(problem);
	free(name);
	free(pids);
	return events;
}

static struct events find_some(const char *name, struct events_search search,
			       const struct task_filter *filter)
{
	struct events events;

	search.most = MAX_EVENTS;
	events = find(name, search, filter);

	if (events.nr > MAX_EVENTS)
		cli_die(EXIT_FAILURE, "'%s' matches %zu events, and the limit is %d: see -l '%s'",
			name, events.nr, MAX_EVENTS, name);
	return events;
}

static void warn_of_ambiguous(size_t nr)
{
	if (nr)
		cli_warn("%s not probed: others in the kernel have the same name",
			 counted(nr, "functions").text);
}

struct events events_named(const char *name, const struct task_filter *filter)
{
	struct events events =
		find_some(name, (struct events_search){ .kinds = EVENTS_ALL }, filter);

	if (events.nr_left_out)
		cli_warn(
			"%s not probed: the kernel cannot probe their first instructions, or they lie within one",
			counted(events.nr_left_out,
				events.events[0].kind == EVENT_USDT ? "probes" : "functions")
				.text);
	warn_of_ambiguous(events.nr_ambiguous);
	return events;
}

struct events events_of_perf(const char *name, const struct task_filter *filter)
{
	struct events events =
		find_some(name, (struct events_search){ .kinds = EVENTS_OF_PERF }, filter);

	if (events.events[0].kind != EVENT_PERF)
		cli_die(EXIT_USAGE, "-e takes perf's events: for '%s', use stackcount", name);
	return events;
}

struct events events_that_return(const char *name, const struct task_filter *filter)
{
	struct events events =
		find_some(name,
			  (struct events_search){ .kinds = EVENTS_FUNCTIONS, .returns = true },
			  filter);

	if (events.events[0].kind != EVENT_USER_FUNCTION &&
	    events.events[0].kind != EVENT_KERNEL_FUNCTION)
		cli_die(EXIT_USAGE,
			"not a function: '%s': use u:FILE:FUNCTION, or k:FUNCTION for the kernel",
			name);
	warn_of_ambiguous(events.nr_ambiguous);
	return events;
}

void events_list(const char *pattern, const struct task_filter *filter)
{
	struct events events = find(pattern, (struct events_search){ .list = true }, filter);

	qsort(events.events, events.nr, sizeof(*events.events), event_by_name);
	for (size_t i = 0; i < events.nr; i++) {
		if (i && !event_by_name(&events.events[i], &events.events[i - 1]))
			continue;
		print_escaped(stdout, events.events[i].name);
		putchar('\n');
	}
	events_free(&events);
	exit(EXIT_SUCCESS);
}

/* ---- what the kernel refuses ---- */

/* what the kernel lacks for this kind of events, and what allows it; NULL: nothing that is known */
static const char *explain_refusal(const struct event *event, int error)
{
	if (event->kind == EVENT_KERNEL_FUNCTION && !has_pmu("kprobe"))
		return NO_KPROBES;
	if (event->kind == EVENT_KERNEL_FUNCTION && kernel_ftrace() == 0)
		return "kernel.ftrace_enabled is 0: run 'sysctl kernel.ftrace_enabled=1'";
	if ((event->kind == EVENT_USER_FUNCTION || event->kind == EVENT_USDT) && !has_pmu("uprobe"))
		return "this kernel has no uprobes: use one built with CONFIG_UPROBE_EVENTS";
	if (event->kind != EVENT_PERF && event->kind != EVENT_TRACEPOINT &&
	    (error == -EACCES || error == -EPERM) && !bpf_load_is_admin())
		return "the kernel lets only CAP_SYS_ADMIN probe functions: run as root";
	if (event->kind == EVENT_KERNEL_FUNCTION && (error == -ENOENT || error == -EADDRNOTAVAIL))
		return "the kernel has no such function, or several of this name, or has it inlined: see -l";
	if (event->kind == EVENT_KERNEL_FUNCTION && error == -EINVAL)
		return "the kernel allows no probe there: see -l for functions that can be probed";
	if (event->kind == EVENT_PERF &&
	    (error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV) &&
	    !perf_encoding_is_software(&event->perf))
		return "no hardware counter (PMU) has it: run on a machine that has one, have the hypervisor pass it through, "
		       "or use cpu-clock";
	return NULL;
}

static void check(int error, const struct event *event)
{
	const char *cause = error ? explain_refusal(event, error) : NULL;
	char *doing;

	if (!error)
		return;
	if (cause)
		cli_die(EXIT_FAILURE, "cannot attach to '%s': %s", event->name, cause);
	if (asprintf(&doing, "attach to '%s'", event->name) < 0)
		cli_check(-ENOMEM, "attach to the events");
	kernel_check(error, doing);
}

/* ---- attaching ---- */

/*
 * the processes whose user functions are probed, none twice; none at all: every process's. What
 * will be forked cannot be probed apart
 */
static pid_t *processes_of(const struct task_filter *filter, size_t *nr)
{
	size_t nr_all, i;
	pid_t *pids = task_filter_processes(filter, &nr_all);

	if (!nr_all && filter->tids.nr)
		cli_die(EXIT_FAILURE, "all threads of -t have ended");
	*nr = 0;
	for (size_t p = 0; p < nr_all && !filter->children; p++) {
		for (i = 0; i < *nr && pids[i] != pids[p]; i++)
			;
		if (i == *nr)
			pids[(*nr)++] = pids[p];
	}
	return pids;
}

static void refuse_changed_file(const struct events *events)
{
	if (events_file_changed(events))
		cli_die(EXIT_FAILURE,
			"'%s' was changed, renamed or linked while its functions were looked up: try again",
			events->events[0].path);
}

/* to all of a file's probes, which are those of these events */
static void attach_user(struct links *links, struct bpf_program *program,
			const struct events *events, const struct user_probe *probes, size_t nr,
			bool returns, const struct task_filter *filter)
{
	const struct event *event = &events->events[0];
	size_t nr_pids, nr_gone = 0;
	pid_t *pids = processes_of(filter, &nr_pids);

	if (explain_refusal(event, 0))
		check(-EOPNOTSUPP, event);
	if (!nr_pids)
		check(links_attach_user(links, program, events->fd, probes, nr, returns, 0), event);
	for (size_t p = 0; p < nr_pids; p++) {
		int error =
			links_attach_user(links, program, events->fd, probes, nr, returns, pids[p]);

		/* it has ended since it was found */
		nr_gone += error == -ESRCH;
		check(error == -ESRCH && nr_gone < nr_pids ? 0 : error, event);
	}
	refuse_changed_file(events);
	free(pids);
}

static bool in_user_code(const struct events *events)
{
	return events->events[0].kind == EVENT_USER_FUNCTION ||
	       events->events[0].kind == EVENT_USDT;
}

void events_attach(struct links *links, struct bpf_program *program, struct events *events,
		   bool returns, const struct task_filter *filter)
{
	struct user_probe *probes = calloc(events->nr, sizeof(*probes));
	size_t nr_ambiguous = 0, nr_refused = 0;

	if (!probes)
		cli_check(-ENOMEM, "attach to the events");
	for (size_t i = 0; i < events->nr; i++) {
		struct event *event = &events->events[i];
		int error;

		probes[i] = (struct user_probe){ event->file_offset, event->semaphore_offset, i };
		if (in_user_code(events))
			continue;
		if (explain_refusal(event, 0))
			check(-EOPNOTSUPP, event);
		error = event->refused ? -EINVAL
				       : links_attach_event(links, program, event, returns, i);
		/* the kernel knows more of this name than tracefs lists, such as a module's */
		if (error == -EADDRNOTAVAIL)
			nr_ambiguous++;
		/* tracefs lists more than may be probed */
		else if (error == -EINVAL && event->kind == EVENT_KERNEL_FUNCTION)
			nr_refused += event->refused = true;
		else
			check(error, event);
		if (nr_ambiguous + nr_refused == events->nr)
			check(error, event);
	}
	if (!returns)
		warn_of_ambiguous(nr_ambiguous);
	if (!returns && nr_refused)
		cli_warn("%s not probed: the kernel allows no probe there",
			 counted(nr_refused, "functions").text);
	if (in_user_code(events))
		attach_user(links, program, events, probes, events->nr, returns, filter);
	free(probes);
}

size_t events_attach_returns(struct links *links, const struct return_programs *programs,
			     const struct events *events, const struct task_filter *filter)
{
	struct user_probe *exits, *returned = calloc(events->nr, sizeof(*returned));
	size_t nr = 0, nr_exits = 0, nr_returned = 0;

	for (size_t i = 0; i < events->nr; i++)
		nr += events->events[i].exits.nr;
	exits = calloc(nr, sizeof(*exits));
	if (!exits || !returned)
		cli_check(-ENOMEM, "attach to the functions' returns");
	for (size_t i = 0; i < events->nr; i++) {
		const struct event *event = &events->events[i];

		if (programs->returned && event->exits.returns_by_stack)
			returned[nr_returned++] = (struct user_probe){ event->file_offset, 0, i };
		else
			for (size_t e = 0; e < event->exits.nr; e++)
				exits[nr_exits++] = (struct user_probe){
					.file_offset = event->exits.exits[e].file_offset,
					.cookie = i |
						  (event->exits.exits[e].shared ? EXIT_SHARED : 0),
				};
	}
	attach_user(links, programs->at_exits, events, exits, nr_exits, false, filter);
	if (nr_returned)
		attach_user(links, programs->returned, events, returned, nr_returned, true, filter);
	free(exits);
	free(returned);
	return nr_exits;
}

/* ---- while it lasts ---- */

static uint32_t take_changes(int fd)
{
	_Alignas(struct inotify_event) char bytes[4096];
	uint32_t mask = 0;
	ssize_t got;

	while ((got = read(fd, bytes, sizeof(bytes))) > 0)
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event =
				(const struct inotify_event *)(bytes + at);

			mask |= event->mask;
			at += sizeof(*event) + event->len;
		}
	return mask;
}

/* Does the path of the file lead to another one, or to none? */
static bool is_replaced(const struct events *events)
{
	struct stat here, there;

	return !fstat(events->fd, &here) &&
	       (stat(events->events[0].path, &there) || here.st_ino != there.st_ino ||
		here.st_dev != there.st_dev);
}

static int look_at_file(void *arg)
{
	struct events_watch *w = arg;
	uint32_t changes = take_changes(w->fd);
	const char *path = w->events->events[0].path;

	if (changes & IN_MODIFY) {
		links_detach(w->links);
		cli_warn(
			"'%s' is being written to: its probes would break it, so they were removed, and the run ends",
			path);
		run_end(w->run);
	} else if (changes && !w->replaced && is_replaced(w->events)) {
		w->replaced = true;
		cli_warn(
			"'%s' was removed or replaced: programs that start from now on are not measured",
			path);
	}
	return 0;
}

/* Who may write to a file decides what is probed in it. */
static void say_owner(const struct events *events, bool always)
{
	struct stat stat;

	if (fstat(events->fd, &stat) || (!always && !(stat.st_mode & (S_IWGRP | S_IWOTH))))
		return;
	cli_warn("probing '%s' of uid %u, %s", events->events[0].path, stat.st_uid,
		 stat.st_mode & S_IWOTH   ? "which everybody may write to"
		 : stat.st_mode & S_IWGRP ? "which its group may write to, too"
					  : "which nobody else may write to");
}

void events_watch_file(struct events_watch *w, struct run *run, struct links *links,
		       const struct events *events)
{
	const struct run_part part = {
		.doing = "watch the probed file",
		.work = look_at_file,
		.arg = w,
		.fds = &w->fd,
		.nr_fds = 1,
	};
	char name[32];

	if (!in_user_code(events))
		return;
	say_owner(events, run->options->verbose);
	*w = (struct events_watch){ run, links, events, inotify_init1(IN_NONBLOCK | IN_CLOEXEC) };
	snprintf(name, sizeof(name), "/proc/self/fd/%d", events->fd);
	if (w->fd < 0 ||
	    inotify_add_watch(w->fd, name, IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF) <
		    0)
		cli_warn("cannot see whether '%s' is written to: %s", events->events[0].path,
			 strerror(errno));
	else
		run_add(run, &part);
	refuse_changed_file(events);
}

/* ---- perf's events ---- */

struct perf_events events_attach_perf(struct bpf_program *program, const struct event *event,
				      uint64_t period, uint64_t frequency,
				      const struct cpu_set *wanted)
{
	struct cpu_set cpus = cpus_online(wanted);
	struct perf_events opened;
	/* never detached: disabling ends it, and exiting closes both */
	struct links links = {};

	check(perf_events_open(&opened, &cpus, &event->perf, period, frequency), event);
	cpu_set_free(&cpus);
	check(links_attach_to_events(&links, program, &opened), event);
	return opened;
}
