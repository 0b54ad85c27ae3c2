// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/losses.h"

#include "report/counted.h"
#include "report/escape.h"
#include "report/json.h"

size_t losses_join(struct loss all[MAX_LOSSES], const struct loss *first, size_t nr_first,
		   const struct loss *second, size_t nr_second)
{
	size_t nr = 0;

	for (size_t i = 0; i < nr_first && nr < MAX_LOSSES; i++)
		all[nr++] = first[i];
	for (size_t i = 0; i < nr_second && nr < MAX_LOSSES; i++)
		all[nr++] = second[i];
	return nr;
}

uint64_t losses_total(const struct loss *losses, size_t nr)
{
	uint64_t total = 0;

	for (size_t i = 0; i < nr; i++)
		if (losses[i].lost)
			total += losses[i].count;
	return total;
}

uint64_t losses_of_machine(const struct loss *losses, size_t nr)
{
	uint64_t total = 0;

	for (size_t i = 0; i < nr; i++)
		if (losses[i].lost && losses[i].of_machine)
			total += losses[i].count;
	return total;
}

bool losses_matter(const struct loss *losses, size_t nr, uint64_t taken)
{
	uint64_t lost = losses_total(losses, nr);

	return lost > (taken + lost) / 1000;
}

void losses_print(FILE *out, const char *tool, const struct loss *losses, size_t nr, uint64_t taken)
{
	bool matter = losses_matter(losses, nr, taken);

	for (size_t i = 0; i < nr; i++)
		if (losses[i].count && losses[i].what && (matter || !losses[i].lost)) {
			fprintf(out, "%s: ", tool);
			print_message(out, counted(losses[i].count, losses[i].what).text);
			putc('\n', out);
		}
}

void losses_json(struct json_object *object, const struct loss *losses, size_t nr)
{
	json_object_object_add(object, "lost", json_number(losses_total(losses, nr)));
	json_object_object_add(object, "machine_lost", json_number(losses_of_machine(losses, nr)));
	for (size_t i = 0; i < nr; i++)
		if (losses[i].name)
			json_object_object_add(object, losses[i].name,
					       json_number(losses[i].count));
}
