// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Replies of a child that hostile DWARF has taken over: what is taken of them are strings that end,
 * and it is kept.
 */
#include "fuzz.h"
#include "dwarf/source_places.h"

static size_t length_of(const struct source_place *place)
{
	size_t length = 0;

	must(!place->name == !place->raw_name, "both names, or none");
	if (place->name)
		length += strlen(place->name) + strlen(place->raw_name);
	if (place->file)
		length += strlen(place->file);
	return length;
}

static bool no_file(void *arg, struct opened_elf *opened, struct debug_key *debug)
{
	(void)arg, (void)debug;
	*opened = (struct opened_elf){ .fd = -1 };
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct source_place *found = NULL, *again = NULL;
	struct source_places *places;
	size_t nr, length = 0;

	must(!source_places_new(&places, 0, true), "memory");
	nr = source_places_take(places, 1, (const char *)bytes, size, &found);
	must(nr <= MAX_SOURCE_PLACES, "as many as there may be");
	for (size_t i = 0; i < nr; i++)
		length += length_of(&found[i]);
	must(length <= 2 * size, "no more than the reply holds");
	must(source_places_find(places, 1, no_file, NULL, &again) == nr && again == found,
	     "it is known then");
	source_places_free(places);
	return 0;
}
