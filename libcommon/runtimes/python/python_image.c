// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/python/python_image.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"
#include "dwarf/exports.h"
#include "table/machine.h"

/* the frame between those of two calls of the interpreter's loop, from 3.12 on */
#define FRAME_OWNED_BY_CSTACK 3

/* _PyRuntimeState.interpreters.head in 3.11 and 3.12 */
#define RUNTIME_INTERPRETERS 40

/*
 * 3.11, as in Include/internal/pycore_runtime.h, pycore_interp.h and pycore_frame.h, and
 * Include/cpython/pystate.h, code.h and unicodeobject.h. A frame has is_entry.
 */
static const struct python_image image_3_11 = {
	.layout = {
		.interpreter_next = 0, .interpreter_threads = 16,
		.thread_next = 8, .thread_id = 152, .frame = 56, .in_cframe = 8 + 1,
		.frame_code = 32, .frame_previous = 48, .frame_instruction = 56, .frame_entry = 68, .entry_mark = 1,
		.code_instructions = 184, .code_strings = 112,
	},
	.objects = {
		.code_first_line = 72, .code_strings = 112, .code_line_table = 136,
		.string_length = 16, .string_state = 32, .string_ascii_bytes = 48, .string_other_bytes = 72,
		.bytes_length = 16, .bytes_data = 32,
	},
};

/* 3.12, as in the same headers of that version. A frame has its owner */
static const struct python_image image_3_12 = {
	.layout = {
		.interpreter_next = 0, .interpreter_threads = 72,
		.thread_next = 8, .thread_id = 136, .frame = 56, .in_cframe = 0 + 1,
		.frame_code = 0, .frame_previous = 8, .frame_instruction = 56, .frame_entry = 70,
		.entry_mark = FRAME_OWNED_BY_CSTACK, .entry_is_shim = 1,
		.code_instructions = 192, .code_strings = 112,
	},
	.objects = {
		.code_first_line = 68, .code_strings = 112, .code_line_table = 136,
		.string_length = 16, .string_state = 32, .string_ascii_bytes = 40, .string_other_bytes = 56,
		.bytes_length = 16, .bytes_data = 32,
	},
};

/* ---- 3.13 and later: what the file says of itself ---- */

/* struct _Py_DebugOffsets of 3.13, as far as it is used */
struct debug_offsets {
	char cookie[8];
	uint64_t version, free_threaded;
	uint64_t runtime_size, finalizing, interpreters_head;
	struct {
		uint64_t size, id, next, threads_head, rest[9];
	} interpreter;
	struct {
		uint64_t size, prev, next, interp, current_frame, thread_id, rest[3];
	} thread;
	struct {
		uint64_t size, previous, executable, instr_ptr, localsplus, owner;
	} frame;
	struct {
		uint64_t size, filename, name, qualname, linetable, firstlineno, rest[3],
			co_code_adaptive;
	} code;
	uint64_t pyobject[2], type[4], tuple[3], list[3], dict[3], floats[2], longs[3];
	struct {
		uint64_t size, ob_size, ob_sval;
	} bytes;
	struct {
		uint64_t size, state, length, asciiobject_size;
	} unicode;
};
static const char cookie[8] = { 'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y' };

/* PyCompactUnicodeObject adds utf8_length and utf8 to PyASCIIObject */
#define MORE_OF_OTHER_STRINGS 16

/*
 * offsets that do not fit are those of no CPython: the numbers of a file that says anything else
 * are cut, and lead nowhere
 */
static struct python_image image_by(const struct debug_offsets *o)
{
	return (struct python_image){
		.layout = {
			.interpreter_next = o->interpreter.next, .interpreter_threads = o->interpreter.threads_head,
			.thread_next = o->thread.next, .thread_id = o->thread.thread_id, .frame = o->thread.current_frame,
			.frame_code = o->frame.executable, .frame_previous = o->frame.previous,
			.frame_instruction = o->frame.instr_ptr, .frame_entry = o->frame.owner,
			.entry_mark = FRAME_OWNED_BY_CSTACK, .entry_is_shim = 1,
			.code_instructions = o->code.co_code_adaptive, .code_strings = o->code.filename,
		},
		.objects = {
			.code_first_line = o->code.firstlineno, .code_strings = o->code.filename,
			.code_line_table = o->code.linetable,
			.string_length = o->unicode.length, .string_state = o->unicode.state,
			.string_ascii_bytes = o->unicode.asciiobject_size,
			.string_other_bytes = o->unicode.asciiobject_size + MORE_OF_OTHER_STRINGS,
			.bytes_length = o->bytes.ob_size, .bytes_data = o->bytes.ob_sval,
		},
	};
}

/* ---- the file ---- */

static int read_at(struct elf_file *file, uint64_t vaddr, void *bytes, size_t size)
{
	uint64_t offset;

	return elf_file_offset_of(file, vaddr, &offset) ? elf_file_read(file, offset, bytes, size)
							: -EBADMSG;
}

