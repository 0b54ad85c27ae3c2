/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that holds a CPython interpreter: python3 itself, libpython, or a program that it was
 * linked into. From 3.13 on the file says where its structs have their fields (_Py_DebugOffsets in
 * Include/internal/pycore_runtime.h); for versions before that, which never change them within a
 * minor version, there is a table.
 */
#ifndef EHPERF_RUNTIMES_PYTHON_IMAGE_H
#define EHPERF_RUNTIMES_PYTHON_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf/elf_file.h"
#include "runtimes/python/python_code.h"
#include "runtimes/python_abi.h"

struct python_image {
	struct python_layout layout; /* but for `interpreters` */
	struct python_objects objects;
	/*
	 * address of the pointer to the first interpreter, less where offset 0 of the file's
	 * executable segment would lie
	 */
	uint64_t interpreters_from_text;
	/*
	 * _PyEval_EvalFrameDefault(), offsets in the file; [1]: what the compiler has put elsewhere
	 */
	struct {
		uint64_t start, bytes;
	} loop[2];
};

/*
 * struct runtime's .read_image(), of a struct python_image. 0; -ENOENT: the file exports no
 * CPython; -ENOTSUP: a version or build of CPython that is not known; -EBADMSG
 */
int python_image_read(void *image, struct elf_file *file);

/* Is this a place of the interpreter's loop? */
static inline bool python_image_is_loop(const struct python_image *image, uint64_t file_offset)
{
	return file_offset - image->loop[0].start < image->loop[0].bytes ||
	       file_offset - image->loop[1].start < image->loop[1].bytes;
}

#endif
