/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts Python frames in their places among a stack's native frames. The kernel records them behind
 * the native frames (python_abi.h). Each call of _PyEval_EvalFrameDefault() runs the frames from
 * one PYTHON_LEAF up to the next.
 */
#ifndef EHPERF_RUNTIMES_PYTHON_FRAMES_H
#define EHPERF_RUNTIMES_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtimes/python/python_names.h"
#include "unwind/modules.h"

/*
 * struct runtime's .place(): Python frames replace the interpreter's calls, or with keep_native
 * come before them. Counts the calls of the interpreter's loop. names: struct python_names
 */
uint32_t python_frames_place(const void *names, const struct modules *modules,
			     const uint64_t *frames, uint32_t nr, bool is_whole, bool keep_native,
			     uint64_t *to, struct runtime_calls *calls);

#endif
