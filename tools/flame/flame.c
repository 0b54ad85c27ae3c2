// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flame: draws folded stacks as a flame graph, or the difference of two files; converts a recording
 * to each other format.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/unnamed_file.h"
#include "flame/folded.h"
#include "report/counted.h"
#include "report/flame_page.h"
#include "report/idle.h"
#include "report/recording.h"
#include "report/stack_report.h"
#include "run/cli.h"
#include "run/output_file.h"
#include "wallprof/wall_recording.h"

enum { OPTION_TITLE = 0x100, OPTION_DIFF, OPTION_UNIT, OPTION_NORMALIZE, OPTION_IDLE };

struct options {
	const char *output; /* NULL: standard output */
	const char *title, *unit;
	uint64_t unit_ns; /* 0: not a time */
	bool diff, normalize, html, idle;
	bool picture; /* SVG or HTML */
	const char *files[NR_FLAME_SIDES];
	int nr_files;
};

static const char doc[] =
	"Draw a flame graph for a browser from folded stacks, one \"root;...;leaf COUNT\" a line. Read FILE or standard "
	"input, and write to standard output or to -o's file. With --diff, show what has grown and shrunk. If FILE is a "
	"tool's recording (-o x.jsonl), convert it to any format that the tool can write.";

static const struct argp_option option_list[] = {
	{ "output", 'o', "FILE", 0, "write to this file: .svg or .html; standard output gets SVG",
	  0 },
	{ "title", OPTION_TITLE, "TEXT", 0, "the picture's title", 0 },
	{ "unit", OPTION_UNIT, "UNIT", 0,
	  "unit of the counts: ns, us, ms, or a noun; default samples", 0 },
	{ "diff", OPTION_DIFF, NULL, 0, "compare two files: BEFORE AFTER", 0 },
	{ "idle", OPTION_IDLE, NULL, 0, "of a recording: show idle threads' waits, too", 0 },
	{ "normalize", OPTION_NORMALIZE, NULL, 0, "with --diff: scale both to the same sum", 0 },
	{},
};

/* a format of wallprof's own */
static const struct wall_format *wall_format_of(const char *name)
{
	for (size_t i = 0; i < NR_WALL_FORMATS; i++)
		if (file_name_ends_in(name, wall_formats[i].ending))
			return &wall_formats[i];
	return NULL;
}

static void set_output(struct argp_state *state, struct options *o, const char *name)
{
	o->html = file_name_ends_in(name, ".html");
	o->output = cli_output_name(name);
	o->picture = !o->output || o->html || file_name_ends_in(name, ".svg");
	if (!o->picture && (!stack_format_of(name) || stack_format_of(name) == stack_format_json) &&
	    !wall_format_of(name))
		argp_failure(
			state, EXIT_USAGE, 0,
			"the output file's name must end in .svg or .html, for a recording also in .txt, .folded, .pb.gz, .json, "
			".perf or .pftrace: '%s'",
			name);
}

static void set_unit(struct options *o, const char *unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} times[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 } };

	o->unit = unit;
	o->unit_ns = 0;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (!strcmp(unit, times[i].name)) {
			o->unit = "ns";
			o->unit_ns = times[i].ns;
		}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'o':
		set_output(state, o, arg);
		break;
	case OPTION_TITLE:
		o->title = arg;
		break;
	case OPTION_UNIT:
		set_unit(o, arg);
		break;
	case OPTION_DIFF:
		o->diff = true;
		break;
	case OPTION_IDLE:
		o->idle = true;
		break;
	case OPTION_NORMALIZE:
		o->normalize = true;
		break;
	case ARGP_KEY_ARG:
		if (o->nr_files == NR_FLAME_SIDES)
			argp_failure(state, EXIT_USAGE, 0, "too many files: '%s'", arg);
		else
			o->files[o->nr_files++] = arg;
		break;
	case ARGP_KEY_END:
		if (o->diff && o->nr_files != 2)
			argp_failure(state, EXIT_USAGE, 0, "--diff takes two files: BEFORE AFTER");
		if (!o->diff && o->nr_files > 1)
			argp_failure(state, EXIT_USAGE, 0, "one file only, or --diff");
		if (o->normalize && !o->diff)
			argp_failure(state, EXIT_USAGE, 0, "--normalize goes with --diff");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static FILE *open_input(const char *name)
{
	FILE *in = name && strcmp(name, "-") ? fopen(name, "re") : stdin;

	if (!in)
		cli_die(EXIT_FAILURE, "cannot open '%s': %s", name, strerror(errno));
	return in;
}

