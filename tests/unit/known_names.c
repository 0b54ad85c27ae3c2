// SPDX-License-Identifier: GPL-2.0-or-later
/* The names that are kept: what they take, and which of two for one frame stays. */
#include "report/known_names.h"

#include <string.h>

#include "check.h"

static struct user_room memory = { .max = SIZE_MAX };
static struct name_account charged, others;

static int add(struct known_names *names, uint64_t frame, const char *symbol, const char *raw)
{
	return known_names_add(names, 1, &(struct named_frame){ .frame = frame }, symbol, raw,
			       &charged);
}

static bool is(struct known_names *names, uint64_t frame, const char *symbol)
{
	const struct known_name *known = known_names_find(names, 1, frame);

	return known && (symbol ? known->symbol && !strcmp(known->symbol, symbol) : !known->symbol);
}

static bool is_gone(void *arg, uint64_t source)
{
	(void)arg;
	return source == 1;
}

int main(void)
{
	struct known_names names = {};

	charged.user = user_room_of(&memory, 1000);
	char raw[16384];

	memset(raw, 'r', sizeof(raw));
	raw[sizeof(raw) - 1] = 0;
	for (uint64_t frame = 0; frame < 1000; frame++)
		if (add(&names, frame, "symbol", raw))
			return 1;
	check(user_room_taken(&memory) == names.bytes);
	check(names.bytes < 1000 * 1000, "a function's frames have one text: %zu bytes",
	      names.bytes);
	check(charged.bytes == names.bytes, "%zu bytes are charged, of %zu", charged.bytes,
	      names.bytes);
	check(!add(&names, 5, "other", NULL) && is(&names, 5, "other") && is(&names, 6, "symbol"),
	      "a later name replaces one");
	check(!add(&names, 5, NULL, NULL) && is(&names, 5, "other"), "but no name does not");
	check(!add(&names, 1000, NULL, NULL) && is(&names, 1000, NULL));
	check(!add(&names, 1000, "late", NULL) && is(&names, 1000, "late"));
	known_names_forget(&names, is_gone, NULL, SIZE_MAX);
	for (int i = 0; i < 100; i++) {
		raw[0] = 'a' + i % 20;
		check(!add(&names, i / 2, raw, raw) && charged.bytes == names.bytes,
		      "also of names that are replaced: %zu of %zu", charged.bytes, names.bytes);
	}
	check(!known_names_add(&names, 2, &(struct named_frame){}, raw, raw, &others) &&
		      others.bytes > sizeof(raw),
	      "an owner pays for its own copy");
	known_names_free(&names);
	check(!charged.bytes && !others.bytes && !user_room_taken(&memory),
	      "%zu and %zu bytes are still charged", charged.bytes, others.bytes);
	check(!names.bytes && !names.all, "%zu bytes are left", names.bytes);
	return check_done();
}
