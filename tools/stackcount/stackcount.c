// SPDX-License-Identifier: GPL-2.0-or-later
/* stackcount: counts events by the whole user and kernel stacks in which they happen. */
#include <string.h>

#include "process/tracefs.h"
#include "report/counted.h"
#include "report/json.h"
#include "report/stack_summary.h"
#include "run/events.h"
#include "run/kernel.h"
#include "run/sampling.h"
#include "run/stack_session.h"
#include "stackcount.skel.h"
#include "table/machine.h"
#include "table/operand.h"

enum { OPTION_SUM = 0x1000 };

struct options {
	struct stack_options stacks;
	const char *event, *list;
	const char *sum; /* the argument that is summed up; NULL: none */
	uint64_t period;
};

static const char doc[] =
	"Count an event by the whole user and kernel stacks in which it happens, even of stripped programs "
	"without frame pointers. EVENT is t:GROUP:NAME (a tracepoint), k:FUNCTION (of the kernel), "
	"u:FILE:FUNCTION (of a program or library), usdt:FILE:PROVIDER:NAME, or an event of perf (page-faults). "
	"DURATION is in seconds; the default is until Ctrl-C or SIGTERM, or COMMAND's end."
	"\vExamples:\n"
	"  stackcount -p nginx u:libc:malloc 10     # what calls malloc, for 10 s\n"
	"  stackcount page-faults -- ./program      # of a command\n";

