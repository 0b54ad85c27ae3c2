// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Folding of names, and demangling within its limits: names that would take gigabytes or minutes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"
#include "dwarf/demangle.h"
#include "dwarf/symbol_name.h"

static void check_folding(void)
{
	static const struct {
		const char *raw, *folded;
	} cases[] = {
		{ "read", "read" },
		{ "read@@GLIBC_2.2.5", "read" },
		{ "memcpy@GLIBC_2.2.5", "memcpy" },
		{ "f.cold", "f" },
		{ "f.cold.3", "f" },
		{ "f.part.0", "f" },
		{ "list.clone", "list.clone" }, /* Zig, Odin, Go: without a number, a name */
		{ "list.clone.cold.2", "list.clone" },
		{ "f.isra.0.cold", "f" },
		{ "f.constprop.0.isra.12", "f" },
		{ "f.lto_priv.0.lto_priv.1", "f" },
		{ "_ZN1aC1Ev.llvm.123456789", "_ZN1aC1Ev" },
		{ "f.0", "f.0" }, /* a static variable's, or a nested function's: another thing */
		{ "f.1234", "f.1234" },
		{ "f.cold.x", "f.cold.x" },
		{ "f.cold5", "f.cold5" },
		{ ".cold", ".cold" },
		{ "f.", "f." },
		{ "f..cold", "f." },
		{ "", "" },
		{ "@x", "@x" },
		{ ".part.0", ".part.0" },
		{ "camlStdlib__List.map_123", "camlStdlib__List.map_123" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t length = symbol_name_fold(cases[i].raw);

		check(length == strlen(cases[i].folded), "%s: %zu", cases[i].raw, length);
	}
}

static void check_names(void)
{
	static const struct {
		const char *raw, *name; /* NULL: it stays */
	} cases[] = {
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back" },
		{ "_Z1fv.isra.0", "f" },
		{ "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
		  "core::fmt::Formatter::write_str" },
		{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
		{ "_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>" },
		{ "_D3std5stdio7writelnFAyaZv", "std.stdio.writeln(immutable(char)[])" },
		{ "main", NULL },
		{ "_Zebra", NULL },
		{ "_Dynamic", NULL },
		{ "_R", NULL },
		{ "_", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *name = symbol_name_for_people(cases[i].raw, false, false);
		char *as_it_is = symbol_name_for_people(cases[i].raw, true, true);

		check(!strcmp(name, cases[i].name ? cases[i].name : cases[i].raw), "%s: %s",
		      cases[i].raw, name);
		check(!strcmp(as_it_is, cases[i].raw), "%s", as_it_is);
		free(name);
		free(as_it_is);
	}
}

/* ---- bombs ---- */

static int put_substitution(char *at, int index)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char reversed[8];
	int nr = 0, length = 0;

	at[length++] = 'S';
	if (index--) {
		do
			reversed[nr++] = digits[index % 36];
		while (index /= 36);
		while (nr)
			at[length++] = reversed[--nr];
	}
	at[length++] = '_';
	return length;
}

/* f<pair<pair<…>, pair<…>>>: the name doubles with each level; `middle` goes around it */
static char *nested_pairs(int depth, const char *before, const char *first, const char *after)
{
	char *name = malloc(32 * depth + 256), *at = name;

	at = stpcpy(stpcpy(at, before), first);
	for (int i = 0; i < depth; i++) {
		at += put_substitution(at, 1);
		*at++ = 'I';
		at += put_substitution(at, i + 2);
		at += put_substitution(at, i + 2);
		*at++ = 'E';
	}
	strcpy(at, after);
	return name;
}

/* Rust v0: ((T,T),(T,T)) by back references, doubling with each level */
static char *nested_tuples(int depth)
{
	char *name = malloc(64 * depth + 64), *at = name;
	size_t previous;

	at = stpcpy(at, "_RINvC1a1f");
	previous = at - name - 2;
	at = stpcpy(at, "TuuE");
	for (int i = 0; i < depth; i++) {
		size_t here = at - name - 2;
		static const char digits[] =
			"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
		char number[8];
		int nr = 0;

		*at++ = 'T';
		for (int twice = 0; twice < 2; twice++) {
			*at++ = 'B';
			nr = 0;
			/* base 62 of value - 1, ended by _ */
			for (size_t value = previous;; value /= 62) {
				if (nr == 0 && value == 0)
					break;
				if (nr == 0)
					value--;
				number[nr++] = digits[value % 62];
				if (value < 62)
					break;
			}
			while (nr)
				*at++ = number[--nr];
			*at++ = '_';
		}
		*at++ = 'E';
		previous = here;
	}
	strcpy(at, "E");
	return name;
}

/* D: a type that refers back to the one before twice: K-fold associative arrays HQ?Q? */
static char *nested_arrays(int depth)
{
	char *name = malloc(16 * depth + 64), *at = name, *previous;

	at = stpcpy(at, "_D1a1fF");
	previous = at;
	at = stpcpy(at, "Hii");
	for (int i = 0; i < depth; i++) {
		char *here = at;

		*at++ = 'H';
		for (int twice = 0; twice < 2; twice++) {
			size_t distance = at - previous;

			*at++ = 'Q';
			if (distance >= 26)
				*at++ = 'A' + distance / 26;
			*at++ = 'a' + distance % 26;
		}
		previous = here;
	}
	strcpy(at, "Zv");
	return name;
}

static char *repeated(const char *before, const char *piece, int nr, const char *after)
{
	char *name = malloc(strlen(before) + strlen(piece) * nr + strlen(after) + 1),
	     *at = stpcpy(name, before);

	while (nr--)
		at = stpcpy(at, piece);
	strcpy(at, after);
	return name;
}

/*
 * that this process and the demangler have had a CPU so far: on a busy machine, they wait for one
 * for longer
 */
static double cpu_seconds(void)
{
	double seconds = 0;
	struct rusage usage;

	demangle_stop(); /* only what has ended counts */
	for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
		getrusage(who, &usage);
		seconds += usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
			   (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	}
	return seconds;
}

static void check_bombs(void)
{
	char *bombs[] = {
		nested_pairs(12, "_Z1f", "ISt4pairIiiE", "Evv"),
		nested_pairs(28, "_Z1f", "ISt4pairIiiE", "Evv"),
		nested_pairs(400, "_Z1f", "ISt4pairIiiE", "Evv"),
		nested_pairs(30, "_Z1fIJEEvDp", "St4pairIT_iE", ""),
		nested_pairs(30, "_Z1fIJiEEv", "St4pairIDpT_S_E", ""),
		nested_pairs(30, "_Z1fISt4pairIiiEEDTcl", "St4pairIiiE", "EEv"),
		nested_tuples(8),
		nested_tuples(30),
		nested_tuples(200),
		nested_arrays(8),
		nested_arrays(30),
		nested_arrays(500),
		repeated("_Z1f", "P", 16000, "i"),
		repeated("_Z", "N1a", 5000, "E"),
		repeated("_Z1fI", "J", 15000, "E"),
		repeated("_Z1f", "DpT_", 4000, ""),
		repeated("_R", "Nv", 7000, "C1a"),
		repeated("_RINvC1a1f", "R", 15000, "uE"),
		repeated("_D1a1f", "P", 16000, "i"),
		repeated("_Z1f", "i", 200000, ""),
		repeated("_ZN", "1a", 2500, "17h0123456789abcdefE"),
	};
	struct rusage usage;
	double before = cpu_seconds(), took;

	for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++) {
		char *name = symbol_name_for_people(bombs[i], false, false);

		check(name && strlen(name) < DEMANGLE_MAX_NAME, "bomb %zu, %.30s…", i, bombs[i]);
		free(name);
		free(bombs[i]);
	}
	check(demangle_refused() > 5, "%lu names were refused", demangle_refused());
	took = cpu_seconds() - before;
	check(took < 1, "%.3f s", took);
	getrusage(RUSAGE_CHILDREN, &usage);
	check(usage.ru_maxrss < 100 << 10, "%ld kB", usage.ru_maxrss);
	getrusage(RUSAGE_SELF, &usage);
	check(usage.ru_maxrss < 100 << 10, "%ld kB", usage.ru_maxrss);
}

/* the demangler gives up long names then, for good, but not short ones */
static void check_overruns(void)
{
	double before = cpu_seconds(), took;
	char *name;

	for (int i = 0; i < 1000; i++) {
		char *bomb = nested_pairs(24 + i % 8, "_Z1f", "ISt4pairIiiE", "Evv");

		free(symbol_name_for_people(bomb, false, false));
		free(bomb);
	}
	took = cpu_seconds() - before;
	check(took < 2, "1000 bombs: %.3f s", took);
	name = symbol_name_for_people("_ZNSt6vectorIiSaIiEE9push_backERKi", false, false);
	check(!strcmp(name, "std::vector<int, std::allocator<int> >::push_back"), "%s", name);
	free(name);
}

int main(void)
{
	check_folding();
	check_names();
	check_bombs();
	check_overruns();
	return check_done();
}
