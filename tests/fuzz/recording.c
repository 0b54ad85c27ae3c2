// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording of any bytes: it is read into a report that each format can be made of, or something
 * is said to be wrong.
 */
#include <errno.h>
#include <unistd.h>

#include "fuzz.h"
#include "report/recording.h"
#include "report/stack_report.h"
#include "wallprof/wall_recording.h"

#define MAX_PERF 10000 /* samples, which .perf prints one by one */

static void write_all(const struct recording *r)
{
	static const char *const endings[] = { ".txt",  ".folded", ".jsonl", ".svg",
					       ".html", ".pb.gz",  ".json",  ".perf" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		char name[32] = "x";
		const struct stack_format *format = stack_format_of(strcat(name, endings[i]));
		FILE *out = tmpfile();
		struct stack_writer writer = recording_writer(r, out);

		must(format && out, "a format and a file");
		if (format->write != stack_report_perf || r->measure.is_time ||
		    r->summary.sum.count < MAX_PERF)
			must(!format->write(&writer, &r->summary, r->entries, r->nr),
			     "it is written");
		fclose(out);
	}
}

static int read_timeline(struct recording *r)
{
	int (*const reports[])(const struct wall *) = {
		wall_text, wall_folded,     wall_json,     wall_html,
		wall_svg,  wall_speedscope, wall_perfetto,
	};
	struct wall_recording *read;
	struct wall wall = {};
	int error = wall_recording_read(&read, &wall, r);

	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]) && !error; i++) {
		wall.writer.out = tmpfile();
		must(wall.writer.out && !reports[i](&wall), "it is written");
		fclose(wall.writer.out);
	}
	wall_recording_free(read);
	return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	FILE *in = fmemopen((void *)bytes, size, "r");
	struct recording r;
	int error;

	if (!in)
		return 0; /* no byte at all */
	error = recording_open(&r, in);
	if (!error && r.report && !strcmp(r.report, "stacks")) {
		error = recording_read_stacks(&r);
		if (!error)
			write_all(&r);
	} else if (!error && r.report && !strcmp(r.report, "timeline")) {
		error = read_timeline(&r);
	}
	must(error != -EBADMSG || *r.lines.wrong, "it is said what is wrong");
	must(error || *r.lines.wrong || r.lines.number, "lines are counted");
	recording_free(&r);
	fclose(in);
	return 0;
}
