// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A section of CFI at vaddr 0x200000, over 1 MiB of text at 0: .eh_frame, or .debug_frame if the
 * first byte is odd.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct elf_segment text = { .size = 1 << 20, .file_offset = 0x1000, .executable = true };
	struct elf_file file = { .segments = &text, .nr_segments = 1 };
	struct eh_frame frame;

	if (!size)
		return 0;
	frame = eh_frame_over(bytes + 1, size - 1, 0x200000);
	frame.is_debug_frame = bytes[0] & 1;
	frame.ends_at_terminator = bytes[0] & 2;
	fuzz_cfi(&file, frame);
	return 0;
}
