// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/kernel_names.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kernel/object.h"
#include "kernel_symbol_abi.h"

/* 0; -ENOENT: the program has no answer; -errno */
static int ask(const struct bpf_object *object, const char *name)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	LIBBPF_OPTS(bpf_test_run_opts, run);

	if (!program)
		return -EINVAL;
	if (bpf_prog_test_run_opts(bpf_program__fd(program), &run))
		return -errno;
	return run.retval ? -ENOENT : 0;
}

int kernel_names_ask(void *object, uint64_t address, const char **text, bool *schedules)
{
	struct kernel_symbol_asked *asked = object_section(object, ".data.symbol");
	int error;

	if (!asked)
		return -EINVAL;
	asked->address = address;
	error = ask(object, "name_kernel_address");
	*text = asked->text;
	*schedules = asked->schedules;
	return error;
}

int kernel_names_find(const struct bpf_object *object, const char *symbol,
		      unsigned long long *begin, unsigned long long *end)
{
	struct kernel_symbol_asked *asked = object_section(object, ".data.symbol");
	unsigned long long size = 0;
	int error;

	if (!asked)
		return -EINVAL;
	memset(asked->text, 0, sizeof(asked->text));
	snprintf(asked->text, sizeof(asked->text), "%s", symbol);
	error = ask(object, "find_kernel_symbol");
	if (error)
		return error;
	sscanf(asked->text, "%*[^+]+0x%*x/0x%llx", &size);
	*begin = asked->address;
	*end = asked->address + size;
	return 0;
}
