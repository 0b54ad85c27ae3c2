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

/* Two rooms that are parts of one: what is taken in one of them is not there for the other. */
static void test_parts(void)
{
	struct user_room whole = { .max = 256, .root_as_others = true },
			 first = { .max = 1024, .whole = &whole },
			 second = { .max = 64, .whole = &whole };

	check(fill(user_room_of(&first, 1000)) == 128, "of the whole, one user has half");
	check(!fill(user_room_of(&second, 1000)), "and then no more elsewhere");
	check(fill(user_room_of(&second, 0)) == 64, "another has what is in the part");
	check(!fill(user_room_of(&first, 0)), "and root has of the whole what others have");
	check(user_room_taken(&whole) == 192 && user_room_taken(&second) == 64);
	user_room_charge(user_room_of(&first, 1001), 100);
	check(user_room_taken(&whole) == 292, "what is not asked for is charged");
	user_room_give(user_room_of(&first, 1001), 100);
	user_room_empty(&first);
	check(user_room_taken(&whole) == 64 && fill(user_room_of(&first, 1000)) == 96);
	user_room_empty(&first);
	user_room_empty(&second);
	check(!user_room_taken(&whole));
	user_room_empty(&whole);
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
	test_parts();
	return check_done();
}
