// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/run_report.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"
#include "run/cli.h"
#include "run/output_file.h"

/* where a number can stand: before the ending by which the format is known */
static size_t before_ending(const char *name)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');

	if (dot && !strcmp(dot, ".gz"))	/* .pb.gz */
		dot = memrchr(base, '.', dot - base);
	return dot ? (size_t)(dot - name) : strlen(name);
}

/* Intervals that began at the same time, as far as the name tells it, have numbers from 2 on. */
static void tell_apart(struct run *run, char name[PATH_MAX])
{
	static struct {
		char name[PATH_MAX];
		unsigned nr;
	} before[MAX_RUN_OUTPUTS], *last;
	size_t at = before_ending(name);
	char numbered[PATH_MAX];

	last = &before[run->output];
	last->nr = strcmp(name, last->name) ? 1 : last->nr + 1;
	memcpy(last->name, name, strlen(name) + 1);
	if (last->nr == 1)
		return;
	if (snprintf(numbered, sizeof(numbered), "%.*s-%u%s", (int)at, name, last->nr, name + at) >= (int)sizeof(numbered))
		cli_die(EXIT_FAILURE, "the name of the output file is too long: '%s'", run->options->outputs[run->output].name);
	memcpy(name, numbered, sizeof(numbered));
}

void run_report_begin(struct run *run, time_t began)
{
	const struct run_output *output = &run->options->outputs[run->output];
	char name[PATH_MAX];
	struct tm local;

	if (!run_reports_apart(run))
		return;
	if (!strftime(name, sizeof(name), output->name, localtime_r(&began, &local)))
		cli_die(EXIT_FAILURE, "the name of the output file is too long: '%s'", output->name);
	tell_apart(run, name);
	fclose(run->out);
	run->out = output_file_new(name, RUN_FILE_MODE);
	if (output->json)
		json_print(run->out, json_object_get(run->start));
}

void run_report_end(struct run *run, bool last)
{
	bool apart = run_reports_apart(run);

	if (apart || last)
		run_finish_output(run);
	else
		run_flush_output(run);
	if (apart)
		run_report_to_none(run);
}
