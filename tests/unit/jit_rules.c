// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules of code whose compiler says how large its frame is: with the handlers behind it to which a frame that is to be
 * deoptimised returns, as HotSpot has them, one for method handles' calls behind the other. It is never run.
 */
#include "check.h"
#include "table/jit_rules.h"
#include "tables_abi.h"

#define FRAME_BYTES 48

__asm__(
	".text\n"
	".p2align 4\n"
	"jit:	push %rbp\n"
	"in1:	sub $32, %rsp\n"
	"in2:	call jit\n"
	"in3:	add $32, %rsp\n"
	"	pop %rbp\n"
	"in4:	ret\n"
	"first: push %r10\n"
	"f1:	jmp far_away\n"
	"second: push %r10\n"
	"s1:	jmp far_away\n"
	"end:	hlt\n"
	".skip 64, 0xf4\n"
	"far_away: ret\n");

extern const uint8_t jit[], in1[], in2[], in3[], in4[], first[], f1[], second[], s1[], end[];

static struct {
	size_t at;
	struct eh_rule rule;
} rows[64];
static size_t nr_rows;

static void add(void *arg, size_t at, const struct eh_rule *rule)
{
	(void)arg;
	check(!nr_rows || rows[nr_rows - 1].at <= at);
	rows[nr_rows].at = at;
	rows[nr_rows++].rule = *rule;
}

/* the CFA's distance from sp at this offset; -1: there is no rule */
static int depth_at(size_t at)
{
	size_t i = nr_rows;

	while (i && rows[i - 1].at > at)
		i--;
	return !i || rows[i - 1].rule.kind == RULE_NONE ? -1 : rows[i - 1].rule.cfa_offset;
}

int main(void)
{
	struct jit_code code = {
		.bytes = jit, .size = end - jit, .vaddr = (uintptr_t)jit, .frame_bytes = FRAME_BYTES, .complete = in2 - jit,
		.nr_entries = 1,
	};

	check(!jit_rules(&code, add, NULL));
	check(depth_at(0) == 8 && depth_at(in1 - jit) == 16 && depth_at(in2 - jit) == FRAME_BYTES &&
	      depth_at(in3 - jit) == FRAME_BYTES);
	check(depth_at(first - jit) == FRAME_BYTES && depth_at(f1 - jit) == FRAME_BYTES + 8);
	check(depth_at(second - jit) == FRAME_BYTES && depth_at(s1 - jit) == FRAME_BYTES + 8);
	/* a frame returns to `second`, which is looked up before it */
	check(depth_at(second - jit - 1) == FRAME_BYTES);
	/* that of one byte is executed there itself */
	check(depth_at(in4 - jit) == 8);
	return check_done();
}
