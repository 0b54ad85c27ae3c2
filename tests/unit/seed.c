// SPDX-License-Identifier: GPL-2.0-or-later
/* Hashes of what others choose: no other process has the same, and the lower bits are spread. */
#include "base/seed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "report/labels.h"

static uint64_t hash_of_label(void)
{
	struct labels *labels = labels_new();
	uint64_t hash = 0;
	uint32_t number;

	if (!labels_add(labels, &(struct label){ .text = "main" }, &number))
		hash = labels_hash(labels, number);
	labels_free(labels);
	return hash;
}

static void test_processes(void)
{
	uint64_t of_child = 0;
	int ends[2];

	if (pipe(ends))
		abort();
	if (!fork()) {
		of_child = hash_of_label();
		_exit(write(ends[1], &of_child, sizeof(of_child)) != sizeof(of_child));
	}
	wait(NULL);
	check(read(ends[0], &of_child, sizeof(of_child)) == sizeof(of_child) &&
	      of_child != hash_of_label());
	check(hash_of_label() == hash_of_label());
}

static void test_spread(void)
{
	static uint8_t seen[1 << 16];
	size_t nr = 0;
	char text[32];

	for (uint32_t i = 0; i < 1 << 16; i++) {
		snprintf(text, sizeof(text), "function_%u", i);
		nr += !seen[seeded_hash((uint64_t[]){ 1, 2 }, 2, text, strlen(text)) & 0xffff]++;
	}
	check(nr > 35000, "%zu of 65536 places: chance has 41427", nr);
	check(seeded_hash((uint64_t[]){ 0 }, 1, "", 0) != seeded_hash((uint64_t[]){ 1 }, 1, "", 0));
	check(seeded_hash(NULL, 0, "a", 1) != seeded_hash(NULL, 0, "a\0", 2),
	      "zeros at the end count");
}

int main(void)
{
	test_processes();
	test_spread();
	return check_done();
}
