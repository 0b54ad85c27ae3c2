// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "report/frame_name.h"

static const struct module library = { .path = "/usr/lib/lib;x.so" };

static bool prints(const struct frame_name *name, const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool same;

	frame_name_print(out, name);
	fclose(out);
	same = !strcmp(text, expected);
	free(text);
	return same;
}

int main(void)
{
	check(prints(&(struct frame_name){ .symbol = "schedule" }, "schedule"), "the kernel's own");
	check(prints(&(struct frame_name){ .symbol = "ext4_sync", .module = "ext4" },
		     "ext4_sync [ext4]"),
	      "a module's");
	check(prints(&(struct frame_name){ .symbol = "bpf_prog_1_x", .module = "bpf" },
		     "bpf_prog_1_x [bpf]"),
	      "a BPF program");
	check(prints(&(struct frame_name){ .symbol = "read",
					   .module = library.path,
					   .file = &library },
		     "read"),
	      "of a file");
	check(prints(&(struct frame_name){ .module = library.path,
					   .file = &library,
					   .has_vaddr = true,
					   .vaddr = 0x1234,
					   .has_function = true,
					   .function_vaddr = 0x1200 },
		     "[lib\\x3bx.so+0x1200]"),
	      "without a name");
	check(prints(&(struct frame_name){ .symbol = "f",
					   .module = library.path,
					   .file = &library,
					   .source = "a.c",
					   .line = 7 },
		     "f (a.c:7)"),
	      "with its line");
	check(prints(&(struct frame_name){}, "[unknown]"), "in no file");
	return check_done();
}
