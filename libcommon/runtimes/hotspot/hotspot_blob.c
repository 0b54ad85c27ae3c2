// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/hotspot/hotspot_blob.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "machine_abi.h"

#define MAX_HEAP_BYTES (2ULL << 30) /* ReservedCodeCacheSize's limit */
#define FREE_SEGMENT   0xff
#define MAX_HOPS       (MAX_BLOB_BYTES >> 6)

/* ---- heaps ---- */

static bool read_heap(struct hotspot_heap *heap, const struct hotspot_vm *vm,
		      struct memory_reader *memory, uint64_t at)
{
	uint64_t space = hotspot_address(vm, at, VM_HEAP_MEMORY);
	uint64_t segments = hotspot_address(vm, at, VM_HEAP_SEGMENTS);

	*heap = (struct hotspot_heap){
		.start = hotspot_read(vm, memory, space, VM_SPACE_LOW),
		.end = hotspot_read(vm, memory, space, VM_SPACE_HIGH),
		.limit = hotspot_read(vm, memory, space, VM_SPACE_LIMIT),
		.segments = hotspot_read(vm, memory, segments, VM_SPACE_LOW),
		.segment_shift = hotspot_read(vm, memory, at, VM_HEAP_LOG2_SEGMENT),
	};
	return !memory->bad && heap->start < heap->end && heap->end <= heap->limit &&
	       heap->limit - heap->start <= MAX_HEAP_BYTES &&
	       heap->limit < 1ULL << USER_ADDRESS_BITS && heap->segment_shift >= 3 &&
	       heap->segment_shift <= 16;
}

static void read_interpreter(struct hotspot_heaps *heaps, const struct hotspot_vm *vm,
			     struct memory_reader *memory)
{
	uint64_t queue = memory_u64(memory, vm->field[VM_INTERPRETER].at);

	if (!queue)
		return; /* it is not made yet */
	heaps->interpreter_start = hotspot_read(vm, memory, queue, VM_STUBS_BUFFER);
	heaps->interpreter_end =
		heaps->interpreter_start + hotspot_read(vm, memory, queue, VM_STUBS_END);
}

int hotspot_heaps_read(struct hotspot_heaps *heaps, const struct hotspot_vm *vm,
		       struct memory_reader *memory)
{
	uint64_t array = memory_u64(memory, vm->field[VM_HEAPS].at), data;
	struct hotspot_heaps read = {};
	uint32_t nr;

	if (memory->bad || !array)
		return -EBADMSG;
	nr = hotspot_read(vm, memory, array, VM_ARRAY_LENGTH);
	data = hotspot_read(vm, memory, array, VM_ARRAY_DATA);
	if (memory->bad || !nr || nr > MAX_CODE_HEAPS)
		return -EBADMSG;
	for (; read.nr < nr; read.nr++)
		if (!read_heap(&read.heap[read.nr], vm, memory,
			       memory_u64(memory, data + read.nr * 8)))
			return -EBADMSG;
	read_interpreter(&read, vm, memory);
	if (memory->bad)
		return -EBADMSG;
	*heaps = read;
	return 0;
}

/* ---- blobs ---- */

/* the address of the block that pc lies in; 0: none */
static uint64_t block_of(const struct hotspot_heap *heap, struct memory_reader *memory, uint64_t pc)
{
	uint64_t segment = (pc - heap->start) >> heap->segment_shift;

	for (int hop = 0; hop < MAX_HOPS; hop++) {
		uint8_t back = memory_u8(memory, heap->segments + segment);

		if (!back)
			return heap->start + (segment << heap->segment_shift);
		if (back == FREE_SEGMENT || back > segment || memory->bad)
			return 0;
		segment -= back;
	}
	return 0;
}

