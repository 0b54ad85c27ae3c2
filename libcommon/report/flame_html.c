// SPDX-License-Identifier: GPL-2.0-or-later
/* The HTML page, whose elements are made by its script. */
#include "page/controls.css.h"
#include "page/flame-html.css.h"
#include "page/flame-html.js.h"
#include "page/flame.css.h"
#include "page/flame.js.h"
#include "report/flame_data.h"
#include "report/flame_page.h"
#include "report/page_text.h"

int flame_page_html(FILE *out, const struct flame_page *page)
{
	int error = flame_data_prepare(page->tree);

	if (error)
		return error;
	/* the policy: nothing from elsewhere, whatever a name says */
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
	      out);
	page_put_xml(out, page->title);
	fprintf(out,
		"</title>\n<style>\n%s%s%s</style>\n</head>\n<body>\n"
		"<noscript>This page needs JavaScript; an .svg file does not.</noscript>\n"
		"<script id=\"data\" type=\"application/json\">",
		page_flame_css, page_controls_css, page_flame_html_css);
	flame_data_put(out, page);
	fprintf(out,
		"</script>\n<script>\n%s%s(data => flamePage(data, FlameTree.of(data)))"
		"(JSON.parse(document.getElementById('data').textContent));\n</script>\n</body>\n</html>\n",
		page_flame_js, page_flame_html_js);
	return 0;
}
