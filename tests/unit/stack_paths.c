// SPDX-License-Identifier: GPL-2.0-or-later
/* Which entries have the same labels, though their keys differ. */
#include "report/stack_paths.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

static const char *root_of(const struct stack_entry *entry)
{
	return STACK_EVENT(entry->key.flags) == 1 ? "read" : "write";
}

static struct stack_frames *frames(bool own)
{
	struct stack_frames *made = calloc(1, sizeof(*made) + sizeof(made->frames[0]));

	made->nr = 1;
	made->own = own;
	return made;
}

/* Is it the same path as the first entry's? */
static bool same(struct stack_paths *paths, const struct stack_entry *entry)
{
	uint32_t number = 77;

	check(!stack_paths_find(paths, entry, &number) && number < paths->nr);
	return number == 0;
}

static void test(bool by_thread)
{
	struct stack_frames *user = frames(false), *other = frames(false), *own = frames(true);
	struct stack_writer writer = { .root = root_of };
	struct stack_paths paths = { .writer = &writer, .by_thread = by_thread };
	const struct stack_entry first = { .key = { .pid = 1, .tid = 1, .comm = "a" },
					   .value = { .count = 5 },
					   .user = user,
					   .kernel = other };
	struct stack_entry waker = { .key = { .pid = 9 }, .user = user }, waker2, entry = first;

	check(same(&paths, &first) && paths.nr == 1);
	check(!paths.all[0].value.count && paths.all[0].user == user && paths.all[0].key.pid == 1,
	      "the value is the caller's");
	check(same(&paths, &first) && paths.nr == 1);
	entry.key.tid = 2;
	check(same(&paths, &entry) == !by_thread, "another thread");
	entry.key.pid = 2;
	check(same(&paths, &entry) == !by_thread, "another process");
	entry = first;
	entry.key.uid = 7;
	entry.key.user_stack = 8;
	check(same(&paths, &entry), "labels do not say these");
	entry = first;
	strcpy(entry.key.comm, "b");
	check(!same(&paths, &entry), "another name");
	entry = first;
	entry.key.end = END_NO_ROW;
	check(!same(&paths, &entry), "another end");
	entry = first;
	entry.user = other;
	check(!same(&paths, &entry), "other frames");
	entry = first;
	entry.kernel = NULL;
	check(!same(&paths, &entry), "no kernel frames");
	entry = first;
	entry.key.flags = 1 << STACK_EVENT_SHIFT;
	check(!same(&paths, &entry), "another event");
	stack_paths_free(&paths);

	/* of a stack with frames in no file, names depend on the process */
	paths = (struct stack_paths){ .writer = &writer, .by_thread = by_thread };
	entry = first;
	entry.user = own;
	check(same(&paths, &entry));
	entry.key.tid = 2;
	check(same(&paths, &entry) == !by_thread, "another thread of the process");
	entry.key.pid = 2;
	check(!same(&paths, &entry), "another process");
	stack_paths_free(&paths);

	/* wakers may lie at different addresses */
	paths = (struct stack_paths){ .writer = &writer, .by_thread = by_thread };
	entry = first;
	entry.waker = &waker;
	check(same(&paths, &entry));
	waker2 = waker;
	entry.waker = &waker2;
	check(same(&paths, &entry), "an equal waker");
	waker2.kernel = other;
	check(!same(&paths, &entry), "another waker");
	entry.waker = NULL;
	check(!same(&paths, &entry), "no waker");
	stack_paths_free(&paths);
	free(user);
	free(other);
	free(own);
}

int main(void)
{
	test(false);
	test(true);
	return check_done();
}
