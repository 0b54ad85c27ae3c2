// SPDX-License-Identifier: GPL-2.0-or-later
/* Known code, by bytes that objdump shows of Debian's musl, glibc, Boost, SBCL and shellcheck. */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "table/known_code.h"
#include "table/machine.h"

/* musl 1.2.3, libc.a:clone.lo, from the system call on */
static const uint8_t clone_bytes[] = {
	0x0f, 0x05, 0x85, 0xc0, 0x75, 0x0f, 0x31, 0xed, 0x5f, 0x41, 0xff,
	0xd1, 0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05, 0xf4, 0xc3,
};
/* libc.a:restore.lo */
static const uint8_t restorer[] = { 0x90, 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
/* libboost_context 1.74, the end of make_fcontext */
static const uint8_t trampoline[] = { 0xc3, 0x55, 0xff, 0xe3, 0x48, 0x31, 0xff,
				      0xe8, 0xf9, 0xfd, 0xff, 0xff, 0xf4 };
/* glibc 2.36 */
static const uint8_t start_context[] = {
	0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff, 0x74, 0x08, 0xe8,
	0x0f, 0xf6, 0xfe, 0xff, 0x48, 0x89, 0xc7, 0xe8, 0xa7, 0xcc, 0xfe, 0xff, /* call exit */
	0xf4,                                                                   /* hlt */
};

/* libboost_context 1.74 */
static const uint8_t jump[] = {
	0x48, 0x8d, 0x64, 0x24, 0xc8, 0x0f, 0xae, 0x1c, 0x24, 0xd9, 0x7c, 0x24, 0x04, 0x4c,
	0x89, 0x64, 0x24, 0x08, 0x4c, 0x89, 0x6c, 0x24, 0x10, 0x4c, 0x89, 0x74, 0x24, 0x18,
	0x4c, 0x89, 0x7c, 0x24, 0x20, 0x48, 0x89, 0x5c, 0x24, 0x28, 0x48, 0x89, 0x6c, 0x24,
	0x30, 0x48, 0x89, 0xe0, 0x48, 0x89, 0xfc, 0x4c, 0x8b, 0x44, 0x24, 0x38, 0x0f, 0xae,
	0x14, 0x24, 0xd9, 0x6c, 0x24, 0x04, 0x4c, 0x8b, 0x64, 0x24, 0x08, 0x4c, 0x8b, 0x6c,
	0x24, 0x10, 0x4c, 0x8b, 0x74, 0x24, 0x18, 0x4c, 0x8b, 0x7c, 0x24, 0x20, 0x48, 0x8b,
	0x5c, 0x24, 0x28, 0x48, 0x8b, 0x6c, 0x24, 0x30, 0x48, 0x8d, 0x64, 0x24, 0x40, 0x48,
	0x89, 0xf2, 0x48, 0x89, 0xc7, 0x41, 0xff, 0xe0,
};
/* sbcl 2.2.9, the end of call_into_lisp_ */
static const uint8_t lisp[] = {
	0xff, 0x50, 0xfd, 0x73, 0x03, 0x48, 0x89, 0xdc, 0x41, 0x5f, 0x41,
	0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5b, 0x48, 0x89, 0xd0, 0xc9, 0xc3,
};

/* shellcheck 0.9.0, built by GHC 9.0.2: StgRun */
static const uint8_t stg_run[] = {
	0x48, 0x83, 0xec, 0x30, 0x48, 0x89, 0xe0, 0x48, 0x81, 0xec, 0x00, 0x40, 0x00, 0x00, 0x48,
	0x89, 0x18, 0x48, 0x89, 0x68, 0x08, 0x4c, 0x89, 0x60, 0x10, 0x4c, 0x89, 0x68, 0x18, 0x4c,
	0x89, 0x70, 0x20, 0x4c, 0x89, 0x78, 0x28, 0x49, 0x89, 0xf5, 0x48, 0x89, 0xf8, 0xff, 0xe0,
	0x48, 0x89, 0xd8, 0x48, 0x81, 0xc4, 0x00, 0x40, 0x00, 0x00, 0x48, 0x8b, 0x1c, 0x24, 0x48,
	0x8b, 0x6c, 0x24, 0x08, 0x4c, 0x8b, 0x64, 0x24, 0x10, 0x4c, 0x8b, 0x6c, 0x24, 0x18, 0x4c,
	0x8b, 0x74, 0x24, 0x20, 0x4c, 0x8b, 0x7c, 0x24, 0x28, 0x48, 0x83, 0xc4, 0x30, 0xc3, 0xc3,
};

/* puts sub (0xec) or add (0xc4) $imm, %rsp there */
static void put_change(uint8_t *code, size_t at, uint8_t modrm, uint8_t imm)
{
	memcpy(code + at, (uint8_t[]){ 0x48, 0x83, modrm, imm }, 4);
}

static void expect_call(const uint8_t *code, size_t size, size_t *at, size_t start, size_t end,
			bool by_8)
{
	struct known_stg_call call = {};

	check(known_stg_next_call(code, size, *at, &call) && call.start == start &&
		      call.end == end && call.by_8 == by_8,
	      "%zu to %zu, expected %zu to %zu", call.start, call.end, start, end);
	*at = call.end;
}

/*
 * Around a call of C, rsp is 8 lower; with arguments on the stack, or where it does not come back
 * soon, it is not known by how much.
 */
static void test_stg(void)
{
	uint8_t code[2000] = {};
	struct known_code piece;
	struct known_stg_call call;
	size_t at = 0;

	check(sizeof(stg_run) == STG_RUN_BYTES &&
	      known_code_in(STG_RUN, stg_run, sizeof(stg_run), &piece) &&
	      piece.end == STG_RUN_BYTES);
	check(!known_stg_next_call(code, sizeof(code), 0, &call) &&
	      !known_is_stg(code, sizeof(code)));
	put_change(code, 10, 0xec, 8);
	put_change(code, 30, 0xc4, 8);
	put_change(code, 500, 0xec, 8);
	put_change(code, 900, 0xc4, 8);  /* of a push: no sub is near */
	put_change(code, 1000, 0xec, 8); /* of two pushes */
	put_change(code, 1040, 0xc4, 24);
	put_change(code, 1046, 0xc4, 8);
	expect_call(code, sizeof(code), &at, 14, 34, true);
	expect_call(code, sizeof(code), &at, 504, 760, false);
	expect_call(code, sizeof(code), &at, 840, 904, false);
	expect_call(code, sizeof(code), &at, 1004, 1044, false);
	expect_call(code, sizeof(code), &at, 1044, 1050, false);
	check(!known_stg_next_call(code, sizeof(code), at, &call));
	at = 0;
	expect_call(code, 20, &at, 14, 20, false); /* cut */
	check(known_stg_rule(true).cfa_offset == known_stg_rule(false).cfa_offset + 8);
	memcpy(code + 1900, (uint8_t[]){ 0xff, 0x65, 0 }, 3);
	check(known_is_stg(code, sizeof(code)) && !known_is_stg(code, 1902));
}

/* the rows' CFAs, and where the rows are */
static void expect_rows(const uint8_t *code, size_t size, const size_t *at, const int *reg,
			const int *offset, size_t nr)
{
	struct known_code piece = {};

	check(known_code_next(code, size, 0, &piece) && piece.end == size && piece.nr_rows == nr);
	for (size_t i = 0; i < piece.nr_rows; i++)
		check(piece.rows[i].at == at[i] && at[i] < size &&
			      piece.rows[i].rule.kind == RULE_REG &&
			      piece.rows[i].rule.cfa_reg == reg[i] &&
			      piece.rows[i].rule.cfa_offset == offset[i],
		      "row %zu", i);
}

static void expect(const uint8_t *code, size_t size, size_t start, size_t end, struct eh_rule rule)
{
	struct known_code piece = { .name = "nothing" };
	uint8_t odd[64];

	check(known_code_next(code, size, 0, &piece) && piece.rows[0].at == start &&
		      piece.end == end,
	      "%s: %zu to %zu", piece.name, piece.rows[0].at, piece.end);
	check(!memcmp(&piece.rows[0].rule, &rule, sizeof(rule)), "%s", piece.name);
	check(!known_code_next(code, size, end, &piece), "but one");
	/* not a byte less, and none that is not as expected */
	check(!known_code_next(code, end - 1, 0, &piece), "cut off");
	memcpy(odd, code, size);
	odd[end - 1] ^= 0x40;
	check(!known_code_next(odd, size, 0, &piece), "another last byte");
	odd[end - 1] ^= 0x40;
	odd[start + 2] ^= 1;
	check(!known_code_next(odd, size, 0, &piece), "another byte");
}

int main(void)
{
	uint8_t two[64] = {};
	struct known_code piece;
	uint64_t to;

	expect(clone_bytes, sizeof(clone_bytes), 6, sizeof(clone_bytes) - 1, known_outermost());
	expect(restorer, sizeof(restorer), 0, sizeof(restorer), known_signal_frame());
	expect(trampoline, sizeof(trampoline), 1, sizeof(trampoline), known_outermost());
	expect(start_context, sizeof(start_context), 0, sizeof(start_context), known_outermost());

	expect_rows(jump, sizeof(jump), (size_t[]){ 5, 43, 97 }, (int[]){ EH_RSP, EH_RSP, EH_RSP },
		    (int[]){ 64, 64, 0 }, 3);
	expect_rows(lisp, sizeof(lisp), (size_t[]){ 1, 21 }, (int[]){ EH_RBP, EH_RSP },
		    (int[]){ 16, 8 }, 2);

	/*
	 * at the sub, at the other one, where all is saved, where half of it is given back, and at
	 * the ret
	 */
	expect_rows(stg_run, sizeof(stg_run), (size_t[]){ 4, 14, 37, 55, 88 },
		    (int[]){ EH_RSP, EH_RSP, EH_RSP, EH_RSP, EH_RSP },
		    (int[]){ 56, 16440, 16440, 56, 8 }, 5);
	test_stg();

	/* by rising address, whichever pieces they are; nothing lies before the first byte */
	memcpy(two, restorer + 1, 9);
	memcpy(two + 20, clone_bytes, sizeof(clone_bytes));
	check(known_code_next(two, sizeof(two), 0, &piece) && piece.rows[0].at == 0 &&
	      piece.end == 9);
	check(known_code_next(two, sizeof(two), piece.end, &piece) && piece.rows[0].at == 26 &&
	      piece.end == 41);

	check(known_code_at("glibc's __start_context", start_context, sizeof(start_context),
			    &piece) &&
	      piece.end == sizeof(start_context));
	check(!known_code_at("musl's __clone", start_context, sizeof(start_context), &piece));

	/* makecontext: lea __start_context(%rip), %rax */
	check(machine_next_address((uint8_t[]){ 0x90, 0x48, 0x8d, 0x05, 0xf0, 0xff, 0xff, 0xff,
						0xc3 },
				   9, 0, 0x1000, &to) == 8 &&
	      to == 0x1008 - 16);
	check(!machine_next_address((uint8_t[]){ 0x48, 0x8d, 0x45, 0xf0, 0xff, 0xff, 0xff, 0xc3 },
				    8, 0, 0x1000, &to));
	return check_done();
}
