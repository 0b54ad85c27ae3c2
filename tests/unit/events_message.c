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

/* a message in which a word is another one is refused, and there are no events */
static void check_refused(const char *message, size_t nr, size_t at, uint64_t word)
{
	static struct events_message said;
	char *other = malloc(nr);
	struct events read;
	int error;

	if (!other)
		return;
	memcpy(other, message, nr);
	memcpy(other + at, &word, sizeof(word));
	error = events_message_read(&said, &read, EVENT_USDT, "/bin/a", other, nr);
	check(error == -EBADMSG && !read.nr && !read.events, "%d, %zu events", error, read.nr);
	free(other);
}

int main(void)
{
	static struct events_message none, failed = { -ENOENT, { "because" }, {} }, said;
	const struct events found = { .events = events, .nr = 2, .nr_left_out = 3 };
	size_t nr, accepted = 0;
	size_t first; /* where the first event is: a failure has the head alone */
	char *message, *of_failure;
	struct events read;

	if (!check(events_message_write(&none, &found, &message, &nr)) ||
	    !check(events_message_write(&failed, &found, &of_failure, &first)))
		return check_done();
	check(events_message_bytes(message, nr) == nr && events_message_bytes(message, 100) == 0);
	check(!events_message_read(&said, &read, EVENT_USDT, "/bin/a", message, nr));
	check(!said.error);
	check_same(&read);
	events_free(&read);
	for (size_t cut = 0; cut < nr; cut++)
		accepted += events_message_read(&said, &read, EVENT_USDT, "/bin/a", message, cut) !=
			    -EBADMSG;
	check(!accepted, "%zu of %zu that were cut", accepted, nr);

	check_refused(message, nr, 8, 3);                   /* there are not so many */
	check_refused(message, nr, 8, UINT64_MAX);          /* events */
	check_refused(message, nr, 32, 1);                  /* an error is negative, */
	check_refused(message, nr, 32, (uint32_t)-ENOENT);  /* and has none */
	check_refused(message, nr, first + 16, UINT64_MAX); /* exits */
	check_refused(message, nr, first + 16, 100);
	check_refused(message, nr, first + 32, UINT64_MAX); /* the name */
	check_refused(message, nr, first + 40, (uint64_t)1 << 30);

	/* only a probe has a semaphore, where the kernel writes */
	check(!events_message_read(&said, &read, EVENT_USER_FUNCTION, "/bin/a", message, nr));
	check(read.nr == 2 && !read.events[1].semaphore_offset);
	events_free(&read);

	check(!events_message_read(&said, &read, EVENT_USDT, "/bin/a", of_failure, first));
	check(said.error == -ENOENT && !strcmp(said.problem.text, "because") && !read.nr);
	free(of_failure);
	free(message);
	return check_done();
}
