/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounded reader of little-endian bytes. Read freely, check `bad` once: a read past the end gives
 * 0, sets bad and moves to the end, so that every loop over a cursor ends.
 */
#ifndef EHPERF_DWARF_CURSOR_H
#define EHPERF_DWARF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct cursor cursor_over(const void *bytes, size_t size)
{
	/* (NULL, 0) is a cursor over nothing; NULL + 0 is no address */
	return (struct cursor){ .p = bytes, .end = size ? (const uint8_t *)bytes + size : bytes };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->end - c->p;
}

static inline void cursor_fail(struct cursor *c)
{
	c->bad = true;
	c->p = c->end;
}

/* the next size bytes, or NULL */
static inline const uint8_t *cursor_bytes(struct cursor *c, uint64_t size)
{
	const uint8_t *p = c->p;

	if (__builtin_expect(size > cursor_left(c), 0)) {
		cursor_fail(c);
		return NULL;
	}
	c->p += size;
	return p;
}

#define CURSOR_READ(name, type)                                   \
	static inline type cursor_##name(struct cursor *c)        \
	{                                                         \
		const uint8_t *p = cursor_bytes(c, sizeof(type)); \
		type value = 0;                                   \
                                                                  \
		if (p)                                            \
			memcpy(&value, p, sizeof(value));         \
		return value;                                     \
	}
CURSOR_READ(u8, uint8_t)
CURSOR_READ(u16, uint16_t)
CURSOR_READ(u32, uint32_t)
CURSOR_READ(u64, uint64_t)
#undef CURSOR_READ

/*
 * LEB128 (DWARF 5, 7.6). Bits above the 64th must not matter; a longer number than 10 bytes is bad.
 */
static inline uint64_t cursor_leb128(struct cursor *c, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (shift > 70) {
			cursor_fail(c);
			return 0;
		}
	} while (byte & 0x80);
	if (is_signed && shift < 64 && byte & 0x40)
		value |= -1ULL << shift;
	return value;
}

static inline uint64_t cursor_uleb128(struct cursor *c)
{
	if (__builtin_expect(c->p < c->end && *c->p < 0x80, 1))
		return *c->p++;
	return cursor_leb128(c, false);
}

static inline int64_t cursor_sleb128(struct cursor *c)
{
	return cursor_leb128(c, true);
}

/* a string ended by NUL inside the bounds, or NULL */
static inline const char *cursor_string(struct cursor *c)
{
	const uint8_t *p = c->p, *nul = cursor_left(c) ? memchr(p, 0, cursor_left(c)) : NULL;

	if (!nul) {
		cursor_fail(c);
		return NULL;
	}
	c->p = nul + 1;
	return (const char *)p;
}

#endif
