// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks as pages for a browser. */
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>

#include "report/flame_page.h"
#include "report/stack_labels.h"
#include "report/stack_report.h"

/* "2026-11-22 08:00:00 +0100 on HOST, Linux 6.1.0"; NULL without memory */
static char *when_and_where(const struct stack_summary *summary)
{
	time_t seconds = summary->started_ns / 1000000000;
	struct utsname machine;
	struct tm local;
	char when[64], *text;

	if (uname(&machine) ||
	    !strftime(when, sizeof(when), "%F %T %z", localtime_r(&seconds, &local)))
		return NULL;
	return asprintf(&text, "%s on %s, Linux %s", when,
			summary->host ? summary->host : machine.nodename,
			summary->kernel ? summary->kernel : machine.release) < 0
		       ? NULL
		       : text;
}

static int write_page(const struct stack_writer *w, const struct stack_summary *summary,
		      const struct stack_entry *entries, size_t nr, bool by_thread,
		      int (*write)(FILE *out, const struct flame_page *page))
{
	struct flame_tree tree;
	char *when = when_and_where(summary), *notes = stack_summary_text(summary);
	struct flame_page page = {
		.title = summary->command_line,
		.when = when,
		.notes = notes,
		.unit = summary->measure->is_time ? "ns" : measure_unit(summary->measure),
		.processes = w->processes,
		.tree = &tree,
	};
	int error = stack_labels_tree(&tree, w, summary->measure, entries, nr, by_thread);

	if (!error) {
		error = write(w->out, &page);
		flame_tree_free(&tree);
	}
	free(when);
	free(notes);
	return error;
}

int stack_report_svg(const struct stack_writer *w, const struct stack_summary *summary,
		     const struct stack_entry *entries, size_t nr)
{
	return write_page(w, summary, entries, nr, false, flame_page_svg);
}

int stack_report_html(const struct stack_writer *w, const struct stack_summary *summary,
		      const struct stack_entry *entries, size_t nr)
{
	return write_page(w, summary, entries, nr, true, flame_page_html);
}
