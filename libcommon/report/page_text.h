/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints untrusted names in XML, HTML and scripts, so that they are always text. */
#ifndef EHPERF_REPORT_PAGE_TEXT_H
#define EHPERF_REPORT_PAGE_TEXT_H

#include <json-c/json.h>
#include <stdio.h>

/*
 * A copy in valid UTF-8 of characters that is_harmless() (report/escape.h) allows, "\u{1b}" for
 * others, and U+FFFD for what is no UTF-8. NULL without memory; the caller frees it.
 */
char *page_text(const char *text);

/* Prints text, cleaned as above, as the content of an element or of an attribute of XML or HTML. */
void page_put_xml(FILE *out, const char *text);

/* a string of JSON, cleaned as above */
struct json_object *page_json(const char *text);
/* Prints JSON as the content of a <script> of XML or HTML, without < > &, and frees it. */
void page_put_json(FILE *out, struct json_object *object);

#endif
