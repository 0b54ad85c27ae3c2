// SPDX-License-Identifier: GPL-2.0-or-later
/* The arguments of USDT probes, as their notes have them. */
#include <errno.h>
#include <string.h>
#include <sys/reg.h>

#include "check.h"
#include "table/operand.h"

static const struct {
	const char *text;
	struct event_argument argument;
} operands[] = {
	{ "8@%rdi", { RDI * 8, ARGUMENT_IN_CONTEXT, 8, false, 0 } },
	{ "-4@%r12d 8@%rax", { R12 * 8, ARGUMENT_IN_CONTEXT, 4, true, 0 } },
	{ "1@%sil", { RSI * 8, ARGUMENT_IN_CONTEXT, 1, false, 0 } },
	{ "-4@112(%rsp)", { RSP * 8, ARGUMENT_IN_MEMORY, 4, true, 112 } },
	{ "2@-8(%rbp) 1@%al", { RBP * 8, ARGUMENT_IN_MEMORY, 2, false, -8 } },
	{ "8@(%r15)", { R15 * 8, ARGUMENT_IN_MEMORY, 8, false, 0 } },
	{ "-4@$-7", { 0, ARGUMENT_CONSTANT, 4, true, -7 } },
};

static const char *const others[] = {
	"",
	"8",
	"8@",
	"@%rdi",
	"3@%rdi",
	"8f@%xmm0",
	"8@%xmm0",
	"8@%rdix",
	"8@%verylongname",
	"8@(%rax,%rbx,8)",
	"8@-8(%rax",
	"8@x+4(%rip)",
	"8@x",
	"16@%rax",
	"8@%rax,",
	"264@%rax",
	"-2147483648@%rax",
};

int main(void)
{
	for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++) {
		struct event_argument argument = {};

		check(!operand_parse(operands[i].text, &argument) &&
			      !memcmp(&argument, &operands[i].argument, sizeof(argument)),
		      "operand '%s'", operands[i].text);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		check(operand_parse(others[i], &(struct event_argument){}) == -ENOTSUP,
		      "no operand: '%s'", others[i]);
	return check_done();
}
