// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks as text, multi-line or folded. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/escape.h"
#include "report/merged_texts.h"
#include "report/stack_report.h"
#include "report/stack_writer.h"
#include "stacks_abi.h"

/* ---- one stack ---- */

#define MAX_TRACING_FRAMES 8

/* a function between a tracepoint and our program? */
static bool is_tracing(const char *symbol)
{
	static const char *const beginnings[] = { "bpf_prog_", "bpf_trace_run", "__bpf_trace_", "__traceiter_" };

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (!strncmp(symbol, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

uint32_t stack_first_kernel_frame(const struct stack_writer *w, const struct stack_frames *kernel)
{
	uint32_t first = 0;

	for (uint32_t i = 0; w->traced && i < kernel->nr && i < MAX_TRACING_FRAMES; i++) {
		struct frame_name name = frame_name_kernel(w->names.kallsyms, kernel->frames[i]);

		if (name.symbol && !strcmp(name.symbol, "__schedule"))
			return i;
		if (name.symbol && is_tracing(name.symbol))
			first = i + 1;
	}
	return first;
}

static void put_name(const struct stack_writer *w, const struct frame_name *name, bool in_no_file)
{
	frame_name_print(w->out, name);
	if (name->inlined)
		fputs("_[i]", w->out);
	else if (w->annotate && in_no_file)
		fputs("_[j]", w->out);
}

/* a frame's names, inlined functions first (to the root) or last (to the leaf), each between two texts */
enum direction { TO_ROOT, TO_LEAF };

static void put_user(const struct stack_writer *w, pid_t pid, uint64_t frame, enum direction direction,
		     const char *before, const char *after)
{
	struct frame_name names[MAX_FRAME_NAMES];
	size_t nr = frame_names_user(&w->names, pid, frame, names);

	for (size_t i = 0; i < nr; i++) {
		fputs(before, w->out);
		put_name(w, &names[direction == TO_ROOT ? i : nr - 1 - i], frame_in_no_file(frame));
		fputs(after, w->out);
	}
}

static void put_kernel(const struct stack_writer *w, uint64_t frame)
{
	struct frame_name name = frame_name_kernel(w->names.kallsyms, frame);

	frame_name_print(w->out, &name);
	if (w->annotate)
		fputs("_[k]", w->out);
}

static void put_comm(const struct stack_writer *w, const struct stack_entry *entry)
{
	if (entry->key.flags & STACK_INTERRUPT)
		fputs("[interrupt]", w->out);
	else
		print_escaped(w->out, stack_entry_thread(entry));
}

/* the waker's frames upside down, as bcc's offwaketime has them: what woke meets what was woken */
static void put_waker_folded(const struct stack_writer *w, const struct stack_entry *waker)
{
	const struct stack_frames *user = waker->user, *kernel = waker->kernel;

	fputs(";--", w->out);
	for (uint32_t i = kernel ? stack_first_kernel_frame(w, kernel) : 0; kernel && i < kernel->nr; i++) {
		putc(';', w->out);
		put_kernel(w, kernel->frames[i]);
	}
	if (w->delimiter && user && kernel)
		fputs(";-", w->out);
	for (uint32_t i = 0; user && i < user->nr; i++)
		put_user(w, waker->key.pid, user->frames[i], TO_ROOT, ";", "");
	putc(';', w->out);
	put_comm(w, waker);
}

static void put_waker(const struct stack_writer *w, const struct stack_entry *waker)
{
	const struct stack_frames *user = waker->user, *kernel = waker->kernel;

	fputs("    waker:           ", w->out);
	put_comm(w, waker);
	if (waker->key.flags & STACK_INTERRUPT)
		putc('\n', w->out);
	else
		fprintf(w->out, " (%u)\n", waker->key.pid);
	for (uint32_t i = user ? user->nr : 0; i-- > 0;)
		put_user(w, waker->key.pid, user->frames[i], TO_LEAF, "    ", "\n");
	if (w->delimiter && user && kernel)
		fputs("    -\n", w->out);
	for (uint32_t i = kernel ? kernel->nr : 0; i-- > 0;) {
		fputs("    ", w->out);
		put_kernel(w, kernel->frames[i]);
		putc('\n', w->out);
	}
	fputs("    --\n", w->out);
}

void stack_print_folded(const struct stack_writer *w, const struct stack_entry *entry)
{
	const struct stack_frames *user = entry->user, *kernel = entry->kernel;

	print_escaped(w->out, stack_entry_thread(entry));
	if (w->root) {
		putc(';', w->out);
		print_escaped(w->out, w->root(entry));
	}
	for (uint32_t i = user ? user->nr : 0; i-- > 0;)
		put_user(w, entry->key.pid, user->frames[i], TO_LEAF, ";", "");
	if (w->delimiter && user && kernel)
		fputs(";-", w->out);
	for (uint32_t i = kernel ? kernel->nr : 0, first = kernel ? stack_first_kernel_frame(w, kernel) : 0;
	     i-- > first;) {
		putc(';', w->out);
		put_kernel(w, kernel->frames[i]);
	}
	if (entry->waker)
		put_waker_folded(w, entry->waker);
}

void stack_print_frames(const struct stack_writer *w, const struct stack_entry *entry, int indent)
{
	const struct stack_frames *user = entry->user, *kernel = entry->kernel;
	char before[16];

	snprintf(before, sizeof(before), "%*s", indent, "");
	for (uint32_t i = kernel ? stack_first_kernel_frame(w, kernel) : 0; kernel && i < kernel->nr; i++) {
		fprintf(w->out, "%*s", indent, "");
		put_kernel(w, kernel->frames[i]);
		putc('\n', w->out);
	}
	if (w->delimiter && user && kernel)
		fprintf(w->out, "%*s-\n", indent, "");
	for (uint32_t i = 0; user && i < user->nr; i++)
		put_user(w, entry->key.pid, user->frames[i], TO_ROOT, before, "\n");
	if (w->root) {
		fprintf(w->out, "%s", before);
		print_escaped(w->out, w->root(entry));
		putc('\n', w->out);
	}
}

static void print_multiline(const struct stack_writer *w, const struct stack_entry *entry)
{
	if (entry->waker)
		put_waker(w, entry->waker);
	stack_print_frames(w, entry, 4);
	fputs("    -                ", w->out);
	print_escaped(w->out, stack_entry_thread(entry));
	fprintf(w->out, " (%u)\n", entry->key.pid);
}

/* ---- all of them ---- */

/* how stacks are printed */
struct layout {
	/* the frames, and how the value follows them */
	void (*frames)(const struct stack_writer *writer, const struct stack_entry *entry);
	void (*value)(FILE *out, const struct measure *measure, uint64_t value, double percent);
	bool hottest_last;
};

/* the value as text has it: times in microseconds */
static uint64_t in_text(const struct measure *measure, uint64_t value)
{
	return measure->is_time ? (value + 500) / 1000 : value;
}

/* 0 or -ENOMEM */
static int add(struct merged_texts *texts, const struct stack_writer *writer, const struct layout *layout,
	       const struct stack_entry *entry, uint64_t value)
{
	struct stack_writer w = *writer;
	char *text = NULL;
	size_t size;
	int error;

	w.out = open_memstream(&text, &size);
	if (!w.out)
		return -ENOMEM;
	layout->frames(&w, entry);
	error = fclose(w.out) || !text ? -ENOMEM : merged_texts_add(texts, text, value);
	free(text);
	return error;
}

/* Prints the first `nr`, those with the largest values, in the layout's order. */
static void print_hottest(const struct stack_writer *w, const struct measure *measure,
			  const struct layout *layout, const struct merged_texts *texts, size_t nr)
{
	uint64_t sum = merged_texts_sum(texts);

	for (size_t i = 0; i < nr; i++) {
		uint64_t value = merged_texts_print(texts, w->out, layout->hottest_last ? nr - 1 - i : i);

		layout->value(w->out, measure, in_text(measure, value), sum ? 100.0 * value / sum : 0);
	}
}

static int print(const struct stack_writer *w, const struct measure *measure, const struct layout *layout,
		 const struct stack_entry *entries, size_t nr)
{
	struct merged_texts *texts = merged_texts_new();
	int error = texts ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !error; i++)
		error = add(texts, w, layout, &entries[i], measure->value(&entries[i].value));
	if (!error) {
		size_t all = merged_texts_sort(texts);

		print_hottest(w, measure, layout, texts, w->top && w->top < all ? w->top : all);
	}
	merged_texts_free(texts);
	return error;
}

static void put_value_and_share(FILE *out, const struct measure *measure, uint64_t value, double percent)
{
	fprintf(out, "        %" PRIu64 " %s, %.1f %% of all\n\n", value, measure->is_time ? "us" : measure->counted, percent);
}

static void put_value(FILE *out, const struct measure *measure, uint64_t value, double percent)
{
	(void)measure;
	(void)percent;
	fprintf(out, " %" PRIu64 "\n", value);
}

int stack_report_text(const struct stack_writer *writer, const struct stack_summary *summary,
		      const struct stack_entry *entries, size_t nr)
{
	static const struct layout layout = { print_multiline, put_value_and_share, .hottest_last = true };

	return print(writer, summary->measure, &layout, entries, nr);
}

int stack_report_folded(const struct stack_writer *writer, const struct stack_summary *summary,
			const struct stack_entry *entries, size_t nr)
{
	static const struct layout layout = { stack_print_folded, put_value };

	return print(writer, summary->measure, &layout, entries, nr);
}
