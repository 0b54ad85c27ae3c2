// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/python/python_code.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/python_abi.h"

#define MAX_NAME_CHARACTERS 1024
#define MAX_LINE_BYTES      (256 << 10)
#define MAX_CODE_BYTES      256 /* what of a code object is read */

static int read_memory(const struct process_memory *memory, uint64_t address, void *to,
		       size_t bytes)
{
	ssize_t got = process_memory_read(memory, address, to, bytes);

	if (got < 0)
		return got;
	return (size_t)got == bytes ? 0 : -EFAULT;
}

static uint64_t word(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* ---- strings ---- */

/*
 * PyASCIIObject.state (Include/cpython/unicodeobject.h): two bits say whether it is interned, then
 * come these
 */
struct string_state {
	unsigned kind; /* bytes a character */
	bool compact, ascii;
};

static struct string_state state_of(uint32_t bits)
{
	return (struct string_state){ .kind = bits >> 2 & 7,
				      .compact = bits >> 5 & 1,
				      .ascii = bits >> 6 & 1 };
}

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = 0xc0 | c >> 6;
		to[1] = 0x80 | (c & 63);
		return 2;
	}
	if (c < 0x10000) {
		to[0] = 0xe0 | c >> 12;
		to[1] = 0x80 | (c >> 6 & 63);
		to[2] = 0x80 | (c & 63);
		return 3;
	}
	to[0] = 0xf0 | (c >> 18 & 7);
	to[1] = 0x80 | (c >> 12 & 63);
	to[2] = 0x80 | (c >> 6 & 63);
	to[3] = 0x80 | (c & 63);
	return 4;
}

static char *to_utf8(const uint8_t *bytes, size_t nr, unsigned kind)
{
	char *text = malloc(nr * 4 + 1), *to = text;

	if (!text)
		return NULL;
	for (size_t i = 0; i < nr; i++) {
		uint32_t c = 0;

		memcpy(&c, bytes + i * kind, kind);
		to += put_utf8(to, c ? c : '?');
	}
	*to = '\0';
	return text;
}

static int read_string(const struct process_memory *memory, const struct python_objects *o,
		       uint64_t address, char **text)
{
	uint8_t head[64], *bytes;
	struct string_state state;
	uint64_t length;
	uint32_t bits;
	int error;

	if (o->string_length > sizeof(head) - 8 || o->string_state > sizeof(head) - 4)
		return -EBADMSG;
	error = read_memory(memory, address, head, sizeof(head));
	if (error)
		return error;
	length = word(head + o->string_length);
	memcpy(&bits, head + o->string_state, sizeof(bits));
	state = state_of(bits);
	if (!state.compact || (state.kind != 1 && state.kind != 2 && state.kind != 4))
		return -EBADMSG;
	if (length > MAX_NAME_CHARACTERS)
		length = MAX_NAME_CHARACTERS;
	bytes = malloc(length * state.kind + 1);
	if (!bytes)
		return -ENOMEM;
	error = read_memory(memory,
			    address + (state.ascii ? o->string_ascii_bytes : o->string_other_bytes),
			    bytes, length * state.kind);
	if (!error) {
		*text = to_utf8(bytes, length, state.kind);
		error = *text ? 0 : -ENOMEM;
	}
	free(bytes);
	return error;
}

/* ---- code objects ---- */

static void read_lines(const struct process_memory *memory, const struct python_objects *o,
		       uint64_t address, struct python_code *code)
{
	uint64_t size;

	if (read_memory(memory, address + o->bytes_length, &size, sizeof(size)) || !size ||
	    size > MAX_LINE_BYTES)
		return;
	code->lines = malloc(size);
	if (code->lines && read_memory(memory, address + o->bytes_data, code->lines, size)) {
		free(code->lines);
		code->lines = NULL;
	}
	code->line_bytes = code->lines ? size : 0;
}

static int read_strings(const struct process_memory *memory, const struct python_objects *o,
			const struct python_strings *strings, struct python_code *code)
{
	int error = read_string(memory, o, strings->qualname, &code->name);

	return error ? error : read_string(memory, o, strings->file, &code->file);
}

/* a lower number than any address: freed memory has pointers where this is counted */
#define MAX_REFERENCES 0x400000
/*
 * the counts of objects that are never freed: in 3.11 about this much, for it counts on from there;
 * in later versions
 */
#define IMMORTAL_3_11 999999999
#define IMMORTAL      UINT32_MAX

static bool is_count(uint64_t references)
{
	return (references && references < MAX_REFERENCES) || references == IMMORTAL ||
	       references - (IMMORTAL_3_11 - MAX_REFERENCES) < 2 * MAX_REFERENCES;
}

/*
 * Is there a live object, the one that has these strings? Then they were alive at least since it
 * was first read. The count of references is an object's first word.
 */
static bool is_alive(const uint8_t *object, const struct python_objects *o,
		     const struct python_strings *strings)
{
	return !memcmp(object + o->code_strings, strings, sizeof(*strings)) &&
	       is_count(word(object));
}

