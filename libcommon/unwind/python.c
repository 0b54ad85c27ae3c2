// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/python.h"

#include "unwind/python_image.h"

static int read_image(void *image, struct elf_file *file)
{
	return python_image_read(image, file);
}
_Static_assert(sizeof(struct python_image) <= RUNTIME_IMAGE_BYTES, "struct python_image");

const struct runtime python_runtime = {
	.read_image = read_image,
};
