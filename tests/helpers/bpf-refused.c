// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bpf-refused OBJECT [PROGRAM | ERROR]: what a user is told when the kernel refuses to load the
 * object's PROGRAM too, or when loading ends with that negative number.
 */
#include <bpf/libbpf.h>
#include <stdlib.h>

#include "run/kernel.h"

int main(int argc, char **argv)
{
	struct bpf_object *object = argc > 1 ? bpf_object__open(argv[1]) : NULL;
	struct bpf_program *program;
	int error = argc > 2 ? atoi(argv[2]) : 0;

	kernel_init(false);
	if (!object)
		return 2;
	if (argc > 2 && !error) {
		bpf_object__for_each_program(program, object)
			bpf_program__set_autoload(program, false);
		bpf_program__set_autoload(bpf_object__find_program_by_name(object, argv[2]), true);
	}
	if (!error)
		error = bpf_object__load(object);
	kernel_check(error, "load the BPF programs");
	return 0;
}