/* the object's strings and table. -ESTALE: it may have been freed meanwhile */
static int read_code(const struct process_memory *memory, const struct python_objects *o,
		     uint64_t address, uint64_t identity, struct python_code *code)
{
	uint8_t object[MAX_CODE_BYTES], again[MAX_CODE_BYTES];
	struct python_strings strings;
	int error = read_memory(memory, address, object, sizeof(object));

	if (error)
		return error;
	memcpy(&strings, object + o->code_strings, sizeof(strings));
	if (python_identity(&strings) != identity || !is_alive(object, o, &strings))
		return -ESTALE;
	memcpy(&code->first_line, object + o->code_first_line, sizeof(code->first_line));
	read_lines(memory, o, word(object + o->code_line_table), code);
	error = read_strings(memory, o, &strings, code);
	if (!error)
		error = read_memory(memory, address, again, sizeof(again));
	if (!error && !is_alive(again, o, &strings))
		error = -ESTALE;
	return error;
}

int python_code_read(const struct process_memory *memory, const struct python_objects *o,
		     uint64_t address, uint64_t identity, struct python_code *code)
{
	struct python_code read = {};
	int error;

	if (o->code_first_line > MAX_CODE_BYTES - 4 ||
	    o->code_strings > MAX_CODE_BYTES - sizeof(struct python_strings) ||
	    o->code_line_table > MAX_CODE_BYTES - 8)
		return -EBADMSG;
	error = read_code(memory, o, address, identity, &read);
	if (error)
		python_code_free(&read);
	else
		*code = read;
	return error;
}

void python_code_free(struct python_code *code)
{
	free(code->name);
	free(code->file);
	free(code->lines);
	*code = (struct python_code){};
}

/* ---- from a worker ---- */

/* the line table, the name and the file follow */
struct written {
	int first_line;
	uint32_t line_bytes, name_bytes, file_bytes; /* the strings' with their ends */
};

size_t python_code_write(const struct python_code *code, void *to, size_t room)
{
	struct written w = {
		.first_line = code->first_line,
		.line_bytes = code->line_bytes,
		.name_bytes = strlen(code->name) + 1,
		.file_bytes = strlen(code->file) + 1,
	};
	uint8_t *at = to;

	if (sizeof(w) + w.line_bytes + w.name_bytes + w.file_bytes > room)
		return 0;
	at = mempcpy(at, &w, sizeof(w));
	if (w.line_bytes)
		at = mempcpy(at, code->lines, w.line_bytes);
	at = mempcpy(at, code->name, w.name_bytes);
	at = mempcpy(at, code->file, w.file_bytes);
	return at - (uint8_t *)to;
}

/* NULL: no memory, or no string */
static char *unpack_string(const uint8_t *from, size_t bytes)
{
	return bytes && !from[bytes - 1] ? strdup((const char *)from) : NULL;
}

int python_code_unpack(struct python_code *code, const void *from, size_t bytes)
{
	const uint8_t *at = from;
	struct python_code c;
	struct written w;

	if (bytes < sizeof(w))
		return -EBADMSG;
	memcpy(&w, at, sizeof(w));
	at += sizeof(w);
	if ((uint64_t)w.line_bytes + w.name_bytes + w.file_bytes != bytes - sizeof(w))
		return -EBADMSG;
	c = (struct python_code){
		.first_line = w.first_line,
		.line_bytes = w.line_bytes,
		.lines = malloc(w.line_bytes + 1),
		.name = unpack_string(at + w.line_bytes, w.name_bytes),
		.file = unpack_string(at + w.line_bytes + w.name_bytes, w.file_bytes),
	};
	if (!c.lines || !c.name || !c.file) {
		python_code_free(&c);
		return -EBADMSG;
	}
	memcpy(c.lines, at, w.line_bytes);
	*code = c;
	return 0;
}

/* ---- lines ---- */

/* kinds of location entries */
enum {
	SHORT_FORM_LAST = 9,
	ONE_LINE_FIRST = 10,
	ONE_LINE_LAST = 12,
	NO_COLUMNS = 13,
	LONG_FORM = 14,
	NO_LINE = 15
};

/* six bits a byte, lowest first; bit 6 says that more follow */
static uint32_t varint(const struct python_code *code, size_t *at)
{
	uint32_t value = 0;
	unsigned shift = 0;

	while (*at < code->line_bytes) {
		uint8_t byte = code->lines[(*at)++];

		if (shift < 30)
			value |= (uint32_t)(byte & 63) << shift;
		shift += 6;
		if (!(byte & 64))
			break;
	}
	return value;
}

/* the sign is the lowest bit */
static int signed_varint(const struct python_code *code, size_t *at)
{
	uint32_t value = varint(code, at);

	return value & 1 ? -(int)(value >> 1) : (int)(value >> 1);
}

static int line_delta(const struct python_code *code, unsigned kind, size_t *at)
{
	if (kind >= ONE_LINE_FIRST && kind <= ONE_LINE_LAST)
		return kind - ONE_LINE_FIRST;
	return kind == NO_COLUMNS || kind == LONG_FORM ? signed_varint(code, at) : 0;
}

int python_code_line(const struct python_code *code, uint32_t instruction)
{
	int64_t line = code->first_line;
	uint32_t end = 0;

	/* an entry begins with a byte that has bit 7; its other bytes have not */
	for (size_t at = 0; at < code->line_bytes;) {
		unsigned first = code->lines[at++], kind = first >> 3 & 15;

		line += line_delta(code, kind, &at);
		end += (first & 7) + 1;
		if (instruction < end)
			return kind == NO_LINE || line < 0 || line > INT32_MAX ? 0 : line;
		while (at < code->line_bytes && !(code->lines[at] & 0x80))
			at++;
	}
	return 0;
}
