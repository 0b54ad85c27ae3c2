// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kernel maps of an ELF file's first segment, before and after it cuts that. */
#include "check.h"
#include "dwarf/elf_file.h"

static bool is(struct elf_segment first, struct elf_segment last, uint64_t whole, uint64_t cut)
{
	struct elf_segment segments[] = { first, last };
	struct elf_file file = { .segments = segments, .nr_segments = 2 };
	uint64_t is_whole, is_cut;

	elf_file_as_loaded(&file, &is_whole, &is_cut);
	return is_whole == whole && is_cut == cut;
}

int main(void)
{
	struct elf_file empty = {};
	/* arm64's ld.so: its segments are aligned to 64 KiB */
	struct elf_segment text = { .size = 0x26118, .memory_bytes = 0x26118, .executable = true };
	struct elf_segment data = { .vaddr = 0x3e6f0,
				    .file_offset = 0x2e6f0,
				    .size = 0x1c10,
				    .memory_bytes = 0x1d90,
				    .writable = true };
	struct elf_segment read_only = text, fixed = text, behind = data;
	uint64_t whole = 1, cut = 1;

	check(is(text, data, 0x40480, 0x26118));
	read_only.executable = false;
	check(is(read_only, data, 0, 0), "what has no code is not followed");
	fixed.vaddr = 0x400010;
	behind.vaddr = 0x43e6f0;
	check(is(fixed, behind, 0x40480, 0x26128), "from the beginning of its page");
	check(is(data, text, 0, 0), "in no order");
	elf_file_as_loaded(&empty, &whole, &cut);
	check(!whole && !cut);
	return check_done();
}
