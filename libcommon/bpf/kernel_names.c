// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/kernel_names.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/object.h"
#include "kernel_symbol_abi.h"

/* 0 or -errno */
static int ask(const struct bpf_object *object, const char *name)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	LIBBPF_OPTS(bpf_test_run_opts, run);

	if (!program)
		return -ENOENT;
	if (bpf_prog_test_run_opts(bpf_program__fd(program), &run))
		return -errno;
	return run.retval ? -EINVAL : 0;
}

int kernel_names_ask(void *object, uint64_t address, const char **text, bool *schedules)
{
	struct kernel_symbol_asked *asked = object_section(object, ".data.symbol");
	int error;

	if (!asked)
		return -ENOENT;
	asked->address = address;
	error = ask(object, "name_kernel_address");
	*text = asked->text;
	*schedules = asked->schedules;
	return error;
}

bool kernel_names_find(const struct bpf_object *object, const char *symbol, unsigned long long *begin, unsigned long long *end)
{
	struct kernel_symbol_asked *asked = object_section(object, ".data.symbol");
	unsigned long long size = 0;

	if (!asked)
		return false;
	memset(asked->text, 0, sizeof(asked->text));
	snprintf(asked->text, sizeof(asked->text), "%s", symbol);
	if (ask(object, "find_kernel_symbol"))
		return false;
	sscanf(asked->text, "%*[^+]+0x%*x/0x%llx", &size);
	*begin = asked->address;
	*end = asked->address + size;
	return true;
}
