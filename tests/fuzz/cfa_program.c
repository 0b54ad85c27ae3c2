// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Instructions: byte 0 is the length of the CIE's, which come first, the rest are an FDE's over 64
 * KiB of text.
 */
#include "fuzz.h"

static void put(uint8_t **to, const void *from, size_t size)
{
	memcpy(*to, from, size);
	*to += size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	/* version 1, "zR", code 1, data -8, ra 16, one byte of augmentation: DW_EH_PE_absptr */
	static const uint8_t cie[] = { 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0 };
	struct elf_segment text = { .size = 1 << 16, .executable = true };
	struct elf_file file = { .segments = &text, .nr_segments = 1 };
	uint8_t *section, *p;
	uint32_t length, cie_bytes;
	uint64_t range[2] = { 0, 1 << 16 };

	if (!size)
		return 0;
	cie_bytes = bytes[0] < size - 1 ? bytes[0] : size - 1;
	p = section = malloc(size + 64);
	length = sizeof(cie) + cie_bytes;
	put(&p, &length, 4);
	put(&p, cie, sizeof(cie));
	put(&p, bytes + 1, cie_bytes);
	length = 4 + sizeof(range) + 1 + (size - 1 - cie_bytes);
	put(&p, &length, 4);
	length = p - section;
	put(&p, &length, 4);
	put(&p, range, sizeof(range));
	*p++ = 0;
	put(&p, bytes + 1 + cie_bytes, size - 1 - cie_bytes);
	fuzz_cfi(&file, eh_frame_over(section, p - section, 0x200000));
	free(section);
	return 0;
}
