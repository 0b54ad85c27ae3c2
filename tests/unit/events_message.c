// SPDX-License-Identifier: GPL-2.0-or-later
/* Events of a file, as the child that has read it tells the tool. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "process/events_message.h"

static struct function_exit exits[] = { { 0x1000, false }, { 0x1010, true } };
static struct event events[] = {
	{ .name = "u:/bin/a:f", .path = "/bin/a", .file_offset = 0x1000, .arguments = "" },
	{ .name = "usdt:/bin/a:p:q",
	  .path = "/bin/a",
	  .file_offset = 0x1008,
	  .semaphore_offset = 0x2000,
	  .arguments = "8@%rdi",
	  .exits = { exits, 2, 2, true } },
};

static void check_same(const struct events *read)
{
	check(read->nr == 2 && read->nr_left_out == 3);
	for (size_t i = 0; i < read->nr && i < 2; i++) {
		const struct event *is = &read->events[i], *was = &events[i];

		check(is->kind == EVENT_USDT && !strcmp(is->name, was->name));
		check(!strcmp(is->path, "/bin/a") && !strcmp(is->arguments, was->arguments));
		check(is->file_offset == was->file_offset &&
		      is->semaphore_offset == was->semaphore_offset);
		check(is->exits.nr == was->exits.nr &&
		      is->exits.returns_by_stack == was->exits.returns_by_stack);
	}
	check(read->nr == 2 && read->events[1].exits.nr == 2 &&
	      read->events[1].exits.exits[0].file_offset == 0x1000 &&
	      !read->events[1].exits.exits[0].shared &&
	      read->events[1].exits.exits[1].file_offset == 0x1010 &&
	      read->events[1].exits.exits[1].shared);
}

int main(void)
{
	static struct events_problem why = { "because" }, problem;
	const struct events found = { .events = events, .nr = 2, .nr_left_out = 3 };
	struct events read = {};
	size_t nr, accepted = 0;
	char *message;

	if (!check(events_message_write(&found, 0, &why, &message, &nr)))
		return check_done();
	check(events_message_bytes(message, nr) == nr && events_message_bytes(message, 100) == 0);
	check(!events_message_read(&read, EVENT_USDT, "/bin/a", &problem, message, nr));
	check_same(&read);
	events_free(&read);
	for (size_t cut = 0; cut < nr; cut++) {
		accepted += events_message_read(&read, EVENT_USDT, "/bin/a", &problem, message,
						cut) != -EBADMSG;
		events_free(&read);
	}
	check(!accepted, "%zu of %zu that were cut", accepted, nr);
	free(message);

	check(events_message_write(&(struct events){}, -ENOENT, &why, &message, &nr));
	check(events_message_read(&read, EVENT_USDT, "/bin/a", &problem, message, nr) == -ENOENT);
	check(!strcmp(problem.text, "because") && !read.nr);
	free(message);
	return check_done();
}
