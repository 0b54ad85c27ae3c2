// SPDX-License-Identifier: GPL-2.0-or-later
/* Values of options: what is taken and, above all, what is not. */
#include "check.h"
#include "run/cli.h"
#include "process/cpu_set.h"

int main(void)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t ns;
	} times[] = {
		{ "5", true, 5000000000 },
		{ "0.5", true, 500000000 },
		{ ".25", true, 250000000 },
		{ "10ms", true, 10000000 },
		{ "2s", true, 2000000000 },
		{ "3us", true, 3000 },
		{ "7ns", true, 7 },
		{ "2m", true, 120000000000 },
		{ "1e2", true, 100000000000 },
		{ "", false, 0 },
		{ "s", false, 0 },
		{ "-1", false, 0 },
		{ "1x", false, 0 },
		{ "0x10", false, 0 },
		{ "inf", false, 0 },
		{ "nan", false, 0 },
		{ "1e30", false, 0 },
		{ " 1", false, 0 },
		{ "1 s", false, 0 },
	};
	static const char *const bad_numbers[] = {
		"", "x", "12x", "-1", "+1", " 1", "99999999999999999999", "11"
	};
	static const char *const bad_ids[] = { "",     "foo", "12x", "1,",         ",1",
					       "1,,2", "0",   "-5",  "4294967297", "1 2" };
	static const char *const bad_cpus[] = { "",   "x",   "1-",       "-1", "2-1",
						"1,", "1 2", "99999999", "1-x" };
	struct id_list ids = {};
	struct cpu_set set = {};
	uint64_t value;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		bool ok = cli_parse_time(times[i].text, 1000000000, &value);

		check(ok == times[i].ok && (!ok || value == times[i].ns), "'%s'", times[i].text);
	}
	check(cli_parse_number("10", 1, 10, &value) && value == 10);
	for (size_t i = 0; i < sizeof(bad_numbers) / sizeof(bad_numbers[0]); i++)
		check(!cli_parse_number(bad_numbers[i], 0, 10, &value), "'%s'", bad_numbers[i]);
	check(cli_parse_ids("812,813", &ids) && ids.nr == 2 && ids.ids[0] == 812 &&
	      ids.ids[1] == 813);
	for (size_t i = 0; i < sizeof(bad_ids) / sizeof(bad_ids[0]); i++)
		check(!cli_parse_ids(bad_ids[i], &ids), "'%s'", bad_ids[i]);
	check(!cpu_set_parse(&set, "0,2-3\n") && set.nr == 4 && set.has[0] && !set.has[1] &&
	      set.has[2] && set.has[3]);
	cpu_set_free(&set);
	for (size_t i = 0; i < sizeof(bad_cpus) / sizeof(bad_cpus[0]); i++)
		check(cpu_set_parse(&set, bad_cpus[i]) != 0, "'%s'", bad_cpus[i]);
	return check_done();
}
