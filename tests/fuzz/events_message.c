// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the tool reads of a child that has read a probed file, and may have been taken over: a
 * message whose bytes the input changes, three bytes for each (where, and what), or that it cuts.
 */
#include "fuzz.h"
#include "process/events_message.h"

static struct function_exit exits[] = { { 0x1000, false }, { 0x1010, true } };
static struct event events[] = {
	{ .name = "u:/bin/a:f", .path = "/bin/a", .file_offset = 0x1000, .arguments = "" },
	{ .name = "u:/bin/a:g",
	  .path = "/bin/a",
	  .file_offset = 0x1008,
	  .arguments = "8@%rdi",
	  .exits = { exits, 2, 2, true } },
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct events_message none, said;
	const struct events found = { .events = events, .nr = 2 };
	struct events read;
	char *message, *exact;
	size_t nr, all;

	must(events_message_write(&none, &found, &message, &nr), "memory");
	for (; size >= 3; bytes += 3, size -= 3) {
		/* most of it is the problem's text */
		size_t at = bytes[0] < 0x80 ? bytes[0] : nr - (bytes[0] - 0x7f) * 2 + bytes[1] % 2;

		if (at < nr)
			message[at] = bytes[2];
	}
	if (size == 2)
		nr = (bytes[0] << 8 | bytes[1]) % nr;
	exact = malloc(nr);
	must(exact != NULL, "memory");
	memcpy(exact, message, nr);
	free(message);
	all = events_message_bytes(exact, nr);
	must(!all || (all >= nr && all <= EVENTS_MESSAGE_MAX), "a number of bytes to read");
	must(!events_message_read(&said, &read, EVENT_USER_FUNCTION, "/bin/a", exact, nr) ||
		     !read.nr,
	     "with an error, no events");
	for (size_t i = 0; i < read.nr; i++)
		must(read.events[i].name && read.events[i].path && read.events[i].arguments,
		     "all parts");
	events_free(&read);
	free(exact);
	return 0;
}
