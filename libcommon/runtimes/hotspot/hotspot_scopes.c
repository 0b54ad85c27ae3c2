// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/hotspot/hotspot_scopes.h"

#include <string.h>

#include "runtimes/hotspot/hotspot_method.h"

#define MAX_DEPTH_OF_SCOPES 256
#define MAX_METHODS         1024 /* of one compiled method */
#define MAX_PLACES_BYTES    (1 << 20)
#define NO_SCOPE            0    /* DebugInformationRecorder::serialized_null */
#define BCI_BIAS            (-1) /* InvocationEntryBci: numbers in the stream begin there */

struct pc_desc {
	int32_t pc_offset, scope_offset, objects_offset, flags;
};

/* a method that was read; its strings are in the text */
struct known_method {
	uint64_t address;
	uint32_t name, file;
	struct hotspot_method method;
};

struct scopes_reader {
	struct hotspot_scopes *scopes;
	const struct hotspot_vm *vm;
	struct memory_reader *memory;
	uint64_t data, metadata; /* addresses of the scopes and of the table of methods */
	uint32_t offset_of[MAX_HOTSPOT_SCOPES]; /* [scope]: in data */
	uint32_t nr_methods;
};

static struct known_method methods[MAX_METHODS]; /* large; a worker has one thread */

/* an offset in the text, 0 with an empty string where there is no room */
static uint32_t add_text(struct hotspot_scopes *s, const char *string)
{
	size_t bytes = strlen(string) + 1;

	if (bytes > sizeof(s->text) - s->text_bytes)
		return 0;
	memcpy(s->text + s->text_bytes, string, bytes);
	s->text_bytes += bytes;
	return s->text_bytes - bytes;
}

/* NULL: it cannot be read, or there are too many */
static const struct known_method *method_at(struct scopes_reader *r, uint64_t address)
{
	struct known_method *known;

	for (uint32_t i = 0; i < r->nr_methods; i++)
		if (methods[i].address == address)
			return &methods[i];
	if (r->nr_methods == MAX_METHODS)
		return NULL;
	known = &methods[r->nr_methods];
	if (hotspot_method_read(&known->method, r->vm, r->memory, address))
		return NULL;
	known->address = address;
	known->name = add_text(r->scopes, known->method.name);
	known->file = add_text(r->scopes, known->method.file);
	r->nr_methods++;
	return known;
}

/* the number of the scope, or -1. caller: number + 1 */
static int add_scope(struct scopes_reader *r, uint64_t method, int32_t bci, uint32_t caller,
		     uint32_t offset)
{
	struct hotspot_scopes *s = r->scopes;
	const struct known_method *known = method_at(r, method);

	if (!known || s->nr_scopes == MAX_HOTSPOT_SCOPES)
		return -1;
	s->scopes[s->nr_scopes] = (struct hotspot_scope){
		.name = known->name,
		.file = known->file,
		.caller = caller,
		.line = bci < 0 ? 0 : hotspot_method_line(&known->method, r->vm, r->memory, bci),
	};
	r->offset_of[s->nr_scopes] = offset;
	return s->nr_scopes++;
}

static int known_scope(const struct scopes_reader *r, uint32_t offset)
{
	for (uint32_t i = r->scopes->nr_scopes; i-- > 1;)
		if (r->offset_of[i] == offset)
			return i;
	return -1;
}

struct raw_scope {
	uint32_t offset;
	uint64_t method;
	int32_t bci;
};

/*
 * The number of the scope at this offset in the data, with its callers; -1: there is none that can
 * be read
 */
static int scope_at(struct scopes_reader *r, uint32_t offset)
{
	struct raw_scope chain[MAX_DEPTH_OF_SCOPES];
	int nr = 0, scope = -1;

	while (offset != NO_SCOPE && (scope = known_scope(r, offset)) < 0) {
		uint64_t at = r->data + offset;
		uint32_t sender = hotspot_unsigned5(r->vm, r->memory, &at);
		uint32_t method = hotspot_unsigned5(r->vm, r->memory, &at);

		if (nr == MAX_DEPTH_OF_SCOPES || !method || r->memory->bad)
			return -1;
		chain[nr++] = (struct raw_scope){
			.offset = offset,
			.method = memory_u64(r->memory, r->metadata + (method - 1) * 8ULL),
			.bci = (int32_t)hotspot_unsigned5(r->vm, r->memory, &at) + BCI_BIAS,
		};
		offset = sender;
	}
	while (nr--) {
		scope = add_scope(r, chain[nr].method, chain[nr].bci, scope + 1, chain[nr].offset);
		if (scope < 0)
			return -1;
	}
	return scope;
}

