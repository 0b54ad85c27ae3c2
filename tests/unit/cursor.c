// SPDX-License-Identifier: GPL-2.0-or-later
/* LEB128: DWARF 5, figures 22 and 24; bounds. */
#include "check.h"
#include "dwarf/cursor.h"

int main(void)
{
	static const struct {
		const char *bytes;
		size_t size;
		uint64_t value;
		bool bad;
	} unsigned_cases[] = {
		{ "\x02", 1, 2, false },
		{ "\x7f", 1, 127, false },
		{ "\x80\x01", 2, 128, false },
		{ "\x82\x01", 2, 130, false },
		{ "\xb9\x64", 2, 12857, false },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX, false },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, 0, true },
		{ "\x80", 1, 0, true },
		{ "", 0, 0, true },
	};
	static const struct {
		const char *bytes;
		size_t size;
		int64_t value;
	} signed_cases[] = {
		{ "\x02", 1, 2 },
		{ "\x7e", 1, -2 },
		{ "\xff\x00", 2, 127 },
		{ "\x81\x7f", 2, -127 },
		{ "\x80\x01", 2, 128 },
		{ "\x80\x7f", 2, -128 },
		{ "\x81\x01", 2, 129 },
		{ "\xff\x7e", 2, -129 },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, INT64_MIN },
	};

	for (size_t i = 0; i < sizeof(unsigned_cases) / sizeof(unsigned_cases[0]); i++) {
		struct cursor c = cursor_over(unsigned_cases[i].bytes, unsigned_cases[i].size);
		uint64_t value = cursor_uleb128(&c);

		check(c.bad == unsigned_cases[i].bad, "unsigned %zu", i);
		check(c.bad || value == unsigned_cases[i].value, "unsigned %zu: %#lx", i, value);
		check(c.p == c.end, "unsigned %zu", i);
	}
	for (size_t i = 0; i < sizeof(signed_cases) / sizeof(signed_cases[0]); i++) {
		struct cursor c = cursor_over(signed_cases[i].bytes, signed_cases[i].size);
		int64_t value = cursor_sleb128(&c);

		check(!c.bad && value == signed_cases[i].value, "signed %zu: %ld", i, value);
	}

	struct cursor c = cursor_over("\x01\x02\x03\x04\x05", 5);

	check(cursor_u16(&c) == 0x0201);
	check(cursor_u64(&c) == 0 && c.bad && cursor_left(&c) == 0);
	check(cursor_u8(&c) == 0);
	c = cursor_over("ab", 2);
	check(cursor_string(&c) == NULL && c.bad);
	c = cursor_over("ab\0c", 4);
	check(!strcmp(cursor_string(&c), "ab") && cursor_u8(&c) == 'c' && !c.bad);
	c = cursor_over("ab", 2);
	check(!cursor_bytes(&c, UINT64_MAX) && c.bad);
	return check_done();
}
