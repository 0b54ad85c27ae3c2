// SPDX-License-Identifier: GPL-2.0-or-later
/* funclat: how long calls of a function take, and what they wait for. */
#include "funclat.skel.h"
#include "kernel/object.h"
#include "funclat_abi.h"
#include "nested_calls_abi.h"
#include "report/counted.h"
#include "report/escape.h"
#include "report/json.h"
#include "run/events.h"
#include "run/histogram_session.h"
#include "run/kernel.h"
#include "run/timed_calls.h"

enum { OPTION_SLOW = 0x100, OPTION_RETURN_PROBES };

struct options {
	struct histogram_options histograms;
	struct stacks_wanted stacks;
	const char *function, *list;
	bool return_probes;
};

static const char doc[] =
	"Measure how long calls of a function take, how much of that is spent blocked or waiting for a CPU, and in "
	"which kernel functions. FUNCTION is u:FILE:FUNCTION (of a program or library) or k:FUNCTION (of the kernel). "
	"INTERVAL is in seconds; the default is one interval until Ctrl-C or SIGTERM, or COMMAND's end."
	"\vExamples:\n"
	"  funclat -p nginx u:libc:fsync 1       # a histogram each second\n"
	"  funclat u:libc:write -- ./program     # of a command\n";

static const struct argp_option option_list[] = {
	{ "list", 'l', "PATTERN", 0, "list the functions that match, and exit", OF_MEASURE },
	{ "user-stacks", 'U', NULL, 0, "show user stacks, too", OF_OUTPUT },
	{ "slow", OPTION_SLOW, "TIME", 0, "print calls slower than TIME: 5ms, 50 (us)", OF_OUTPUT },
	{ "return-probes", OPTION_RETURN_PROBES, NULL, 0,
	  "cheaper, but breaks some programs (see man page)", OF_MEASURE },
	{},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'l':
		o->list = arg;
		break;
	case 'U':
		o->stacks.only_kernel = false;
		o->histograms.stacks = "-U";
		break;
	case OPTION_SLOW:
		o->histograms.slow_ns = slow_calls_parse_time(arg, state);
		break;
	case OPTION_RETURN_PROBES:
		o->return_probes = true;
		break;
	case ARGP_KEY_ARG:
		if (o->function || o->list || state->quoted)
			return ARGP_ERR_UNKNOWN;
		o->function = arg;
		break;
	case ARGP_KEY_END:
		if (!o->function && !o->list)
			argp_failure(state, EXIT_USAGE, 0,
				     "a function is missing: such as u:libc:malloc; see -l");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- functions ---- */

static struct events functions;

static const char *name_of(const struct function_call_key *key)
{
	return key->function && key->function <= functions.nr
		       ? functions.events[key->function - 1].name
		       : "";
}

static struct series_title title(const void *call)
{
	const struct function_call_key *key = call;
	struct series_title title = {};
	FILE *out = fmemopen(title.text, sizeof(title.text), "w");

	if (!out)
		return title;
	if (key->pid) {
		print_escaped(out, key->comm);
		fprintf(out, " (%u), ", key->pid);
	}
	print_escaped(out, name_of(key));
	fclose(out);
	return title;
}

static struct json_object *json(const void *call)
{
	const struct function_call_key *key = call;
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "function", json_name(name_of(key)));
	if (key->pid) {
		json_object_object_add(object, "pid", json_object_new_int64(key->pid));
		json_object_object_add(object, "comm", json_name(key->comm));
	}
	return object;
}

/* ---- measuring ---- */

static void configure(struct funclat_bpf *bpf, const struct options *o, bool kernel)
{
	bpf->rodata->by_process = o->histograms.per_process;
	bpf->rodata->slow_ns = o->histograms.slow_ns;
	bpf->rodata->kernel_calls = kernel;
	bpf_program__set_autoload(kernel ? bpf->progs.kernel_function_begins
					 : bpf->progs.user_function_begins,
				  true);
	bpf_program__set_autoload(kernel ? bpf->progs.kernel_function_returns
					 : bpf->progs.user_function_leaves,
				  true);
	bpf_program__set_autoload(bpf->progs.program_replaced, !kernel);
	bpf_program__set_autoload(bpf->progs.user_function_returned, !kernel && o->return_probes);
	bpf->rodata->return_probes = o->return_probes;
	links_prepare(bpf->obj);
	stack_session_configure(bpf->obj, &o->histograms.run, &o->stacks);
	histogram_session_configure(bpf->obj, &o->histograms);
}

