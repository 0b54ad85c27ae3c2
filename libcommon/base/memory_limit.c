// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/memory_limit.h"

size_t memory_limit = MEMORY_LIMIT_DEFAULT;
