// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/bpf_load_die.h"

#include <stdlib.h>

#include "bpf/load.h"
#include "run/cli.h"

void bpf_load_die(const char *doing, int error)
{
	const char *cure;
	char cause[700];

	bpf_load_explain(error, cause, sizeof(cause), &cure);
	cli_warn("cannot %s: %s", doing, cause);
	cli_die(EXIT_FAILURE, "%s", cure);
}
