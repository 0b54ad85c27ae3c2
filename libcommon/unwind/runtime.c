// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/runtime.h"

#include <errno.h>
#include <stddef.h>

static const struct runtime *const none[] = { NULL };
const struct runtime *const *runtimes = none;

int runtime_file_read(struct runtime_file *held, struct elf_file *file)
{
	*held = (struct runtime_file){};
	for (uint32_t i = 0; runtimes[i]; i++) {
		int error = runtimes[i]->read_image(held->image, file);

		if (error == -ENOMEM)
			return error;
		if (error && error != -ENOTSUP)
			continue;
		held->number = i + 1;
		held->error = error;
		return 0;
	}
	return 0;
}

bool runtime_file_is_sound(const struct runtime_file *held)
{
	uint32_t nr = 0;

	while (runtimes[nr])
		nr++;
	return held->number <= nr && held->error <= 0;
}

const struct runtime *runtime_of_file(const struct runtime_file *held)
{
	return held->number ? runtimes[held->number - 1] : NULL;
}

const void *runtime_image(const struct runtime_file *held, const struct runtime *runtime)
{
	return !held->error && runtime_of_file(held) == runtime ? held->image : NULL;
}
