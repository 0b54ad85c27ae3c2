/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A flame graph as the data that the scripts in report/page/ draw. */
#ifndef EHPERF_REPORT_FLAME_DATA_H
#define EHPERF_REPORT_FLAME_DATA_H

#include <stdio.h>

#include "report/flame_page.h"

/* Leaves out what a page has no room for, and makes it visible. 0 or -ENOMEM */
int flame_data_prepare(struct flame_tree *tree);
/* Prints one object of JSON, fit for a <script> of XML or HTML. */
void flame_data_put(FILE *out, const struct flame_page *page);

#endif
