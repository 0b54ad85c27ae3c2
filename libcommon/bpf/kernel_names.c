// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/kernel_names.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "kernel_symbol_abi.h"

static struct kernel_symbol_asked *asked_of(const struct bpf_object *object)
{
	struct bpf_map *map;
	size_t size;

	bpf_object__for_each_map(map, object)
		if (strstr(bpf_map__name(map), ".data.symbol"))
			return (struct kernel_symbol_asked *)bpf_map__initial_value(map, &size);
	return NULL;
}

int kernel_names_ask(void *object, uint64_t address, const char **text, bool *schedules)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(object, "name_kernel_address");
	struct kernel_symbol_asked *asked = asked_of(object);
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
