/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A language's runtime: what finds its functions in the stacks of its programs. A folder of libcommon/runtimes/ fills this in
 * for each. The functions of this layer, and of those above it, call what is here, for each runtime of the table.
 */
#ifndef EHPERF_UNWIND_RUNTIME_H
#define EHPERF_UNWIND_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "dwarf/elf_file.h"

#define RUNTIME_IMAGE_BYTES 128

struct runtime {
	/*
	 * Reads what a file that holds the runtime says of it, into RUNTIME_IMAGE_BYTES; in a worker, mostly. 0; -ENOENT: the file
	 * does not hold it; -ENOTSUP: a version or build that is not known; -ENOMEM; -EBADMSG
	 */
	int (*read_image)(void *image, struct elf_file *file);
};

/* The runtimes that are looked for, up to NULL; none at first. To be set before workers start, which have a copy of it */
extern const struct runtime *const *runtimes;

/* the runtime that a file holds */
struct runtime_file {
	uint32_t number;	/* in the table, from 1; 0: it holds none */
	int error;		/* 0, or as .read_image(): why there is no image */
	_Alignas(8) uint8_t image[RUNTIME_IMAGE_BYTES];
};

/* 0 or -ENOMEM */
int runtime_file_read(struct runtime_file *held, struct elf_file *file);
/* What a worker has read may be anything; the rooms check images. Is the rest sound? */
bool runtime_file_is_sound(const struct runtime_file *held);
/* what the file says of the runtime. NULL: it does not hold it, or cannot be read */
const void *runtime_image(const struct runtime_file *held, const struct runtime *runtime);

#endif
