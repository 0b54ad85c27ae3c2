// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/function_part.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/search.h"
#include "table/machine.h"

#define MAX_FUNCTION_BYTES (1 << 20)
#define MAX_JUMPS 1024
#define MIN_JUMPS 2	/* bytes that look like a jump may lead anywhere, once */

/* where a function's conditional jumps lead that leave it, sorted */
struct jumps {
	struct {
		uint64_t to;
	} jump[MAX_JUMPS];
	size_t nr;
};

static int by_target(const void *left, const void *right)
{
	const uint64_t *l = left, *r = right;

	return order_of(*l, *r);
}

static void find_jumps(struct jumps *j, const uint8_t *code, uint64_t bytes, uint64_t vaddr)
{
	uint64_t to;

	j->nr = 0;
	for (size_t at = 0; j->nr < MAX_JUMPS && (at = machine_next_branch(code, bytes, at, vaddr, &to));)
		if (to - vaddr >= bytes)
			j->jump[j->nr++].to = to;
	qsort(j->jump, j->nr, sizeof(j->jump[0]), by_target);
}

/* how many lead behind the first byte of this code */
static size_t jumps_into(const struct jumps *j, const struct fde *fde)
{
	uint64_t last = fde->start + fde->length - 1;

	return count_up_to(j->jump, j->nr, to, last) - count_up_to(j->jump, j->nr, to, fde->start);
}

static int find_part(struct elf_file *file, const struct jumps *j, uint64_t *vaddr, uint64_t *bytes)
{
	struct elf_section section;
	struct eh_frame frame;
	struct fde fde;
	size_t most = MIN_JUMPS - 1;
	int error = elf_file_cfi(file, &section, &frame);

	while (!error && eh_frame_next(&frame, &fde)) {
		size_t nr = fde.length ? jumps_into(j, &fde) : 0;

		if (nr <= most)
			continue;
		most = nr;
		*vaddr = fde.start;
		*bytes = fde.length;
	}
	if (!error && most < MIN_JUMPS)
		error = -ENOENT;
	return error;
}

int function_part_find(struct elf_file *file, uint64_t *vaddr, uint64_t *bytes)
{
	uint64_t offset;
	struct jumps *jumps;
	uint8_t *code;
	int error;

	if (*bytes > MAX_FUNCTION_BYTES || !elf_file_offset_of(file, *vaddr, &offset))
		return -EBADMSG;
	code = malloc(*bytes + 1);
	jumps = malloc(sizeof(*jumps));
	error = code && jumps ? elf_file_read(file, offset, code, *bytes) : -ENOMEM;
	if (!error) {
		find_jumps(jumps, code, *bytes, *vaddr);
		error = find_part(file, jumps, vaddr, bytes);
	}
	free(jumps);
	free(code);
	return error;
}
