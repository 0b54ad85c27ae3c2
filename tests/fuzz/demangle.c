// SPDX-License-Identifier: GPL-2.0-or-later
/* A symbol's name: readable within the limits, whatever it is. */
#include <time.h>

#include "fuzz.h"
#include "dwarf/demangle.h"
#include "dwarf/symbol_name.h"

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *raw = malloc(size + 1), *name, *as_it_is;
	double began = seconds();

	memcpy(raw, bytes, size);
	raw[size] = 0;
	must(symbol_name_fold(raw) <= strlen(raw) && (!*raw || symbol_name_fold(raw)),
	     "folding leaves a part");
	name = symbol_name_for_people(raw, false, false);
	must(name && strlen(name) < DEMANGLE_MAX_NAME, "a name within its limit");
	as_it_is = symbol_name_for_people(raw, true, true);
	must(!strncmp(as_it_is, raw, DEMANGLE_MAX_NAME - 1), "undemangled, it is as in the file");
	must(seconds() - began < 0.5, "no CPU time of ours goes into it");
	free(as_it_is);
	free(name);
	free(raw);
	return 0;
}
