/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flame graphs as single files for a browser: an SVG picture, which is also shown without scripts,
 * and an HTML page. Names are escaped; bytes that are not UTF-8 become U+FFFD.
 */
#ifndef EHPERF_REPORT_FLAME_PAGE_H
#define EHPERF_REPORT_FLAME_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/flame_tree.h"
#include "report/process_notes.h"

struct flame_page {
	const char *title; /* such as the command line */
	const char *when;  /* "2026-11-22 08:00:00 UTC on HOST"; NULL: not known */
	const char *notes; /* lines: the summary and the losses; NULL: none */
	const char *unit;  /* "samples"; "ns" is shown as a time */
	const struct process_notes *processes; /* NULL: nothing is known of them */
	bool compared;                         /* values of FLAME_BEFORE are there, too */
	struct flame_tree *tree;               /* is pruned to what a page has room for */
};

/* most nodes of a page, so that it opens at once */
#define FLAME_PAGE_NODES 200000

/* 0 or -ENOMEM; errors of `out` itself are left to ferror() */
int flame_page_svg(FILE *out, const struct flame_page *page);
int flame_page_html(FILE *out, const struct flame_page *page);

#endif
