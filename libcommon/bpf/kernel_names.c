// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/kernel_names.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "bpf/object.h"
#include "kernel_symbol_abi.h"

int kernel_names_ask(void *object, uint64_t address, const char **text, bool *schedules)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(object, "name_kernel_address");
	struct kernel_symbol_asked *asked = object_section(object, ".data.symbol");
	LIBBPF_OPTS(bpf_test_run_opts, run);

	if (!program || !asked)
		return -ENOENT;
	asked->address = address;
	if (bpf_prog_test_run_opts(bpf_program__fd(program), &run))
		return -errno;
	if (run.retval)
		return -EINVAL;
	*text = asked->text;
	*schedules = asked->schedules;
	return 0;
}
