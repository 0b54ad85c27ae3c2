/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a HotSpot JVM says of itself: libjvm.so exports tables of the fields of its structs
 * (gHotSpotVMStructs and its siblings, in OpenJDK's hotspot/share/runtime/vmStructs.hpp) for
 * debuggers. They are read out of the process's memory.
 */
#ifndef EHPERF_RUNTIMES_HOTSPOT_VM_H
#define EHPERF_RUNTIMES_HOTSPOT_VM_H

#include <stdbool.h>
#include <stdint.h>

#include "process/memory_reader.h"

/* name here, type, field. Those that not all versions have may be absent: hotspot_has() */
#define HOTSPOT_FIELDS(F)                                            \
	F(HEAPS, "CodeCache", "_heaps")                              \
	F(INTERPRETER, "AbstractInterpreter", "_code")               \
	F(ARRAY_LENGTH, "GrowableArrayBase", "_len")                 \
	F(ARRAY_DATA, "GrowableArray<int>", "_data")                 \
	F(HEAP_MEMORY, "CodeHeap", "_memory")                        \
	F(HEAP_SEGMENTS, "CodeHeap", "_segmap")                      \
	F(HEAP_LOG2_SEGMENT, "CodeHeap", "_log2_segment_size")       \
	F(SPACE_LOW, "VirtualSpace", "_low")                         \
	F(SPACE_HIGH, "VirtualSpace", "_high")                       \
	F(SPACE_LIMIT, "VirtualSpace", "_high_boundary")             \
	F(BLOCK_LENGTH, "HeapBlock::Header", "_length")              \
	F(BLOCK_USED, "HeapBlock::Header", "_used")                  \
	F(STUBS_BUFFER, "StubQueue", "_stub_buffer")                 \
	F(STUBS_END, "StubQueue", "_queue_end")                      \
	F(BLOB_NAME, "CodeBlob", "_name")                            \
	F(BLOB_SIZE, "CodeBlob", "_size")                            \
	F(BLOB_CODE_BEGIN, "CodeBlob", "_code_begin")                \
	F(BLOB_CODE_END, "CodeBlob", "_code_end")                    \
	F(BLOB_CODE_OFFSET, "CodeBlob", "_code_offset")              \
	F(BLOB_DATA_OFFSET, "CodeBlob", "_data_offset")              \
	F(BLOB_COMPLETE, "CodeBlob", "_frame_complete_offset")       \
	F(BLOB_FRAME_SIZE, "CodeBlob", "_frame_size")                \
	F(NMETHOD_ID, "nmethod", "_compile_id")                      \
	F(NMETHOD_ENTRY, "nmethod", "_verified_entry_point")         \
	F(NMETHOD_ENTRY_OFFSET, "nmethod", "_verified_entry_offset") \
	F(NMETHOD_OSR_ENTRY, "nmethod", "_osr_entry_point")          \
	F(NMETHOD_STUB, "nmethod", "_stub_offset")                   \
	F(VERSION, "Abstract_VM_Version", "_vm_major_version")       \
	F(NMETHOD_METHOD, "nmethod", "_method")                      \
	F(COMPILED_METHOD, "CompiledMethod", "_method")              \
	F(NMETHOD_PCS, "nmethod", "_scopes_pcs_offset")              \
	F(NMETHOD_DEPENDENCIES, "nmethod", "_dependencies_offset")   \
	F(NMETHOD_SCOPES, "nmethod", "_scopes_data_offset")          \
	F(COMPILED_SCOPES, "CompiledMethod", "_scopes_data_begin")   \
	F(NMETHOD_METADATA, "nmethod", "_metadata_offset")           \
	F(NMETHOD_IMMUTABLE, "nmethod", "_immutable_data")           \
	F(BLOB_MUTABLE, "CodeBlob", "_mutable_data")                 \
	F(BLOB_RELOCATION_SIZE, "CodeBlob", "_relocation_size")      \
	F(METHOD_CONST, "Method", "_constMethod")                    \
	F(CONST_POOL, "ConstMethod", "_constants")                   \
	F(CONST_FLAGS, "ConstMethod", "_flags")                      \
	F(CONST_FLAGS_NEW, "ConstMethod", "_flags._flags")           \
	F(CONST_CODE_SIZE, "ConstMethod", "_code_size")              \
	F(CONST_NAME, "ConstMethod", "_name_index")                  \
	F(POOL_HOLDER, "ConstantPool", "_pool_holder")               \
	F(POOL_LENGTH, "ConstantPool", "_length")                    \
	F(POOL_FILE, "ConstantPool", "_source_file_name_index")      \
	F(KLASS_NAME, "Klass", "_name")                              \
	F(SYMBOL_LENGTH, "Symbol", "_length")                        \
	F(SYMBOL_BODY, "Symbol", "_body")                            \
	F(PERF_MEMORY, "PerfMemory", "_start")

/* name here, type */
#define HOTSPOT_TYPES(T)               \
	T(CONST_METHOD, "ConstMethod") \
	T(CONSTANT_POOL, "ConstantPool")

enum hotspot_field {
#define HOTSPOT_ENUM(name, type, field) VM_##name,
	HOTSPOT_FIELDS(HOTSPOT_ENUM)
#undef HOTSPOT_ENUM
		NR_HOTSPOT_FIELDS
};

enum hotspot_type {
#define HOTSPOT_ENUM(name, type) VM_TYPE_##name,
	HOTSPOT_TYPES(HOTSPOT_ENUM)
#undef HOTSPOT_ENUM
		NR_HOTSPOT_TYPES
};

struct hotspot_vm {
	uint32_t version; /* 17, 21, … */
	uint32_t type_bytes[NR_HOTSPOT_TYPES];
	struct {
		uint64_t at;   /* offset in its struct, or the address of a static one */
		uint8_t bytes; /* of an integer or a pointer; 0: there is no such field */
		bool is_signed;
	} field[NR_HOTSPOT_FIELDS];
};

/*
 * addresses of the pointers that libjvm.so exports, less where offset 0 of its executable segment
 * would lie
 */
struct hotspot_image {
	uint64_t structs_from_text, stride_from_text, types_from_text;
};

/*
 * text: where offset 0 of libjvm.so's executable segment would lie. 0; -EBADMSG: it is no JVM that
 * we know
 */
int hotspot_vm_read(struct hotspot_vm *vm, struct memory_reader *memory,
		    const struct hotspot_image *image, uint64_t text);

static inline bool hotspot_has(const struct hotspot_vm *vm, enum hotspot_field field)
{
	return vm->field[field].bytes;
}

/* the field of the struct at this address; 0 where there is none */
int64_t hotspot_read(const struct hotspot_vm *vm, struct memory_reader *memory, uint64_t at,
		     enum hotspot_field field);

/* the address of the field */
static inline uint64_t hotspot_address(const struct hotspot_vm *vm, uint64_t at,
				       enum hotspot_field field)
{
	return at + vm->field[field].at;
}

/* where the JVM counts, in 64 bits, the classes that it has thrown away; 0: -XX:-UsePerfData */
uint64_t hotspot_unloaded_at(const struct hotspot_vm *vm, struct memory_reader *memory);

#endif