static bool begins_with(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* by the name, which is a constant of HotSpot's */
static enum hotspot_kind kind_of(const char *name)
{
	static const struct {
		const char *prefix;
		enum hotspot_kind kind;
	} kinds[] = {
		{ "nmethod", HOTSPOT_METHOD },
		{ "native nmethod", HOTSPOT_NATIVE },
		{ "Interpreter", HOTSPOT_INTERPRETER },
		{ "StubRoutines", HOTSPOT_ROUTINES },
		{ "I2C/C2I adapters", HOTSPOT_ADAPTERS },
		{ "MethodHandles adapters", HOTSPOT_ENTRIES },
		{ "vtable chunks", HOTSPOT_TABLES },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (begins_with(name, kinds[i].prefix))
			return kinds[i].kind;
	return HOTSPOT_STUB;
}

/* an offset in the code of what the VM says as an address or an offset; 0 if it lies outside */
static uint32_t in_code(const struct hotspot_blob *b, uint64_t address)
{
	return address > b->code_start && address < b->code_end ? address - b->code_start : 0;
}

static void read_code(struct hotspot_blob *b, const struct hotspot_vm *vm,
		      struct memory_reader *memory)
{
	if (hotspot_has(vm, VM_BLOB_CODE_BEGIN)) {
		b->code_start = hotspot_read(vm, memory, b->start, VM_BLOB_CODE_BEGIN);
		b->code_end = hotspot_read(vm, memory, b->start, VM_BLOB_CODE_END);
	} else {
		b->code_start = b->start + hotspot_read(vm, memory, b->start, VM_BLOB_CODE_OFFSET);
		b->code_end = b->start + hotspot_read(vm, memory, b->start, VM_BLOB_DATA_OFFSET);
	}
}

static void read_method(struct hotspot_blob *b, const struct hotspot_vm *vm,
			struct memory_reader *memory)
{
	uint64_t entry =
		b->code_start + hotspot_read(vm, memory, b->start, VM_NMETHOD_ENTRY_OFFSET);

	if (hotspot_has(vm, VM_NMETHOD_ENTRY))
		entry = hotspot_read(vm, memory, b->start, VM_NMETHOD_ENTRY);
	b->entry = in_code(b, entry);
	b->osr_entry = in_code(b, hotspot_read(vm, memory, b->start, VM_NMETHOD_OSR_ENTRY));
	b->word_at = hotspot_address(vm, b->start, VM_NMETHOD_ID);
}

static void read_frame(struct hotspot_blob *b, const struct hotspot_vm *vm,
		       struct memory_reader *memory)
{
	int64_t words = hotspot_read(vm, memory, b->start, VM_BLOB_FRAME_SIZE);
	int64_t complete = hotspot_read(vm, memory, b->start, VM_BLOB_COMPLETE);

	b->frame_bytes = (int32_t)words > 1 && (int32_t)words < 1 << 20 ? words * 8 : 0;
	b->complete = complete >= 0 && complete < (int64_t)(b->code_end - b->code_start)
			      ? complete
			      : UINT32_MAX;
}

static int read_blob(struct hotspot_blob *b, const struct hotspot_vm *vm,
		     struct memory_reader *memory, uint64_t limit)
{
	uint64_t size = hotspot_read(vm, memory, b->start, VM_BLOB_SIZE);

	if (size > MAX_BLOB_BYTES || size > limit - b->start)
		return -EBADMSG;
	b->end = b->start + size;
	read_code(b, vm, memory);
	if (b->code_start < b->start || b->code_start > b->code_end || b->code_end > b->end)
		return -EBADMSG;
	memory_string(memory, hotspot_read(vm, memory, b->start, VM_BLOB_NAME), b->name,
		      sizeof(b->name));
	b->kind = kind_of(b->name);
	read_frame(b, vm, memory);
	b->word_at = hotspot_address(vm, b->start, VM_BLOB_NAME);
	if (b->kind == HOTSPOT_METHOD || b->kind == HOTSPOT_NATIVE)
		read_method(b, vm, memory);
	if (b->kind == HOTSPOT_STUB && !b->frame_bytes)
		b->kind = HOTSPOT_ROUTINES;
	b->word = memory_u32(memory, b->word_at);
	return memory->bad ? -EBADMSG : 0;
}

/* HeapBlock: its header, in words of 8 bytes */
static uint64_t block_header_bytes(const struct hotspot_vm *vm)
{
	return (vm->field[VM_BLOCK_USED].at + 8) / 8 * 8;
}

int hotspot_blob_find(struct hotspot_blob *blob, const struct hotspot_heaps *heaps,
		      const struct hotspot_vm *vm, struct memory_reader *memory, uint64_t pc)
{
	for (uint32_t i = 0; i < heaps->nr; i++) {
		const struct hotspot_heap *heap = &heaps->heap[i];
		struct hotspot_blob b = {};
		uint64_t block;
		int error;

		if (pc < heap->start || pc >= heap->end)
			continue;
		block = block_of(heap, memory, pc);
		if (!block || !(hotspot_read(vm, memory, block, VM_BLOCK_USED) & 0xff))
			return memory->bad ? -EBADMSG : -ENOENT;
		b.start = block + block_header_bytes(vm);
		error = read_blob(&b, vm, memory, heap->end);
		if (error)
			return error;
		if (pc < b.start || pc >= b.end)
			return -ENOENT;
		*blob = b;
		return 0;
	}
	return -ENOENT;
}
