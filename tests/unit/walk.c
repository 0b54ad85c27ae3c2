// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * By which mapping list a walk goes, and when its frames are believed afterwards: that of the same
 * image only.
 */
#include <stdint.h>

#include "check.h"
#include "made_memory.h"
#include "walk/walk.bpf.h"

#define AT 64 /* where the list lies in its slab */

static uint64_t bytes[512];
static struct user_walk unwind;

/* what is published of a process */
static struct published_process *publish(void)
{
	struct published_process *process = (void *)((char *)bytes + AT);

	slab = bytes;
	*process = (struct published_process){
		.image = { .tgid = 400, .exec_id = 7, .start_ns = 1000000 },
		.generation = 5,
		.nr_mappings = 3,
		.changes = 2,
	};
	return process;
}

static int opened(struct process_image image, uint32_t generation, uint32_t changes)
{
	walk_reset(&unwind, DEFAULT_DEPTH, WALK_STEPS(DEFAULT_DEPTH));
	return walk_open(&unwind, HANDLE(AT, generation), &image, changes);
}

static void test_open(void)
{
	const struct process_image image = publish()->image;
	struct process_image other = image;

	check(opened(image, 5, 2) == END_COMPLETE && unwind.nr_mappings == 3, "the image itself");
	other.start_ns += 10000000;
	check(opened(other, 5, 2) == END_STALE && !unwind.nr_mappings,
	      "a later process with its number");
	other = image;
	other.exec_id++;
	check(opened(other, 5, 2) == END_STALE && !unwind.nr_mappings,
	      "it has executed another program");
	other = image;
	other.tgid++;
	check(opened(other, 5, 2) == END_STALE && !unwind.nr_mappings, "another process");
	check(opened(image, 4, 2) == END_STALE && !unwind.nr_mappings,
	      "another list is there by now");
	check(opened(image, 5, 3) == END_STALE && !unwind.nr_mappings, "mappings have changed");
	publish()->refused = 1;
	check(opened(image, 5, 3) == END_UNKNOWN_PROCESS && !unwind.nr_mappings, "it goes without");
	slab = NULL;
	check(opened(image, 5, 2) == END_UNKNOWN_PROCESS && !unwind.nr_mappings,
	      "there is no list");
}

static void test_close(void)
{
	struct published_process *process = publish();

	check(opened(process->image, 5, 2) == END_COMPLETE);
	unwind.stack.nr_frames = 4;
	unwind.end = END_COMPLETE;
	walk_close(&unwind);
	check(unwind.end == END_COMPLETE && unwind.stack.nr_frames == 4 && unwind.stack.id,
	      "the list was the same all the time");
	process->generation++;
	walk_close(&unwind);
	check(unwind.end == END_STALE && !unwind.stack.nr_frames,
	      "another one took its place meanwhile");
}

int main(void)
{
	test_open();
	test_close();
	return check_done();
}
