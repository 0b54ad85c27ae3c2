// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process that lies in the objects of a Python function: its code object, which is at the
 * beginning of IMAGE, and what it leads to; and a worker that lies in what it has read of them.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "runtimes/python/python_code.h"
#include "runtimes/python/python_work.h"
#include "runtimes/python_abi.h"

#define IMAGE       0x10000000
#define IMAGE_BYTES 65536

/* CPython 3.11's, as runtimes/python/python_image.c has them */
static const struct python_objects objects = {
	.code_first_line = 72,
	.code_strings = 112,
	.code_line_table = 136,
	.string_length = 16,
	.string_state = 32,
	.string_ascii_bytes = 48,
	.string_other_bytes = 72,
	.bytes_length = 16,
	.bytes_data = 32,
};

static void check_code(struct python_code *code)
{
	static uint8_t written[1 << 20];
	struct python_code again;
	size_t bytes = python_code_write(code, written, sizeof(written));

	for (uint32_t i = 0; i < 70000; i += 1 + i / 64)
		must(python_code_line(code, i) >= 0, "lines are numbers");
	must(bytes && !python_code_unpack(&again, written, bytes), "what is written is read");
	must(!strcmp(again.name, code->name) && !strcmp(again.file, code->file) &&
		     again.line_bytes == code->line_bytes,
	     "and the same");
	python_code_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static uint8_t *image;
	static struct python_code codes[MAX_PYTHON_FUNCTIONS];
	const struct process_memory memory = { .pid = getpid(), .fd = -1 };
	struct python_strings strings;
	struct python_code code;

	if (!image)
		image = mmap((void *)IMAGE, IMAGE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	must(image == (uint8_t *)IMAGE, "there is room");
	memset(image, 0, IMAGE_BYTES);
	memcpy(image, bytes, size < IMAGE_BYTES ? size : IMAGE_BYTES);
	memcpy(&strings, image + objects.code_strings, sizeof(strings));
	if (!python_code_read(&memory, &objects, IMAGE, python_identity(&strings), &code)) {
		must(strlen(code.name) <= 4 * 1024 && strlen(code.file) <= 4 * 1024,
		     "names are bounded");
		check_code(&code);
		python_code_free(&code);
	}
	if (!python_code_unpack(&code, bytes, size)) {
		check_code(&code);
		python_code_free(&code);
	}
	python_work_take(bytes, size, codes);
	for (int i = 0; i < MAX_PYTHON_FUNCTIONS; i++) {
		if (codes[i].name)
			check_code(&codes[i]);
		python_code_free(&codes[i]);
	}
	return 0;
}
