// SPDX-License-Identifier: GPL-2.0-or-later
/* offwaketime: what ends the waits of threads, with whole stacks of both threads. */
#include "off_cpu_abi.h"
#include "offwaketime.skel.h"
#include "run/kernel.h"
#include "run/off_cpu_run.h"

static const char doc[] =
	"Show where threads are blocked, for how long, and what wakes them up, with whole user and kernel "
	"stacks of both, even of stripped programs without frame pointers. DURATION is in seconds; the "
	"default is until Ctrl-C or SIGTERM, or COMMAND's end."
	"\vExamples:\n"
	"  offwaketime -p 812 10             # what wakes process 812, for 10 s\n"
	"  offwaketime -f -- make            # of a command, folded\n";

static const struct argp_option option_list[] = { OFF_CPU_OPTION_ROWS, {} };

int main(int argc, char **argv)
{
	const struct argp argp = { option_list, off_cpu_parse, STACK_ARGS_DOC, doc };
	struct off_cpu_options o = OFF_CPU_OPTIONS_DEFAULT;
	struct offwaketime_bpf *bpf;

	o.part = OFF_CPU_BLOCKED;
	o.stacks.wanted.others = true; /* any process may be a waker */
	stack_options_parse(&o.stacks, &argp, &o, argc, argv);

	bpf = kernel_opened(offwaketime_bpf__open());
	off_cpu_run_configure(bpf->obj, &o);
	kernel_loaded(bpf->skeleton, offwaketime_bpf__load(bpf));
	return off_cpu_run(bpf->obj, &o);
}
