// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules of code whose compiler says how large its frame is: with the handlers behind it to which a
 * frame that is to be deoptimised returns, as HotSpot has them, one for method handles' calls
 * behind the other. It is never run.
 */
#include "check.h"
#include "runtimes/hotspot/jit_rules.h"
#include "tables_abi.h"

#define FRAME_BYTES 48

__asm__(".text\n"
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
	/* String.indexOf(): sp is kept in a register, then on the stack, and comes back by pop */
	"search: push %rbp\n"
	"	sub $32, %rsp\n"
	"se1:	mov %rsp, %rcx\n"
	"	cmp $16, %edx\n"
	"	jae se3\n"
	"	sub $16, %rsp\n"
	"se2:	mov %rsp, %rdi\n"
	"se3:	mov $1, %eax\n"
	"	push %rcx\n"
	"se4:	mov $2, %ecx\n"
	"	pop %rsp\n"
	"se5:	mov %rax, (%rdi)\n"
	"	and $-16, %rsp\n" /* now sp is lost */
	"se6:	ret\n"
	"se7:	nop\n"
	"search_end:\n"
	/*
	 * String.compareTo(), in a case of a switch: a block that nothing leads to, between the
	 * push and the pop
	 */
	"cases:	push %rbp\n"
	"	sub $32, %rsp\n"
	"ca1:	jmp *%rax\n"
	"	push %rcx\n"
	"	test %eax, %eax\n"
	"	jne ca4\n"
	"ca2:	pop %rax\n"
	"	jmp ca5\n"
	"ca3:	not %rcx\n"
	"	jmp ca4\n"
	"ca4:	pop %rcx\n"
	"ca5:	add $32, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"
	"cases_end:\n"
	/*
	 * where it is not said where the frame is whole: called; and jumped to, without a return
	 * address
	 */
	"called: push %rbp\n"
	"	sub $32, %rsp\n"
	"cd1:	call far_away\n"
	"cd2:	add $32, %rsp\n"
	"	pop %rbp\n"
	"cd3:	ret\n"
	"called_end:\n"
	"jumped: push %rbx\n"
	"	push %rbp\n"
	"	sub $32, %rsp\n"
	"ju1:	call far_away\n"
	"ju2:	add $32, %rsp\n"
	"	pop %rbp\n"
	"ju3:	ret\n"
	"jumped_end:\n"
	".skip 64, 0xf4\n"
	"far_away: ret\n");

extern const uint8_t jit[], in1[], in2[], in3[], in4[], first[], f1[], second[], s1[], end[];
extern const uint8_t search[], se1[], se2[], se3[], se4[], se5[], se6[], se7[], search_end[];
extern const uint8_t cases[], ca1[], ca2[], ca3[], ca4[], ca5[], cases_end[];
extern const uint8_t called[], cd1[], cd2[], cd3[], called_end[], jumped[], ju1[], ju2[], ju3[],
	jumped_end[];

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

static const struct eh_rule *rule_at(size_t at)
{
	static const struct eh_rule none;
	size_t i = nr_rows;

	while (i && rows[i - 1].at > at)
		i--;
	return i ? &rows[i - 1].rule : &none;
}

/* the CFA's distance from sp at this offset; -1: there is no rule, or another one */
static int depth_at(size_t at)
{
	const struct eh_rule *rule = rule_at(at);

	return rule->kind == RULE_REG && rule->cfa_reg == EH_RSP ? rule->cfa_offset : -1;
}

static void make_rules(const uint8_t *code, const uint8_t *complete, const uint8_t *code_end)
{
	struct jit_code jit = {
		.bytes = code,
		.size = code_end - code,
		.vaddr = (uintptr_t)code,
		.frame_bytes = FRAME_BYTES,
		.complete = complete ? complete - code : UINT32_MAX,
		.nr_entries = 1,
	};

	nr_rows = 0;
	check(!jit_rules(&jit, add, NULL));
}

#define RCX 2 /* by DWARF */

static void test_kept_sp(void)
{
	const struct eh_rule *rule;

	make_rules(search, se1, search_end);
	check(depth_at(se1 - search) == FRAME_BYTES && depth_at(se2 - search) == FRAME_BYTES + 16);
	rule = rule_at(se3 - search);
	check(rule->kind == RULE_REG && rule->cfa_reg == RCX && rule->cfa_offset == FRAME_BYTES);
	rule = rule_at(se4 - search);
	check(rule->kind == RULE_DEREF && rule->cfa_reg == EH_RSP && !rule->deref_offset &&
	      rule->cfa_offset == FRAME_BYTES);
	check(depth_at(se5 - search) == FRAME_BYTES);
	/* without a rule, the instruction has not that of what lies behind it */
	check(rule_at(se6 - search)->kind == RULE_NONE && depth_at(se7 - search) == FRAME_BYTES);
}

static void test_block_that_is_never_run(void)
{
	make_rules(cases, ca1, cases_end);
	check(depth_at(ca1 - cases) == FRAME_BYTES && depth_at(ca2 - cases) == FRAME_BYTES + 8);
	check(depth_at(ca3 - cases) == -1 && depth_at(ca4 - cases) == FRAME_BYTES + 8);
	check(depth_at(ca5 - cases) == FRAME_BYTES);
}

static void test_entry_that_is_none(void)
{
	make_rules(called, NULL, called_end);
	check(depth_at(0) == 8 && depth_at(cd1 - called) == FRAME_BYTES &&
	      depth_at(cd2 - called) == FRAME_BYTES && depth_at(cd3 - called) == 8);
	make_rules(jumped, NULL, jumped_end);
	check(depth_at(0) == -1 && depth_at(ju1 - jumped) == FRAME_BYTES &&
	      depth_at(ju2 - jumped) == FRAME_BYTES && depth_at(ju3 - jumped) == 8);
}

int main(void)
{
	make_rules(jit, in2, end);
	check(depth_at(0) == 8 && depth_at(in1 - jit) == 16 && depth_at(in2 - jit) == FRAME_BYTES &&
	      depth_at(in3 - jit) == FRAME_BYTES);
	check(depth_at(first - jit) == FRAME_BYTES && depth_at(f1 - jit) == FRAME_BYTES + 8);
	check(depth_at(second - jit) == FRAME_BYTES && depth_at(s1 - jit) == FRAME_BYTES + 8);
	/* a frame returns to `second`, which is looked up before it */
	check(depth_at(second - jit - 1) == FRAME_BYTES);
	/* that of one byte is executed there itself */
	check(depth_at(in4 - jit) == 8);
	test_kept_sp();
	test_block_that_is_never_run();
	test_entry_that_is_none();
	return check_done();
}
