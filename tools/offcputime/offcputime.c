// SPDX-License-Identifier: GPL-2.0-or-later
/* offcputime: where threads wait, with whole user and kernel stacks. */
#include <string.h>

#include "off_cpu_abi.h"
#include "offcputime.skel.h"
#include "run/kernel.h"
#include "run/off_cpu_run.h"

static const char doc[] =
	"Show where threads wait off the CPU, and for how long, with whole user and kernel stacks, even "
	"of stripped programs without frame pointers. DURATION is in seconds; the default is until "
	"Ctrl-C or SIGTERM, or COMMAND's end."
	"\vExamples:\n"
	"  offcputime -p 812 10              # where process 812 waits, for 10 s\n"
	"  offcputime -m 10ms -o waits.svg 30    # as a picture\n";

static const struct argp_option option_list[] = {
	OFF_CPU_OPTION_ROWS,
	{ "time", OPTION_TIME, "PART", 0, "which time: all (default), blocked or waiting",
	  OF_MEASURE },
	{},
};

static bool parse_part(const char *text, enum off_cpu_part *part)
{
	static const struct {
		const char *name;
		enum off_cpu_part part;
	} parts[] = { { "all", OFF_CPU_ALL },
		      { "blocked", OFF_CPU_BLOCKED },
		      { "waiting", OFF_CPU_WAITING } };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!strcmp(text, parts[i].name)) {
			*part = parts[i].part;
			return true;
		}
	}
	return false;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct off_cpu_options *o = state->input;

	if (key != OPTION_TIME)
		return off_cpu_parse(key, arg, state);
	if (!parse_part(arg, &o->part))
		argp_failure(state, EXIT_USAGE, 0, "not all, blocked or waiting: '%s'", arg);
	return 0;
}

int main(int argc, char **argv)
{
	const struct argp argp = { option_list, parse, STACK_ARGS_DOC, doc };
	struct off_cpu_options o = OFF_CPU_OPTIONS_DEFAULT;
	struct offcputime_bpf *bpf;

	stack_options_parse(&o.stacks, &argp, &o, argc, argv);

	bpf = kernel_opened(offcputime_bpf__open());
	off_cpu_run_configure(bpf->obj, &o);
	kernel_loaded(bpf->skeleton, offcputime_bpf__load(bpf));
	return off_cpu_run(bpf->obj, &o);
}
