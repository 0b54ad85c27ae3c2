// SPDX-License-Identifier: GPL-2.0-or-later
/* The room of JVMs: no user takes what another's, or root's, need. */
#include "check.h"
#include "runtimes/hotspot/hotspot_names.h"

#define PIECE (1 << 20)

/* in MB */
static unsigned fill(struct hotspot_user *user)
{
	unsigned nr = 0;

	while (hotspot_room_take(user, PIECE))
		nr++;
	return nr;
}

int main(void)
{
	struct hotspot_user *one = hotspot_user_of(1000), *other = hotspot_user_of(1001),
			    *root = hotspot_user_of(0);
	unsigned all = HOTSPOT_ROOM / PIECE, nr_one, nr_other;
	struct hotspot_names *names = hotspot_names_new();
	struct hotspot_name name = { .name = "code", .text_bytes = 0 };

	check(hotspot_user_of(1000) == one && one != other);
	nr_one = fill(one);
	check(nr_one == all / 2, "one user has half: %u", nr_one);
	nr_other = fill(other);
	check(nr_other == all / 4, "another has half of the rest: %u", nr_other);
	check(!hotspot_names_add(names, &name, one), "no name any more");
	check(fill(root) == all - nr_one - nr_other, "root has all that is left");
	check(!hotspot_room_take(root, PIECE));
	hotspot_room_give(one, PIECE);
	check(hotspot_names_add(names, &name, root), "what is given back is there");
	hotspot_names_free(names);
	check(hotspot_room_take(root, PIECE), "a name that is freed is given back");
	return check_done();
}