static void read_places(struct scopes_reader *r, uint64_t at, uint64_t end)
{
	struct hotspot_scopes *s = r->scopes;
	int64_t last = -1;

	for (; end - at >= sizeof(struct pc_desc) && s->nr_places < MAX_HOTSPOT_PLACES &&
	       !r->memory->bad;
	     at += sizeof(struct pc_desc)) {
		struct pc_desc desc;
		int scope;

		memory_read(r->memory, at, &desc, sizeof(desc));
		if (desc.pc_offset <= last || desc.pc_offset > MAX_BLOB_BYTES)
			continue; /* the first and the last one are none */
		last = desc.pc_offset;
		scope = scope_at(r, desc.scope_offset);
		s->places[s->nr_places++] =
			(struct hotspot_place){ .at = desc.pc_offset,
						.scope = scope < 0 ? 0 : scope };
	}
}

/* Until JDK 22, all lies in the blob; later, much of it elsewhere. */
static void find_data(struct scopes_reader *r, const struct hotspot_blob *b, uint64_t *pcs,
		      uint64_t *end)
{
	const struct hotspot_vm *vm = r->vm;
	uint64_t base = b->start;

	if (hotspot_has(vm, VM_NMETHOD_IMMUTABLE))
		base = hotspot_read(vm, r->memory, b->start, VM_NMETHOD_IMMUTABLE);
	*pcs = base + hotspot_read(vm, r->memory, b->start, VM_NMETHOD_PCS);
	if (hotspot_has(vm, VM_COMPILED_SCOPES)) {
		r->data = hotspot_read(vm, r->memory, b->start, VM_COMPILED_SCOPES);
		*end = base + hotspot_read(vm, r->memory, b->start, VM_NMETHOD_DEPENDENCIES);
	} else {
		r->data = base + hotspot_read(vm, r->memory, b->start, VM_NMETHOD_SCOPES);
		*end = r->data;
	}
	if (hotspot_has(vm, VM_NMETHOD_METADATA))
		r->metadata = b->start + hotspot_read(vm, r->memory, b->start, VM_NMETHOD_METADATA);
	else
		r->metadata = hotspot_read(vm, r->memory, b->start, VM_BLOB_MUTABLE) +
			      hotspot_read(vm, r->memory, b->start, VM_BLOB_RELOCATION_SIZE);
}

void hotspot_scopes_read(struct hotspot_scopes *s, const struct hotspot_blob *b,
			 const struct hotspot_vm *vm, struct memory_reader *memory)
{
	static struct scopes_reader r;
	enum hotspot_field field =
		hotspot_has(vm, VM_COMPILED_METHOD) ? VM_COMPILED_METHOD : VM_NMETHOD_METHOD;
	uint64_t pcs, end;

	r = (struct scopes_reader){ .scopes = s, .vm = vm, .memory = memory };
	hotspot_scopes_begin(s);
	if (add_scope(&r, hotspot_read(vm, memory, b->start, field), -1, 0, NO_SCOPE) < 0)
		return;
	find_data(&r, b, &pcs, &end);
	if (pcs < end && end - pcs <= MAX_PLACES_BYTES)
		read_places(&r, pcs, end);
	memory->bad = false;
}

/* ---- interpreted methods ---- */

/* The bytecodes up to this index, from behind those before, are from that line. */
static void add_lines_place(struct hotspot_scopes *s, int32_t last, int32_t line)
{
	if (s->nr_places == MAX_HOTSPOT_PLACES || s->nr_scopes == MAX_HOTSPOT_SCOPES || last < 0 ||
	    (s->nr_places && s->places[s->nr_places - 1].at >= (uint32_t)last))
		return;
	s->scopes[s->nr_scopes] = s->scopes[0];
	s->scopes[s->nr_scopes].line = line > 0 ? line : 0;
	s->places[s->nr_places++] = (struct hotspot_place){ .at = last, .scope = s->nr_scopes++ };
}

void hotspot_scopes_of_method(struct hotspot_scopes *s, const struct hotspot_vm *vm,
			      struct memory_reader *memory, uint64_t method)
{
	static struct scopes_reader r;
	struct hotspot_line line = {};
	int32_t before = 0;
	int nr = 0;

	r = (struct scopes_reader){ .scopes = s, .vm = vm, .memory = memory };
	hotspot_scopes_begin(s);
	if (add_scope(&r, method, -1, 0, NO_SCOPE) < 0)
		return;
	line.at = methods[0].method.lines;
	for (; nr < MAX_HOTSPOT_PLACES && hotspot_line_next(&line, vm, memory); nr++) {
		add_lines_place(s, line.index - 1, before);
		before = line.line;
	}
	if (nr < MAX_HOTSPOT_PLACES && !memory->bad)
		add_lines_place(s, methods[0].method.bytecode_bytes - 1, before);
}