/* Does it begin as JSON? A frame, such as PHP's {main}, may begin with a brace, too. */
static bool is_recording(FILE *in)
{
	int brace = getc(in), quote = brace == '{' ? getc(in) : EOF;

	ungetc(quote, in);
	ungetc(brace, in);
	return quote == '"';
}

static void read_stacks(const struct options *o, FILE *in, const char *name,
			struct flame_tree *tree, enum flame_side side, struct folded_count *count)
{
	int error;

	if (is_recording(in))
		cli_die(EXIT_FAILURE,
			"'%s' is a recording: --diff compares folded stacks; convert it with flame -o x.folded",
			name ? name : "standard input");
	*count = (struct folded_count){};
	error = folded_read(in, tree, side, o->unit_ns ? o->unit_ns : 1, count);
	if (error)
		cli_die(EXIT_FAILURE, "cannot read '%s': %s", name ? name : "standard input",
			strerror(-error));
	if (in != stdin)
		fclose(in);
	if (count->bad_lines)
		cli_warn("'%s': %s left out: no \"stack COUNT\"", name ? name : "standard input",
			 counted(count->bad_lines, "lines").text);
	if (!count->value)
		cli_die(EXIT_FAILURE, "'%s' has no stacks with a count",
			name ? name : "standard input");
}

/* gives the values before the sum of those now */
static void normalize(struct flame_tree *tree, const struct folded_count counts[NR_FLAME_SIDES])
{
	double factor = (double)counts[FLAME_NOW].value / counts[FLAME_BEFORE].value;

	for (size_t i = 0; i < tree->nr; i++) {
		tree->nodes[i].self[FLAME_BEFORE] *= factor;
		tree->nodes[i].left_out[FLAME_BEFORE] *= factor;
	}
}

/* what the picture says of its data */
static char *notes_of(const struct options *o, const struct folded_count counts[NR_FLAME_SIDES])
{
	char *notes;
	int bytes;

	if (o->diff)
		bytes = asprintf(&notes,
				 "before: %" PRIu64 " stacks of %s; after: %" PRIu64
				 " stacks of %s%s",
				 counts[FLAME_BEFORE].stacks, o->files[0], counts[FLAME_NOW].stacks,
				 o->files[1], o->normalize ? "; scaled to the same sum" : "");
	else
		bytes = asprintf(&notes, "%" PRIu64 " stacks%s%s", counts[FLAME_NOW].stacks,
				 o->files[0] ? " of " : "", o->files[0] ? o->files[0] : "");
	cli_check(bytes < 0 ? -ENOMEM : 0, "draw");
	return notes;
}

/* ---- recordings ---- */

#define MAX_PERF_SAMPLES 100000000 /* each is printed by itself */

/* the output file's name, by whose ending the format is known; a picture goes to standard output */
static const char *output_name(const struct options *o)
{
	return o->output ? o->output : "stdout.svg";
}

static int write_stacks(const struct options *o, struct recording *r, FILE *out)
{
	const struct stack_format *format = stack_format_of(output_name(o));
	struct stack_writer writer = recording_writer(r, out);

	if (!format)
		cli_die(EXIT_USAGE, "a recording of stacks has no timeline: '%s'", o->output);
	if (format->write == stack_report_perf && !r->measure.is_time && !r->measure.sum_unit &&
	    r->summary.sum.count > MAX_PERF_SAMPLES)
		cli_die(EXIT_FAILURE, ".perf has a line for each sample: %" PRIu64 " are too many",
			(uint64_t)r->summary.sum.count);
	return format->write(&writer, &r->summary, r->entries, idle_to_end(r->entries, r->nr));
}

static int write_timeline(const struct options *o, struct wall *wall, FILE *out)
{
	const char *name = output_name(o);
	const struct wall_format *format = wall_format_of(name);
	const struct stack_format *of_stacks = stack_format_of(name);

	wall->writer.out = out;
	if (format)
		return format->print(wall);
	if (of_stacks == stack_format_text)
		return wall_text(wall);
	if (of_stacks == stack_format_folded)
		return wall_folded(wall);
	cli_die(EXIT_USAGE, "wallprof has no such format: '%s'", name);
}