/* version: PY_VERSION_HEX. *interpreters: offset of the pointer in _PyRuntime */
static int layout_of(struct python_image *image, uint32_t version, struct elf_file *file,
		     uint64_t runtime, uint64_t *interpreters)
{
	struct debug_offsets offsets;
	int error;

	if (version >> 16 == 0x030b || version >> 16 == 0x030c) {
		*image = version >> 16 == 0x030b ? image_3_11 : image_3_12;
		*interpreters = RUNTIME_INTERPRETERS;
		return 0;
	}
	if (version >> 16 != 0x030d)
		return -ENOTSUP;
	error = read_at(file, runtime, &offsets, sizeof(offsets));
	if (error)
		return error;
	if (memcmp(offsets.cookie, cookie, sizeof(cookie)) ||
	    offsets.version >> 16 != version >> 16 || offsets.free_threaded ||
	    offsets.code.name != offsets.code.filename + 8 ||
	    offsets.code.qualname != offsets.code.filename + 16)
		return -ENOTSUP;
	*image = image_by(&offsets);
	*interpreters = offsets.interpreters_head;
	return 0;
}

/* ---- the interpreter's loop ---- */

/*
 * The compiler puts a part of a function that seldom runs elsewhere (GCC's NAME.cold). It has its
 * own FDE. In a stripped file, only jumps say to which function it belongs: no function jumps into
 * the middle of another one.
 */

#define MAX_FUNCTION_BYTES (1 << 20)
#define MAX_JUMPS          1024
#define MIN_JUMPS          2 /* bytes that look like a jump may lead anywhere, once */

/* where a function's conditional jumps lead that leave it, sorted */
struct jumps {
	struct {
		uint64_t to;
	} jump[MAX_JUMPS];
	size_t nr;
};

static int by_target(const void *left, const void *right)
{
	const uint64_t *l = left, *r = right;

	return order_of(*l, *r);
}

static void find_jumps(struct jumps *j, const uint8_t *code, uint64_t bytes, uint64_t vaddr)
{
	uint64_t to;

	j->nr = 0;
	for (size_t at = 0;
	     j->nr < MAX_JUMPS && (at = machine_next_branch(code, bytes, at, vaddr, &to));)
		if (to - vaddr >= bytes)
			j->jump[j->nr++].to = to;
	qsort(j->jump, j->nr, sizeof(j->jump[0]), by_target);
}

/* how many lead behind the first byte of this code */
static size_t jumps_into(const struct jumps *j, const struct fde *fde)
{
	uint64_t last = fde->start + fde->length - 1;

	return count_up_to(j->jump, j->nr, to, last) - count_up_to(j->jump, j->nr, to, fde->start);
}

static int find_part(struct elf_file *file, const struct jumps *j, uint64_t *vaddr, uint64_t *bytes)
{
	struct elf_section section;
	struct eh_frame frame;
	struct fde fde;
	size_t most = MIN_JUMPS - 1;
	int error = elf_file_cfi(file, &section, &frame);

	while (!error && eh_frame_next(&frame, &fde)) {
		size_t nr = fde.length ? jumps_into(j, &fde) : 0;

		if (nr <= most)
			continue;
		most = nr;
		*vaddr = fde.start;
		*bytes = fde.length;
	}
	if (!error && most < MIN_JUMPS)
		error = -ENOENT;
	return error;
}

/*
 * *vaddr, *bytes: in: the function; out: the other part, into which most of its jumps lead. 0;
 * -ENOENT: it has none; -ENOMEM; -EBADMSG
 */
static int find_other_part(struct elf_file *file, uint64_t *vaddr, uint64_t *bytes)
{
	uint64_t offset;
	struct jumps *jumps;
	uint8_t *code;
	int error;

	if (*bytes > MAX_FUNCTION_BYTES || !elf_file_offset_of(file, *vaddr, &offset))
		return -EBADMSG;
	code = malloc(*bytes + 1);
	jumps = malloc(sizeof(*jumps));
	error = code && jumps ? elf_file_read(file, offset, code, *bytes) : -ENOMEM;
	if (!error) {
		find_jumps(jumps, code, *bytes, *vaddr);
		error = find_part(file, jumps, vaddr, bytes);
	}
	free(jumps);
	free(code);
	return error;
}

static int find_loop(struct python_image *image, struct elf_file *file)
{
	uint64_t vaddr, bytes;
	int error = exports_find(file, "_PyEval_EvalFrameDefault", &vaddr, &bytes);

	for (int i = 0; !error && i < 2; i++) {
		if (!elf_file_offset_of(file, vaddr, &image->loop[i].start))
			return -EBADMSG;
		image->loop[i].bytes = bytes;
		error = i ? 0 : find_other_part(file, &vaddr, &bytes);
	}
	return error == -ENOENT ? 0 : error;
}

int python_image_read(void *image, struct elf_file *file)
{
	uint64_t runtime, version_at, size, interpreters, bias;
	struct python_image found;
	uint32_t version;
	int error = exports_find(file, "_PyRuntime", &runtime, &size);

	if (error)
		return error == -ENODATA ? -ENOENT : error;
	error = exports_find(file, "Py_Version", &version_at, &size);
	if (error)
		return error == -ENOMEM ? error : -ENOTSUP; /* before 3.11 */
	error = read_at(file, version_at, &version, sizeof(version));
	if (!error)
		error = layout_of(&found, version, file, runtime, &interpreters);
	if (!error)
		error = elf_file_text_bias(file, &bias);
	if (!error)
		error = find_loop(&found, file);
	if (error)
		return error;
	found.interpreters_from_text = runtime + interpreters - bias;
	*(struct python_image *)image = found;
	return 0;
}
