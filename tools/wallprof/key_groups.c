// SPDX-License-Identifier: GPL-2.0-or-later
#include "wallprof/key_groups.h"

#include <stdlib.h>

#include "base/order.h"

struct key_group *key_group_of(struct key_group **groups, uint64_t id)
{
	struct key_group *group;

	HASH_FIND(hh, *groups, &id, sizeof(id), group);
	if (!group) {
		group = calloc(1, sizeof(*group));
		if (!group)
			return NULL;
		group->id = id;
		HASH_ADD(hh, *groups, id, sizeof(group->id), group);
	}
	return group;
}

static int most_time_first(struct key_group *left, struct key_group *right)
{
	return order_of(right->all_ns, left->all_ns) ?: order_of(left->key, right->key);
}

void key_groups_sort(struct key_group **groups)
{
	HASH_SORT(*groups, most_time_first);
}
