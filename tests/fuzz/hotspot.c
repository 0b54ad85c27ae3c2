// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process that lies in all of a JVM's structures: 64 KiB of memory, which every address leads
 * into, so that wild pointers and circles are all there is. The fields lie where JDK 17 has them.
 */
#include "fuzz.h"
#include "runtimes/hotspot/hotspot_method.h"
#include "runtimes/hotspot/hotspot_work.h"

#define IMAGE_BYTES 65536
#define NR_PCS      8

struct image {
	const uint8_t *bytes;
	size_t size;
};

static size_t read_image(void *arg, uint64_t address, void *to, size_t bytes)
{
	const struct image *image = arg;

	for (size_t i = 0; i < bytes; i++) {
		size_t at = (address + i) % IMAGE_BYTES;

		((uint8_t *)to)[i] = at < image->size ? image->bytes[at] : 0;
	}
	return address >> USER_ADDRESS_BITS ? 0 : bytes;
}

#define FIELD(name, offset, size) [VM_##name] = { .at = offset, .bytes = size }

static const struct hotspot_vm vm_17 = {
	.version = 17,
	.type_bytes = { [VM_TYPE_CONST_METHOD] = 48, [VM_TYPE_CONSTANT_POOL] = 72 },
	.field = {
		FIELD(HEAPS, 0, 8), FIELD(INTERPRETER, 8, 8), FIELD(ARRAY_LENGTH, 0, 4), FIELD(ARRAY_DATA, 8, 8),
		FIELD(HEAP_MEMORY, 8, 1), FIELD(HEAP_SEGMENTS, 120, 1), FIELD(HEAP_LOG2_SEGMENT, 256, 4),
		FIELD(SPACE_LOW, 16, 8), FIELD(SPACE_HIGH, 24, 8), FIELD(SPACE_LIMIT, 8, 8),
		FIELD(BLOCK_LENGTH, 0, 8), FIELD(BLOCK_USED, 8, 1), FIELD(STUBS_BUFFER, 8, 8), FIELD(STUBS_END, 28, 4),
		FIELD(BLOB_NAME, 96, 8), FIELD(BLOB_SIZE, 12, 4), FIELD(BLOB_CODE_BEGIN, 32, 8), FIELD(BLOB_CODE_END, 40, 8),
		FIELD(BLOB_COMPLETE, 20, 4), FIELD(BLOB_FRAME_SIZE, 28, 4), FIELD(NMETHOD_ID, 304, 4),
		FIELD(NMETHOD_ENTRY, 224, 8), FIELD(NMETHOD_OSR_ENTRY, 232, 8), FIELD(NMETHOD_STUB, 252, 4),
		FIELD(COMPILED_METHOD, 112, 8), FIELD(NMETHOD_PCS, 268, 4), FIELD(NMETHOD_DEPENDENCIES, 272, 4),
		FIELD(COMPILED_SCOPES, 120, 8), FIELD(NMETHOD_METADATA, 260, 4), FIELD(METHOD_CONST, 8, 8),
		FIELD(CONST_POOL, 8, 8), FIELD(CONST_FLAGS, 28, 2), FIELD(CONST_CODE_SIZE, 32, 2), FIELD(CONST_NAME, 34, 2),
		FIELD(POOL_HOLDER, 24, 8), FIELD(POOL_LENGTH, 60, 4), FIELD(POOL_FILE, 54, 2), FIELD(KLASS_NAME, 24, 8),
		FIELD(SYMBOL_LENGTH, 4, 2), FIELD(SYMBOL_BODY, 6, 1), FIELD(PERF_MEMORY, 16, 8),
	},
};

static void check_name(const struct hotspot_name *name)
{
	struct runtime_function functions[64];

	for (uint32_t at = 0; at < 4096; at += 16) {
		size_t nr =
			hotspot_names_of(name, (uint64_t)at << HOTSPOT_OFFSET_SHIFT, functions, 64);

		for (size_t i = 0; i < nr; i++)
			must(strlen(functions[i].name) < MAX_METHOD_NAME, "names are bounded");
	}
}

static void check_code(const struct hotspot_code *code)
{
	check_name(hotspot_code_name(code));
	for (uint32_t i = 1; i < code->nr_rows; i++)
		must(code->rows[i].at > code->rows[i - 1].at &&
			     code->rows[i].at < code->blob.end - code->blob.start,
		     "rows rise");
}

static void begin(struct memory_reader *memory, struct image *image)
{
	memory_reader_begin(memory, NULL, 1 << 20);
	memory->read = read_image;
	memory->arg = image;
}

/*
 * Asks which methods lie where the image says, then for the names of those, and of one that does
 * not lie there.
 */
static void ask_for_methods(struct image *image, struct hotspot_answer *answer, size_t room)
{
	static struct memory_reader memory;
	static struct hotspot_question q;
	const struct hotspot_named *named;
	size_t got, at = sizeof(*answer);
	uint32_t nr = 0;

	begin(&memory, image);
	q = (struct hotspot_question){ .vm = vm_17, .nr_methods = NR_PCS };
	for (uint32_t i = 0; i < NR_PCS && image->size >= 16 * NR_PCS; i++)
		memcpy(&q.methods[i].address, image->bytes + 16 * i, 8);
	must(!hotspot_answer(&q, &memory, answer, room, &got), "methods are answered");
	while ((named = hotspot_named_next(answer, got, &at))) {
		must(named->name_bytes && named->key.identity, "it is said which, and the name");
		q.methods[nr++] = named->key;
	}
	must(at == got, "what is written is read");
	q.methods[nr] = (struct hotspot_method_key){ q.methods[0].address,
						     q.methods[0].identity ^ 1 << 16 };
	q.nr_methods = nr + 1;
	begin(&memory, image);
	must(!hotspot_answer(&q, &memory, answer, room, &got), "methods are answered");
	for (at = sizeof(*answer); (named = hotspot_named_next(answer, got, &at));) {
		must(named->number < nr && named->name_bytes,
		     "there is no name for what is another");
		check_name((const struct hotspot_name *)(named + 1));
	}
	must(at == got, "what is written is read");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct memory_reader memory;
	static _Alignas(16) uint8_t room[1 << 20];
	static struct hotspot_question q;
	struct hotspot_answer *answer = (struct hotspot_answer *)room;
	struct image image = { bytes, size < IMAGE_BYTES ? size : IMAGE_BYTES };
	const struct hotspot_code *code;
	uint32_t nr = 0;
	size_t got, at = sizeof(*answer);

	begin(&memory, &image);
	q = (struct hotspot_question){ .attach = true, .image = { 0, 8, 16 } };
	hotspot_answer(&q, &memory, answer, sizeof(room), &got);

	ask_for_methods(&image, answer, sizeof(room));

	begin(&memory, &image);
	q = (struct hotspot_question){ .vm = vm_17, .nr_pcs = NR_PCS };
	for (uint32_t i = 0; i < NR_PCS && size >= 16 + 8 * NR_PCS; i++)
		memcpy(&q.pcs[i], bytes + 16 + 8 * i, 8);
	if (hotspot_answer(&q, &memory, answer, sizeof(room), &got))
		return 0;
	for (; (code = hotspot_code_next(answer, got, &at)); nr++)
		check_code(code);
	must(nr == answer->nr_codes && at == got, "what is written is read");
	return 0;
}
