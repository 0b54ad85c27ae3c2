// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/python/python.h"

#include "process/trust.h"
#include "process/workers.h"
#include "runtimes/python/python_frames.h"
#include "runtimes/python/python_image.h"
#include "runtimes/python/python_names.h"
#include "runtimes/python_abi.h"

_Static_assert(sizeof(struct python_image) <= RUNTIME_IMAGE_BYTES, "struct python_image");

/*
 * Where CPython keeps this process's frames. The address is written last: without it, the rest
 * means nothing.
 */
static void describe(const struct runtime_process *process, struct published_runtimes *says,
		     uint64_t text)
{
	const struct python_image *image = process->image;

	says->python = image->layout;
	__atomic_store_n(&says->python.interpreters, text + image->interpreters_from_text,
			 __ATOMIC_RELEASE);
}

static uint32_t user_of(pid_t pid)
{
	return OWNERS_UID(owner_of_process(pid));
}

static void *names_new(void)
{
	return python_names_new(user_of);
}

static void names_free(void *names)
{
	python_names_free(names);
}

static uint32_t see(void *names, const struct runtime_process *process, struct foreign *foreign,
		    pid_t pid, uint64_t *frames, uint32_t nr)
{
	const struct python_image *image = process->image;

	(void)foreign;
	return python_names_see(names, pid, image ? &image->objects : NULL, frames, nr);
}

static void use(void *names, uint64_t frame)
{
	python_names_use(names, PYTHON_LOW(frame));
}

static void forget(void *names)
{
	python_names_forget(names);
}

static void follow(void *names, struct foreign *foreign)
{
	python_names_follow(names, foreign);
}

static void settle(void *names, struct foreign *foreign, int ms)
{
	python_names_settle(names, foreign, ms);
}

static size_t find(const void *names, uint64_t frame, struct runtime_function *functions,
		   size_t max)
{
	const struct python_code *code = python_names_get(names, PYTHON_LOW(frame));

	if (!code || !max)
		return 0;
	functions[0] = (struct runtime_function){
		.name = code->name,
		.file = code->file,
		.line = PYTHON_INDEX(frame) == PYTHON_NO_INDEX
				? 0
				: python_code_line(code, PYTHON_INDEX(frame)),
	};
	return 1;
}

const struct runtime python_runtime = {
	.name = "python",
	.language = "Python",
	.implementation = "CPython",
	.frames = FRAME_PYTHON,
	.frames_mask = 15ULL << 60,
	.shows_files = true,
	.read_image = python_image_read,
	.describe = describe,
	.names_new = names_new,
	.names_free = names_free,
	.see = see,
	.use = use,
	.forget = forget,
	.follow = follow,
	.settle = settle,
	.find = find,
	.place = python_frames_place,
	.calls = "CPython's eval frames",
};