/* A timeline is read several times: a pipe's content goes to a file without a name. */
static FILE *seekable(FILE *in)
{
	char bytes[65536];
	FILE *copy;
	size_t nr;

	if (lseek(fileno(in), 0, SEEK_CUR) >= 0)
		return in;
	copy = unnamed_file();
	cli_check(copy ? 0 : -errno, "copy the recording to a file");
	while ((nr = fread(bytes, 1, sizeof(bytes), in)))
		if (fwrite(bytes, 1, nr, copy) != nr)
			cli_check(-errno, "copy the recording to a file");
	cli_check(ferror(in) || fflush(copy) ? -errno : 0, "copy the recording to a file");
	rewind(copy);
	return copy;
}

static void check_recording(int error, const struct recording *r, const char *name)
{
	if (error == -EBADMSG)
		cli_die(EXIT_FAILURE, "'%s', line %" PRIu64 ": %s", name, r->lines.number,
			r->lines.wrong);
	cli_check(error, "read the recording");
}

static void finish(const struct options *o, FILE *out)
{
	cli_finish(out, o->output ? o->output : "standard output");
	if (!output_file_publish(out))
		exit(EXIT_FAILURE);
}

/*
 * Makes the format that -o asks for. What is in it is the business of who may read the recording.
 */
static void convert(const struct options *o, FILE *in)
{
	const char *name = o->files[0] ? o->files[0] : "standard input";
	struct wall_recording *read = NULL;
	struct wall wall = {};
	struct recording r;
	FILE *out = stdout;
	bool timeline;
	int error;

	check_recording(recording_open(&r, seekable(in)), &r, name);
	r.idle_as_others = o->idle;
	if (!r.report)
		cli_die(EXIT_FAILURE,
			"'%s' is a recording of %s, which cannot be converted to other formats",
			name, r.summary.tool);
	if (o->title)
		r.summary.command_line = o->title;
	timeline = !strcmp(r.report, "timeline");
	check_recording(timeline ? wall_recording_read(&read, &wall, &r)
				 : recording_read_stacks(&r),
			&r, name);
	if (o->output)
		out = output_file_open(o->output, 0600, 0);
	error = timeline ? write_timeline(o, &wall, out) : write_stacks(o, &r, out);
	cli_check(ferror(out) ? 0 : error, "write the report");
	finish(o, out);
	if (!o->idle)
		idle_print(stderr, program_invocation_short_name, r.summary.idle_threads,
			   r.summary.idle_ns);
	wall_recording_free(read);
	recording_free(&r);
}

int main(int argc, char **argv)
{
	static const struct argp_child help[] = { { &cli_help_argp }, {} };
	const struct argp argp = { option_list, parse, "[FILE]\n--diff BEFORE AFTER", doc, help };
	struct options o = { .title = NULL, .unit = "samples", .picture = true };
	struct folded_count counts[NR_FLAME_SIDES] = {};
	struct flame_tree tree;
	struct flame_page page = { .tree = &tree };
	FILE *out = stdout, *in;

	cli_init();
	argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &o);
	in = o.diff ? NULL : open_input(o.files[0]);
	if (in && is_recording(in)) {
		convert(&o, in);
		return EXIT_SUCCESS;
	}
	if (!o.picture)
		cli_die(EXIT_USAGE, "folded stacks can be drawn as .svg and .html only: '%s'",
			o.output);
	cli_check(flame_tree_init(&tree), "draw");
	if (o.diff)
		read_stacks(&o, open_input(o.files[0]), o.files[0], &tree, FLAME_BEFORE,
			    &counts[FLAME_BEFORE]);
	read_stacks(&o, in ? in : open_input(o.files[1]), o.files[o.diff], &tree, FLAME_NOW,
		    &counts[FLAME_NOW]);
	if (o.normalize)
		normalize(&tree, counts);
	if (o.output)
		out = output_file_open(o.output, 0666, 0);

	page.title = o.title ? o.title : o.diff ? "flame graph: what has changed" : "flame graph";
	page.notes = notes_of(&o, counts);
	page.unit = o.unit;
	page.compared = o.diff;
	cli_check((o.html ? flame_page_html : flame_page_svg)(out, &page), "draw");
	finish(&o, out);
	flame_tree_free(&tree);
	return EXIT_SUCCESS;
}
