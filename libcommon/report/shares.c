// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/shares.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"

static int by_user(const void *left, const void *right)
{
	const struct claim *l = left, *r = right;

	return order_of(l->uid, r->uid) ?: order_of(l->pid, r->pid);
}

uint64_t equal_share(uint64_t *wanted, size_t nr, uint64_t room)
{
	qsort(wanted, nr, sizeof(*wanted), order_numbers);
	for (size_t i = 0; i < nr; i++) {
		uint64_t share = room / (nr - i);

		if (wanted[i] > share)
			return share;
		room -= wanted[i];
	}
	return UINT64_MAX;
}

/* how many of the claims, sorted by user, are of the first one's */
static size_t of_one_user(const struct claim *claims, size_t nr)
{
	size_t i = 1;

	while (i < nr && claims[i].uid == claims[0].uid)
		i++;
	return i;
}

/* wanted: for as many numbers */
static void share_among(struct claim *claims, size_t nr, uint64_t room, uint64_t *wanted)
{
	uint64_t share;

	for (size_t i = 0; i < nr; i++)
		wanted[i] = claims[i].wanted;
	share = equal_share(wanted, nr, room);
	for (size_t i = 0; i < nr; i++)
		claims[i].share = share;
}

int share_room(struct claim *claims, size_t nr, uint64_t room)
{
	uint64_t *wanted = calloc(nr + 1, sizeof(*wanted)), share;
	size_t nr_users = 0;

	if (!wanted)
		return -ENOMEM;
	qsort(claims, nr, sizeof(*claims), by_user);
	for (size_t i = 0, of_user; i < nr; i += of_user, nr_users++) {
		of_user = of_one_user(&claims[i], nr - i);
		for (size_t j = i; j < i + of_user; j++)
			wanted[nr_users] += claims[j].wanted;
	}
	share = equal_share(wanted, nr_users, room);
	for (size_t i = 0, of_user; i < nr; i += of_user) {
		of_user = of_one_user(&claims[i], nr - i);
		share_among(&claims[i], of_user, share, wanted);
	}
	free(wanted);
	return 0;
}
