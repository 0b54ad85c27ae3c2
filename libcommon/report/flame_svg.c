// SPDX-License-Identifier: GPL-2.0-or-later
/* The SVG picture, which is complete without scripts. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistr.h>

#include "page/controls.css.h"
#include "page/flame-svg.js.h"
#include "page/flame.css.h"
#include "page/flame.js.h"
#include "report/flame_data.h"
#include "report/flame_layout.h"
#include "report/flame_page.h"
#include "report/page_text.h"

#define WIDTH           1180 /* px of the root; 10 more at each side */
#define ROW             17
#define LINE            17   /* of the head */
#define NARROWEST       0.5  /* px; narrower frames are drawn as one */
#define CHARACTER       7.23 /* px, see flame.js */
#define CONTROLS        60   /* px that the script needs for its controls */
#define LINE_CHARACTERS 140

static const char *const kind_names[NR_FRAME_KINDS] = {
	[KIND_THREAD] = "thread",
	[KIND_USER] = "user",
	[KIND_BY_FP] = "user, by frame pointer",
	[KIND_JIT] = "JIT",
	[KIND_RUNTIME] = "Python, Java",
	[KIND_INLINED] = "inlined",
	[KIND_KERNEL] = "kernel",
	[KIND_OFF_CPU] = "kernel, off the CPU",
	[KIND_LEFT_OUT] = "left out or too narrow",
};

/* ---- the head: lines of text, and what the colours mean ---- */

/* the beginning of the text, of so many characters at most */
static void put_cut(FILE *out, const char *text, size_t max)
{
	char *clean = page_text(text), *cut = NULL;
	const char *shown = clean ? clean : "";
	const uint8_t *at = (uint8_t *)clean;
	size_t bytes = 0;
	ucs4_t c;

	if (clean && u8_mbsnlen(at, strlen(clean)) > max) {
		for (size_t i = 0; i + 1 < max; i++)
			bytes += u8_mbtouc(&c, at + bytes, strlen(clean + bytes));
		if (asprintf(&cut, "%.*s…", (int)bytes, clean) < 0)
			cut = NULL;
	}
	page_put_xml(out, cut ? cut : shown);
	free(cut);
	free(clean);
}

static void put_line(FILE *out, const char *class, int y, const char *text)
{
	fprintf(out, "<text class=\"%s\" x=\"10\" y=\"%d\"><title>", class, y);
	page_put_xml(out, text);
	fputs("</title>", out);
	put_cut(out, text, LINE_CHARACTERS);
	fputs("</text>\n", out);
}

/* Returns where the next line is. */
static int put_notes(FILE *out, const char *notes, int y)
{
	char *copy = strdup(notes), *at = copy, *line;

	while (copy && (line = strsep(&at, "\n"))) {
		if (!*line)
			continue;
		put_line(out, "words", y, line);
		y += LINE;
	}
	free(copy);
	return y;
}

static void put_legend(FILE *out, const struct flame_tree *tree, int y)
{
	bool used[NR_FRAME_KINDS] = {};
	int x = 10;

	for (size_t i = 1; i < tree->nr; i++)
		used[labels_get(tree->labels, tree->nodes[i].label)->kind] = true;
	for (int kind = 0; kind < NR_FRAME_KINDS; kind++) {
		if (!used[kind])
			continue;
		fprintf(out,
			"<rect class=\"%c\" x=\"%d\" y=\"%d\" width=\"12\" height=\"12\"/>"
			"<text class=\"words\" x=\"%d\" y=\"%d\">%s</text>\n",
			frame_kind_letters[kind], x, y - 10, x + 16, y, kind_names[kind]);
		x += 40 + 7 * strlen(kind_names[kind]);
	}
}

static int put_head(FILE *out, const struct flame_page *page)
{
	int y = 24;

	put_line(out, "words title", y, page->title);
	y += LINE;
	if (page->when) {
		put_line(out, "words", y, page->when);
		y += LINE;
	}
	if (page->notes)
		y = put_notes(out, page->notes, y);
	if (page->compared)
		put_line(out, "words", y, "red: more than before, blue: less");
	else
		put_legend(out, page->tree, y);
	y += LINE + 5;
	fprintf(out,
		"<text id=\"hint\" class=\"words\" x=\"10\" y=\"%d\">In a browser, click to zoom, and search.</text>\n",
		y);
	return y + CONTROLS - LINE;
}

/* ---- the frames ---- */

static void put_value(FILE *out, const struct flame_page *page, double value, double whole)
{
	if (!strcmp(page->unit, "ns"))
		fprintf(out, ": %.6f s", value / 1e9);
	else
		fprintf(out, ": %.0f %s", value, page->unit);
	fprintf(out, ", %.2f %%", whole ? 100.0 * value / whole : 0.0);
}

