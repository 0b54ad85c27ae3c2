/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython's frames: where an interpreter keeps them, and how they stand in a stack.
 *
 * Each thread of CPython has a list of frames of its own, apart from the machine's stack: one for
 * each Python function, of which one call of _PyEval_EvalFrameDefault() runs several. The kernel's
 * walk adds them behind the native frames, leaf first, unless there is no room for all of them; the
 * host's does not.
 */
#ifndef EHPERF_RUNTIMES_PYTHON_ABI_H
#define EHPERF_RUNTIMES_PYTHON_ABI_H

#include <linux/types.h>

#include "machine_abi.h"

/*
 * Offsets of fields in the interpreter's structs, in bytes (CPython's Include/internal/pycore_*.h).
 */
struct python_layout {
	/* address of the pointer to the first PyInterpreterState; 0: the process is no Python */
	__u64 interpreters;
	__u16 interpreter_next, interpreter_threads;
	/* of PyCodeObject: co_code_adaptive, and struct python_strings */
	__u16 code_instructions, code_strings;
	/*
	 * of PyThreadState. `frame` is _PyInterpreterFrame * itself, or if in_cframe is not 0
	 * _PyCFrame *, which has it at in_cframe - 1
	 */
	__u8 thread_next, thread_id, frame, in_cframe;
	/* of _PyInterpreterFrame */
	__u8 frame_code, frame_previous, frame_instruction;
	/*
	 * This byte of a frame is entry_mark if _PyEval_EvalFrameDefault() was called for it, or,
	 * entry_is_shim, if it is no function's, but stands between the frames of that call and
	 * those of its callers.
	 */
	__u8 frame_entry, entry_mark, entry_is_shim;
	__u16 pad;
};
_Static_assert(sizeof(struct python_layout) == 32, "struct python_layout");

/*
 * A Python frame takes two words among the user frames of a stack (stacks_abi.h). The first has the
 * address of its code object, which is a multiple of 16, the number of the instruction in it, and
 * whether it is the leaf-most frame of a call of the interpreter's loop. The second identifies the
 * function: code objects come and go, and another one may lie at the same address when user space
 * looks. User space makes one word of the two, with a number of its own for the function
 * (python_names.h). No native frame has these upper bits: what is found by the frame pointer is a
 * caller.
 */
#define FRAME_PYTHON           (6ULL << 61) /* FRAME_ADDRESS | FRAME_BY_FP, and no FRAME_CALL */
#define FRAME_IS_PYTHON(frame) ((frame) >> 60 == 12)
#define PYTHON_LEAF            (1ULL << 59)
#define PYTHON_INDEX_SHIFT     (USER_ADDRESS_BITS - 4)
#define PYTHON_NO_INDEX        ((1U << (59 - PYTHON_INDEX_SHIFT)) - 1)
#define PYTHON_INDEX(frame)    ((__u32)((frame) >> PYTHON_INDEX_SHIFT) & PYTHON_NO_INDEX)
/* the address / 16; in user space, the function's number */
#define PYTHON_LOW(frame)  ((frame) & ((1ULL << PYTHON_INDEX_SHIFT) - 1))
#define PYTHON_CODE(frame) (PYTHON_LOW(frame) << 4)

/* PyCodeObject.co_filename, .co_name and .co_qualname, which lie side by side */
struct python_strings {
	__u64 file, name, qualname;
};

/* the second word of a function's frames */
static inline __u64 python_identity(const struct python_strings *strings)
{
	__u64 hash = strings->file * 0x9e3779b97f4a7c15;

	hash = (hash ^ hash >> 32 ^ strings->name) * 0x9e3779b97f4a7c15;
	hash = (hash ^ hash >> 32 ^ strings->qualname) * 0x9e3779b97f4a7c15;
	return FRAME_PYTHON | hash >> 4;
}

#endif
