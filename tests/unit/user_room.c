// SPDX-License-Identifier: GPL-2.0-or-later
/* A shared room: no user takes what another's, or root's, need. */
#include "base/user_room.h"
#include "check.h"

static unsigned fill(struct room_user *user)
{
	unsigned nr = 0;

	while (user_room_take(user, 1))
		nr++;
	return nr;
}

int main(void)
{
	struct user_room room = { .max = 256 };
	struct room_user *one = user_room_of(&room, 1000), *other = user_room_of(&room, 1001),
			 *root = user_room_of(&room, 0);

	check(user_room_of(&room, 1000) == one && one != other);
	check(fill(one) == 128, "one user has half");
	check(fill(other) == 64, "another has half of the rest");
	check(!user_room_has(one, 1) && !user_room_take(one, 1), "and none has more");
	check(fill(root) == 64, "root has all that is left");
	user_room_give(one, 2);
	check(user_room_has(root, 2) && !user_room_has(root, 3), "what is given back is there");
	user_room_empty(&room);
	check(fill(user_room_of(&room, 1001)) == 128, "a room that is emptied");
	user_room_empty(&room);
	return check_done();
}
