// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/hotspot/hotspot_vm.h"

#include <errno.h>
#include <string.h>

#define MAX_ENTRIES    8192 /* JDK 17 has 1,100 */
#define MAX_FIELD_NAME 64

/* VMStructEntry in vmStructs.hpp */
struct entry {
	uint64_t type, field, kind; /* strings; kind: the field's type */
	int32_t is_static;
	uint64_t offset, address;
};

static const struct {
	const char *type, *field;
} wanted[NR_HOTSPOT_FIELDS] = {
#define HOTSPOT_NAMES(name, type, field) [VM_##name] = { type, field },
	HOTSPOT_FIELDS(HOTSPOT_NAMES)
#undef HOTSPOT_NAMES
};

/* VMTypeEntry */
struct type_entry {
	uint64_t type, superclass;
	int32_t is_oop, is_integer, is_unsigned;
	uint64_t size;
};

static const char *const types[NR_HOTSPOT_TYPES] = {
#define HOTSPOT_NAMES(name, type) [VM_TYPE_##name] = type,
	HOTSPOT_TYPES(HOTSPOT_NAMES)
#undef HOTSPOT_NAMES
};

/* how wide a value of this C++ type is, as far as such fields are used */
static uint8_t bytes_of(const char *kind)
{
	static const struct {
		const char *kind;
		uint8_t bytes;
	} kinds[] = {
		{ "address", 8 }, { "size_t", 8 },  { "uint64_t", 8 },     { "intptr_t", 8 },
		{ "u2", 2 },      { "int16_t", 2 }, { "jushort", 2 },      { "u1", 1 },
		{ "bool", 1 },    { "char", 1 },    { "CodeBlobKind", 1 },
	};

	if (strchr(kind, '*'))
		return 8;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i].kind))
			return kinds[i].bytes;
	return 4;
}

static void take_entry(struct hotspot_vm *vm, struct memory_reader *memory,
		       const struct entry *entry)
{
	char type[MAX_FIELD_NAME], field[MAX_FIELD_NAME], kind[MAX_FIELD_NAME];

	memory_string(memory, entry->type, type, sizeof(type));
	memory_string(memory, entry->field, field, sizeof(field));
	for (size_t i = 0; i < NR_HOTSPOT_FIELDS; i++) {
		if (strcmp(field, wanted[i].field) || strcmp(type, wanted[i].type))
			continue;
		kind[0] = '\0';
		if (entry->kind) /* it may not be said */
			memory_string(memory, entry->kind, kind, sizeof(kind));
		vm->field[i].at = entry->is_static ? entry->address : entry->offset;
		vm->field[i].bytes = bytes_of(kind);
		vm->field[i].is_signed = !strcmp(kind, "int16_t") || !strcmp(kind, "int");
	}
}

/* those without which nothing can be done; of the others, each version has one of two */
static bool is_complete(const struct hotspot_vm *vm)
{
	for (size_t i = 0; i <= VM_BLOB_SIZE; i++)
		if (!vm->field[i].bytes)
			return false;
	return hotspot_has(vm, VM_BLOB_COMPLETE) && hotspot_has(vm, VM_BLOB_FRAME_SIZE) &&
	       hotspot_has(vm, VM_NMETHOD_ID) && hotspot_has(vm, VM_NMETHOD_STUB) &&
	       (hotspot_has(vm, VM_BLOB_CODE_BEGIN) || hotspot_has(vm, VM_BLOB_CODE_OFFSET)) &&
	       (hotspot_has(vm, VM_NMETHOD_ENTRY) || hotspot_has(vm, VM_NMETHOD_ENTRY_OFFSET));
}

static void read_types(struct hotspot_vm *vm, struct memory_reader *memory, uint64_t at)
{
	struct type_entry entry;

	for (size_t i = 0; i < MAX_ENTRIES && !memory->bad; i++, at += sizeof(entry)) {
		char type[MAX_FIELD_NAME];

		memory_read(memory, at, &entry, sizeof(entry));
		if (!entry.type)
			break;
		memory_string(memory, entry.type, type, sizeof(type));
		for (size_t t = 0; t < NR_HOTSPOT_TYPES; t++)
			if (!strcmp(type, types[t]) && entry.size <= UINT16_MAX)
				vm->type_bytes[t] = entry.size;
	}
}

int hotspot_vm_read(struct hotspot_vm *vm, struct memory_reader *memory,
		    const struct hotspot_image *image, uint64_t text)
{
	uint64_t at = memory_u64(memory, text + image->structs_from_text);
	struct hotspot_vm read = {};
	struct entry entry;

	if (memory_u64(memory, text + image->stride_from_text) != sizeof(entry))
		return -EBADMSG;
	for (size_t i = 0; i < MAX_ENTRIES && !memory->bad; i++, at += sizeof(entry)) {
		memory_read(memory, at, &entry, sizeof(entry));
		if (!entry.type)
			break;
		take_entry(&read, memory, &entry);
	}
	read_types(&read, memory, memory_u64(memory, text + image->types_from_text));
	if (hotspot_has(&read, VM_VERSION))
		read.version = memory_u32(memory, read.field[VM_VERSION].at);
	if (memory->bad || !is_complete(&read))
		return -EBADMSG;
	*vm = read;
	return 0;
}

int64_t hotspot_read(const struct hotspot_vm *vm, struct memory_reader *memory, uint64_t at,
		     enum hotspot_field field)
{
	uint64_t address = at + vm->field[field].at;

	switch (vm->field[field].bytes) {
	case 8:
		return memory_u64(memory, address);
	case 4:
		return vm->field[field].is_signed ? (int32_t)memory_u32(memory, address)
						  : (int64_t)memory_u32(memory, address);
	case 2:
		return vm->field[field].is_signed ? (int16_t)memory_u16(memory, address)
						  : memory_u16(memory, address);
	case 1:
		return memory_u8(memory, address);
	default:
		return 0;
	}
}

/* ---- counters, as perfMemory.hpp has them ---- */

#define MAX_COUNTERS 4096 /* JDK 17 has 240 */

/* PerfDataPrologue */
struct counters {
	uint32_t magic;
	uint8_t byte_order, major, minor, accessible;
	uint32_t used, overflow;
	uint64_t modified;
	uint32_t first, nr; /* the first counter's offset; how many there are */
};

/* PerfDataEntry; offsets are from its start */
struct counter {
	uint32_t bytes, name, length;
	uint8_t type, flags, units, variability;
	uint32_t value;
};

uint64_t hotspot_unloaded_at(const struct hotspot_vm *vm, struct memory_reader *memory)
{
	uint64_t at = hotspot_read(vm, memory, 0, VM_PERF_MEMORY);
	char name[MAX_FIELD_NAME];
	struct counters counters;
	struct counter counter;

	memory_read(memory, at, &counters, sizeof(counters));
	at += counters.first;
	for (uint32_t i = 0; i < counters.nr && i < MAX_COUNTERS; i++) {
		memory_read(memory, at, &counter, sizeof(counter));
		if (memory->bad || counter.bytes < sizeof(counter))
			return 0;
		memory_string(memory, at + counter.name, name, sizeof(name));
		/* it is complete once it has a value: a long, 'J' in the JVM's signatures */
		if (!strcmp(name, "java.cls.unloadedClasses"))
			return counter.type == 'J' && counter.value >= sizeof(counter)
				       ? at + counter.value
				       : 0;
		at += counter.bytes;
	}
	return 0;
}
