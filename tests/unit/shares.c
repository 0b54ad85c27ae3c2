// SPDX-License-Identifier: GPL-2.0-or-later
/* Who has many processes gets no more of a report than who has one. */
#include "report/shares.h"

#include "check.h"

#define NR 101 /* processes: a hundred of user 1, the last of user 2 */

static void make(struct claim *claims, uint64_t of_many, uint64_t of_one)
{
	for (uint32_t i = 0; i < NR; i++)
		claims[i] = (struct claim){
			.uid = i < NR - 1 ? 1 : 2,
			.pid = 1000 - i,
			.wanted = i < NR - 1 ? of_many : of_one,
			.first = i,
		};
}

int main(void)
{
	struct claim claims[NR];

	make(claims, 1000, 1000);
	check(!share_room(claims, NR, 1000));
	check(claims[NR - 1].first == NR - 1 && claims[NR - 1].share == 500,
	      "one process has half: %ju", (uintmax_t)claims[NR - 1].share);
	check(claims[0].pid < claims[1].pid && claims[0].share == 5 && claims[NR - 2].share == 5,
	      "a hundred have the other half");

	make(claims, 1000, 100);
	check(!share_room(claims, NR, 1000));
	check(claims[NR - 1].share >= 100 && claims[0].share == 9,
	      "what one does not want, the others get: %ju", (uintmax_t)claims[0].share);

	make(claims, 2, 10000);
	check(!share_room(claims, NR, 1000));
	check(claims[0].share >= 2 && claims[NR - 1].share == 800, "%ju",
	      (uintmax_t)claims[NR - 1].share);

	make(claims, 2, 800);
	check(!share_room(claims, NR, 1000));
	check(claims[0].share >= 2 && claims[NR - 1].share >= 800, "all have what they want");

	check(!share_room(claims, 0, 1000), "nobody wants anything");
	return check_done();
}
