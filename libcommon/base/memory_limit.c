// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/memory_limit.h"

size_t memory_limit = MEMORY_LIMIT_DEFAULT;
struct user_room memory_room = { .max = MEMORY_LIMIT_DEFAULT / 8 * 3, .root_as_others = true };

void memory_limit_set(size_t bytes)
{
	memory_limit = bytes;
	memory_room.max = bytes / 8 * 3;
}