static void attach_to_returns(struct funclat_bpf *bpf, struct links *links, const struct options *o,
			      bool kernel)
{
	const struct task_filter *tasks = &o->histograms.run.tasks;
	const struct return_programs programs = {
		.at_exits = bpf->progs.user_function_leaves,
		.returned = o->return_probes ? bpf->progs.user_function_returned : NULL,
	};
	const char *where =
		(tasks->pids.nr || tasks->tids.nr) && !tasks->children ? "" : " in every process";
	size_t nr, nr_returned = 0;

	if (kernel) {
		events_attach(links, bpf->progs.kernel_function_returns, &functions, true, tasks);
		return;
	}
	nr = events_attach_returns(links, &programs, &functions, tasks);
	if (functions.nr_left_out)
		cli_warn("%s not timed: they do not return, or not all their exits are known",
			 counted(functions.nr_left_out, "functions").text);
	for (size_t i = 0; i < functions.nr && o->return_probes; i++)
		nr_returned += functions.events[i].exits.returns_by_stack;
	if (nr && !o->histograms.run.quiet)
		cli_warn("returns are probed at %s, which costs 10 to 20 us a call%s%s",
			 counted(nr, "instructions").text, where,
			 o->return_probes
				 ? ""
				 : ": --return-probes is cheaper, but breaks some programs");
	if (nr_returned && !o->histograms.run.quiet)
		cli_warn(
			"return addresses of %s are replaced, which costs 1 to 11 us a call%s, and breaks some programs",
			counted(nr_returned, "functions").text, where);
}

/* Returns first, so that each call that is seen to begin is seen to return. */
static void attach(struct funclat_bpf *bpf, struct links *links, const struct options *o,
		   bool kernel)
{
	kernel_attach(links, "the scheduler's tracepoints", bpf->progs.program_replaced);
	attach_to_returns(bpf, links, o, kernel);
	events_attach(links,
		      kernel ? bpf->progs.kernel_function_begins : bpf->progs.user_function_begins,
		      &functions, false, &o->histograms.run.tasks);
}

static void report(struct timed_calls *calls, struct bpf_object *object)
{
	struct nested_counts n;

	cli_check(object_sum_counts(object, "nested_counts", &n, sizeof(n)), "read the results");

	const struct loss own[] = {
		{ "never_returned", n.never_returned,
		  "calls without a return, not in any histogram: longjmp(), an exception, exec, or a return that was not seen" },
		{ "lost_too_deep", n.too_deep, "calls lost: within 64 others", .lost = true },
		calls->missed,
	};

	timed_calls_report(calls, n.never_returned, own, sizeof(own) / sizeof(own[0]));
}

int main(int argc, char **argv)
{
	const struct argp argp = { option_list, parse, "FUNCTION " HISTOGRAM_ARGS_DOC, doc };
	struct options o = { .histograms = HISTOGRAM_OPTIONS_DEFAULT,
			     .stacks = STACKS_WANTED_DEFAULT };
	const struct task_filter *tasks = &o.histograms.run.tasks;
	const struct histogram_tool tool = { .title = title, .json = json };
	struct funclat_bpf *bpf;
	struct timed_calls calls;
	struct links links = {};
	struct events_watch watch;
	bool kernel;

	o.stacks.only_kernel = true;
	histogram_options_parse(&o.histograms, &argp, &o, argc, argv);
	if (o.list)
		events_list(o.list, tasks);
	functions = events_that_return(o.function, tasks);
	kernel = functions.events[0].kind == EVENT_KERNEL_FUNCTION;

	o.stacks.may_be_nmi = kernel;
	bpf = kernel_opened(funclat_bpf__open());
	configure(bpf, &o, kernel);
	kernel_loaded(bpf->skeleton, funclat_bpf__load(bpf));
	timed_calls_open(&calls, bpf->obj, &o.histograms, &o.stacks, &tool,
			 sizeof(struct function_call_key), &bpf->bss->measuring);
	attach(bpf, &links, &o, kernel);
	events_watch_file(&watch, &calls.stacks.run, &links, &functions);

	run_doing(&calls.stacks.run, "Measuring %s", o.function);
	json_object_object_add(calls.stacks.run.start, "function", json_name(o.function));
	timed_calls_measure(&calls, &links);
	calls.missed.count += bpf->bss->lost_preempting;
	timed_calls_finish(&calls);
	report(&calls, bpf->obj);
	return timed_calls_close(&calls, &links);
}
