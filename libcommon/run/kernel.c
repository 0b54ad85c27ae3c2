// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/load.h"
#include "kernel/object.h"
#include "run/cli.h"

static void on_stderr(const char *format, va_list args)
{
	vfprintf(stderr, format, args);
}

void kernel_init(bool verbose)
{
	kernel_check(bpf_load_init(verbose ? on_stderr : NULL), "load the BPF programs");
}

void kernel_check(int error, const char *doing)
{
	const char *cause, *cure;

	if (!error)
		return;
	bpf_load_explain(error, &cause, &cure);
	cli_warn("cannot %s: %s", doing, cause);
	cli_die(EXIT_FAILURE, "%s", cure);
}

void kernel_refused_open(void)
{
	kernel_check(errno ? -errno : -EINVAL, "open the BPF programs");
	abort();
}

void kernel_loaded(const struct bpf_object_skeleton *skeleton, int error)
{
	kernel_check(error, "load the BPF programs");
	kernel_check(object_has_variables(skeleton) ? 0 : -ENOMEM,
		     "map the BPF programs' variables");
}

void kernel_attach_list(struct links *links, const char *to, struct bpf_program *const programs[])
{
	char doing[128];

	snprintf(doing, sizeof(doing), "attach to %s", to);
	for (; *programs; programs++)
		kernel_check(links_attach(links, *programs), doing);
}

struct loss kernel_missed(const struct links *links)
{
	return (struct loss){
		"lost_unseen",
		links_missed(links),
		"events lost by the kernel on the whole machine: a BPF program was already running on that CPU",
		.lost = true,
		.of_machine = true,
	};
}

static void say_verified(const char *program, uint32_t instructions)
{
	cli_warn("%s: %u instructions verified", program, instructions);
}

void kernel_say_verified(struct bpf_object *object)
{
	object_verified(object, say_verified);
}

void kernel_set(struct bpf_object *object, const char *constant, const void *value, size_t size)
{
	kernel_check(object_set(object, constant, value, size), "load the BPF programs");
}