static const struct argp_option option_list[] = {
	{ "count", 'c', "N", 0, "count only every Nth event (perf events only)", OF_MEASURE },
	{ "sum", OPTION_SUM, "ARG", 0, "sum this argument (arg0) or tracepoint field", OF_MEASURE },
	{ "list", 'l', "PATTERN", 0, "list the events that match, and exit", OF_MEASURE },
	{},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'c':
		if (!cli_parse_number(arg, 1, INT64_MAX, &o->period))
			argp_failure(state, EXIT_USAGE, 0, "not a number of events: '%s'", arg);
		break;
	case OPTION_SUM:
		o->sum = arg;
		break;
	case 'l':
		o->list = arg;
		break;
	case ARGP_KEY_ARG:
		if (o->event || o->list || state->quoted)
			return ARGP_ERR_UNKNOWN;
		o->event = arg;
		break;
	case ARGP_KEY_END:
		if (!o->event && !o->list)
			argp_failure(state, EXIT_USAGE, 0,
				     "an event is missing: such as u:libc:malloc; see -l");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- events ---- */

static struct events events;

static const char *event_of(const struct stack_entry *entry)
{
	size_t number = STACK_EVENT(entry->key.flags);

	return number < events.nr ? events.events[number].name : "";
}

static void stack_json(struct json_object *stack, const struct stack_entry *entry)
{
	json_object_object_add(stack, "event", json_name(event_of(entry)));
}

static struct bpf_program *program_for(const struct stackcount_bpf *bpf, enum event_kind kind)
{
	struct bpf_program *const programs[NR_EVENT_KINDS] = {
		[EVENT_TRACEPOINT] = bpf->progs.count_tracepoint,
		[EVENT_KERNEL_FUNCTION] = bpf->progs.count_kernel_function,
		[EVENT_USER_FUNCTION] = bpf->progs.count_user_function,
		[EVENT_USDT] = bpf->progs.count_user_function,
		[EVENT_PERF] = bpf->progs.count_perf_event,
	};

	return programs[kind];
}

/* ---- --sum ---- */

static struct event_argument parameter(const char *name)
{
	uint64_t number;

	if (strncmp(name, "arg", 3) || strlen(name) != strlen("arg0") ||
	    !cli_parse_number(name + 3, 0, NR_PARAMETERS - 1, &number))
		cli_die(EXIT_USAGE, "the arguments of functions and probes are arg0 to arg%d: '%s'",
			NR_PARAMETERS - 1, name);
	return machine_parameter(number);
}

static struct event_argument operand(const struct event *probe, const char *name)
{
	struct event_argument argument = parameter(name);
	const char *at = probe->arguments;

	for (char number = '0'; at && number < name[3]; number++) {
		at = strchr(at, ' ');
		at += at ? strspn(at, " ") : 0;
	}
	if (!at || !*at)
		cli_die(EXIT_USAGE, "'%s' has no %s: its arguments are '%s'", probe->name, name,
			probe->arguments);
	if (operand_parse(at, &argument))
		cli_die(EXIT_FAILURE,
			"%s of '%s' is not a number that a register holds or points to: '%s'", name,
			probe->name, probe->arguments);
	return argument;
}

/*
 * in its record of a tracepoint, the kernel puts the address of the registers there before it runs
 * the program
 */
#define PERF_OVERWRITES sizeof(uint64_t)

/* *unit: "bytes", or stays */
static struct event_argument field(const struct event *event, const char *name, const char **unit)
{
	char tracepoint[512], *colon;
	struct tracefs_field field;
	int error;

	snprintf(tracepoint, sizeof(tracepoint), "%s",
		 event->name + strlen(event_kind_prefixes[EVENT_TRACEPOINT]));
	colon = strchr(tracepoint, ':');
	if (colon)
		*colon = '/';
	error = tracefs_find_field(tracepoint, name, &field);
	if (error == -ENOENT)
		cli_die(EXIT_USAGE,
			"'%s' has no field '%s': /sys/kernel/tracing/events/%s/format lists its fields",
			event->name, name, tracepoint);
	if (error == -EDOM)
		cli_die(EXIT_USAGE, "the field '%s' of '%s' is not a number", name, event->name);
	cli_check(error, "read the fields of tracepoints");
	if (field.offset < PERF_OVERWRITES)
		cli_die(EXIT_USAGE,
			"the field '%s' of '%s' cannot be summed up: the kernel hides it from BPF programs",
			name, event->name);
	if (field.is_size)
		*unit = "bytes";
	return (struct event_argument){ .at = field.offset,
					.bytes = field.bytes,
					.is_signed = field.is_signed };
}

/* and the argument's unit */
static struct event_argument argument_of(const struct event *event, const char *name,
					 const char **unit)
{
	*unit = name;
	switch (event->kind) {
	case EVENT_TRACEPOINT:
		return field(event, name, unit);
	case EVENT_KERNEL_FUNCTION:
	case EVENT_USER_FUNCTION:
		return parameter(name);
	case EVENT_USDT:
		return operand(event, name);
	default:
		cli_die(EXIT_USAGE,
			"--sum is for tracepoints, functions and probes: perf's events have no arguments");
	}
}

static const char *find_arguments(struct stackcount_bpf *bpf, const char *name)
{
	const char *unit = NULL;

	for (size_t i = 0; i < events.nr; i++) {
		const char *its_unit;

		bpf->rodata->arguments[i] = argument_of(&events.events[i], name, &its_unit);
		unit = !unit || !strcmp(unit, its_unit) ? its_unit : name;
	}
	bpf->rodata->with_sum = true;
	return unit;
}

static void say_sum(FILE *out, const struct stack_summary *s)
{
	fprintf(out, "%s in %.1f s, %s", counted(s->sum.count, s->measure->counted).text,
		s->seconds, measure_say(s->measure, s->measure->value(&s->sum)).text);
}

/* ---- the period ---- */

#define HARDWARE_PERIOD 1000000  /* a hardware event may happen a billion times a second */
#define CLOCK_PERIOD    10000000 /* ns */

static uint64_t period_of(const struct options *o)
{
	const struct event *event = &events.events[0];

	if (event->kind != EVENT_PERF) {
		if (o->period)
			cli_die(EXIT_USAGE,
				"-c is for perf's events: all others are counted one by one");
		return 1;
	}
	if (o->period)
		return o->period;
	if (perf_encoding_is_clock(&event->perf))
		return CLOCK_PERIOD;
	return perf_encoding_is_software(&event->perf) ? 1 : HARDWARE_PERIOD;
}

struct lost {
	const struct stackcount_bpf *bpf;
	const struct stack_session *session;
	const struct links *links;
	struct perf_events *perf;
	struct loss losses[2];
};

static void count_lost(void *arg)
{
	struct lost *lost = arg;

	lost->losses[0] = kernel_missed(lost->links);
	lost->losses[0].count += stack_session_lost(lost->session, lost->perf);
	lost->losses[1] = (struct loss){
		"lost_preempting", lost->bpf->bss->lost_preempting,
		"events lost: the BPF program of another thread was preempted on their CPU",
		.lost = true
	};
}

int main(int argc, char **argv)
{
	const struct argp argp = { option_list, parse, "EVENT " STACK_ARGS_DOC, doc };
	struct options o = { .stacks = STACK_OPTIONS_DEFAULT };
	struct measure counted = { .value = measure_count,
				   .counted = "events",
				   .stack_json = stack_json };
	const struct task_filter *tasks = &o.stacks.run.tasks;
	struct stack_session session;
	struct bpf_program *program;
	struct stackcount_bpf *bpf;
	struct perf_events perf = {};
	struct links links = {};
	struct events_watch watch;
	struct lost lost = { .session = &session, .links = &links, .perf = &perf };
	const struct own_losses own = { lost.losses, 2, count_lost, &lost };

	stack_options_parse(&o.stacks, &argp, &o, argc, argv);
	if (o.list)
		events_list(o.list, tasks);
	events = events_named(o.event, tasks);
	o.period = period_of(&o);
	if (events.nr > 1)
		counted.root = event_of;

	lost.bpf = bpf = kernel_opened(stackcount_bpf__open());
	/* what interrupts an idle CPU is an event like any other */
	bpf->rodata->with_idle = events.events[0].kind != EVENT_PERF;
	if (o.sum) {
		counted.value = measure_sum;
		counted.sum_unit = find_arguments(bpf, o.sum);
		counted.say = say_sum;
	}
	program = program_for(bpf, events.events[0].kind);
	bpf_program__set_autoload(program, true);
	links_prepare(bpf->obj);
	o.stacks.wanted.may_be_nmi =
		events.events[0].kind != EVENT_USER_FUNCTION && events.events[0].kind != EVENT_USDT;
	stack_session_configure(bpf->obj, &o.stacks.run, &o.stacks.wanted);
	kernel_loaded(bpf->skeleton, stackcount_bpf__load(bpf));
	/*
	 * first, so that at an exit these programs run before the one that takes the process off
	 * the lists
	 */
	if (events.events[0].kind == EVENT_PERF)
		perf = events_attach_perf(program, &events.events[0], o.period, 0, &tasks->cpus);
	else
		events_attach(&links, program, &events, false, tasks);
	stack_session_open(&session, bpf->obj, &o.stacks.run, &o.stacks.wanted);
	events_watch_file(&watch, &session.run, &links, &events);
	if (perf.nr)
		sampling_follow(&session.run, &perf, program, &tasks->cpus);

	run_doing(&session.run, "Counting %s", o.event);
	json_object_object_add(session.run.start, "event", json_name(o.event));
	json_object_object_add(session.run.start, "period", json_number(o.period));
	json_add_name(session.run.start, "argument", o.sum);
	bpf->bss->measuring = true;
	cli_check(perf_events_enable(&perf), "start counting");
	stack_session_measure(&session, &o.stacks, &counted, &own);
	cli_check(perf_events_disable(&perf), "read the results");
	bpf->bss->measuring = false;
	count_lost(&lost);
	stack_session_report(&session);
	links_detach(&links); /* after the report, because older kernels take their time */
	return stack_session_close(&session);
}