/*
 * red: more than before, blue: less; the deeper the larger its share of the whole is, as in
 * flame.js
 */
static void put_difference(FILE *out, const double value[NR_FLAME_SIDES],
			   const double whole[NR_FLAME_SIDES])
{
	static const int more[] = { 226, 74, 51 }, less[] = { 59, 125, 221 };
	double change = value[FLAME_NOW] - value[FLAME_BEFORE];
	double most = fmax(fmax(whole[FLAME_NOW], whole[FLAME_BEFORE]), 1);
	double strength = fmin(1, sqrt(fabs(change) / most) * 1.6);
	const int *full = change > 0 ? more : less;

	fprintf(out, " style=\"fill:#%02lx%02lx%02lx\"", lround(205 + (full[0] - 205) * strength),
		lround(205 + (full[1] - 205) * strength), lround(205 + (full[2] - 205) * strength));
}

struct picture {
	FILE *out;
	const struct flame_page *page;
	struct flame_box *boxes;
	size_t nr;
	uint32_t most; /* the depth of the deepest box */
};

static void put_box(const struct picture *p, const struct flame_box *box)
{
	const struct flame_tree *tree = p->page->tree;
	const struct label *label =
		box->depth ? labels_get(tree->labels, tree->nodes[box->node].label) : NULL;
	enum frame_kind kind = label ? label->kind : KIND_THREAD;
	const char *name = label ? label->text : "all";
	double width = box->width * WIDTH;
	char many[32];

	if (box->nr > 1) {
		snprintf(many, sizeof(many), "%" PRIu32 " functions", box->nr);
		name = many;
		kind = KIND_LEFT_OUT;
	}
	fprintf(p->out, "<g class=\"%c s%u\" transform=\"translate(%.2f %u)\"><title>",
		frame_kind_letters[kind], (unsigned int)strlen(name) % 4, box->x * WIDTH,
		(p->most - box->depth) * ROW);
	page_put_xml(p->out, name);
	put_value(p->out, p->page, box->value[FLAME_NOW], p->boxes[0].value[FLAME_NOW]);
	fprintf(p->out, "</title><rect width=\"%.2f\" height=\"%d\"", width, ROW - 1);
	if (p->page->compared)
		put_difference(p->out, box->value, p->boxes[0].value);
	fputs("/>", p->out);
	if (width > 4 * CHARACTER) {
		fprintf(p->out, "<text x=\"3\" y=\"%d\">", ROW - 5);
		put_cut(p->out, name, (width - 5) / CHARACTER);
		fputs("</text>", p->out);
	}
	fputs("</g>\n", p->out);
}

static uint32_t deepest(const struct flame_box *boxes, size_t nr)
{
	uint32_t most = 0;

	for (size_t i = 0; i < nr; i++)
		if (boxes[i].depth > most)
			most = boxes[i].depth;
	return most;
}

/* the head as text, and where the frames begin below it; NULL without memory */
static char *head_of(const struct flame_page *page, int *top)
{
	char *head = NULL;
	size_t bytes;
	FILE *out = open_memstream(&head, &bytes);

	if (!out)
		return NULL;
	*top = put_head(out, page);
	return fclose(out) ? NULL : head;
}

static void put_picture(const struct picture *p, const char *head, int top)
{
	unsigned int height = top + (p->most + 1) * ROW + 20;

	fprintf(p->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\">\n"
		"<style><![CDATA[\n%s%s]]></style>\n%s"
		"<g id=\"frames\" class=\"flame%s\" transform=\"translate(10 %d)\">\n",
		WIDTH + 20, height, WIDTH + 20, height, page_flame_css, page_controls_css, head,
		p->page->compared ? " compared" : "", top);
	for (size_t i = 0; i < p->nr; i++)
		put_box(p, &p->boxes[i]);
	fputs("</g>\n<script id=\"data\" type=\"application/json\">", p->out);
	flame_data_put(p->out, p->page);
	fprintf(p->out, "</script>\n<script><![CDATA[\n%s%s]]></script>\n</svg>\n", page_flame_js,
		page_flame_svg_js);
}

int flame_page_svg(FILE *out, const struct flame_page *page)
{
	struct picture p = { .out = out, .page = page };
	int top = 0, error = flame_data_prepare(page->tree);
	char *head = error ? NULL : head_of(page, &top);

	if (head)
		p.boxes = flame_layout(page->tree, NARROWEST / WIDTH, &p.nr);
	if (p.boxes) {
		p.most = deepest(p.boxes, p.nr);
		put_picture(&p, head, top);
	}
	error = p.boxes ? 0 : -ENOMEM;
	free(p.boxes);
	free(head);
	return error;
}
