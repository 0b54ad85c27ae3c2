// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The format of perf script, which has each sample: its size is bounded, and the stacks keep their
 * shares.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "report/stack_report.h"

#define NR_STACKS 100

static const struct measure measure = { .value = measure_count, .counted = "events" };

/* how many samples of the thread there are */
static size_t count(const char *text, const char *thread)
{
	size_t nr = 0;

	for (const char *at = text; (at = strstr(at, thread)); at++)
		nr++;
	return nr;
}

int main(void)
{
	struct {
		struct stack_frames frames;
		uint64_t frame[10];
	} user = { .frames.nr = 10 };
	static struct stack_entry entries[NR_STACKS];
	struct stack_summary summary = { .measure = &measure };
	uint64_t left_out = 0, all = 0;
	size_t bytes, hot, cold;
	char *text;
	struct stack_writer w = { .out = open_memstream(&text, &bytes),
				  .max_bytes = 1 << 20,
				  .left_out = &left_out };
	FILE *full;
	int error;

	for (size_t i = 0; i < 10; i++)
		user.frames.frames[i] = FRAME_ADDRESS | i << 4;
	for (size_t i = 0; i < NR_STACKS; i++) {
		entries[i] = (struct stack_entry){
			.key.pid = i, .key.comm = "cold", .value.count = 1000, .user = &user.frames
		};
		if (!i) {
			strcpy(entries[i].key.comm, "hot");
			entries[i].value.count = 900000;
		}
		all += entries[i].value.count;
	}
	error = stack_report_perf(&w, &summary, entries, NR_STACKS);
	fclose(w.out);
	hot = count(text, "hot ");
	cold = count(text, "cold ");
	check(!error && bytes < 2 << 20, "%zu bytes", bytes);
	check(hot + cold + left_out == all && hot > 1000, "%zu and %zu samples, and %llu left out",
	      hot, cold, (unsigned long long)left_out);
	check(hot > 8.9 * cold && hot < 9.3 * cold, "a ten times hotter stack is that");
	free(text);

	w.out = open_memstream(&text, &bytes);
	w.max_bytes = 1ULL << 40;
	left_out = 0;
	entries[0].value.count = 5000;
	error = stack_report_perf(&w, &summary, entries, 2);
	fclose(w.out);
	check(!error && count(text, "hot ") == 5000 && count(text, "cold ") == 1000 && !left_out,
	      "with room, all of them");
	free(text);

	full = fopen("/dev/full", "w");
	w.out = full;
	w.max_bytes = 0;
	entries[0].value.count = 1ULL << 50;
	check(!stack_report_perf(&w, &summary, entries, 1) && ferror(full), "a full disk ends it");
	fclose(full);
	return check_done();
}
