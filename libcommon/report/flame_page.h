/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flame graphs as files for a browser, each complete in itself: an SVG picture, which is there without
 * scripts, too, and an HTML page. Names are escaped; what is no UTF-8 becomes U+FFFD.
 */
#ifndef EHPERF_REPORT_FLAME_PAGE_H
#define EHPERF_REPORT_FLAME_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/flame_tree.h"
#include "report/process_notes.h"

struct flame_page {
	const char *title;		/* such as the command line */
	const char *when;		/* "2026-11-22 08:00:00 UTC on HOST"; NULL: not known */
	const char *notes;		/* lines: the summary and the losses; NULL: none */
	const char *unit;		/* "samples"; "ns" is shown as a time */
	const struct process_notes *processes;	/* NULL: nothing is known of them */
	bool compared;			/* values of FLAME_BEFORE are there, too */
	struct flame_tree *tree;	/* nodes are left out of it that a page has no room for */
};

/* nodes that a page has: so many that it opens at once */
#define FLAME_PAGE_NODES 200000

/* 0 or -ENOMEM; errors of `out` itself are left to ferror() */
int flame_page_svg(FILE *out, const struct flame_page *page);
int flame_page_html(FILE *out, const struct flame_page *page);

#endif
