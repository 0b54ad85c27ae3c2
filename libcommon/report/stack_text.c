// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks as text, multi-line or folded. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/counted.h"
#include "report/escape.h"
#include "report/frame_names.h"
#include "report/merged_texts.h"
#include "report/stack_functions.h"
#include "report/stack_report.h"
#include "report/stack_writer.h"
#include "stacks_abi.h"

/* ---- one stack ---- */

#define MAX_TRACING_FRAMES 8

/* a function between a tracepoint and our program? */
static bool is_tracing(const char *symbol)
{
	static const char *const beginnings[] = { "bpf_prog_", "bpf_trace_run", "__bpf_trace_",
						  "__traceiter_" };

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (!strncmp(symbol, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

uint32_t stack_first_kernel_frame(const struct stack_writer *w, const struct stack_frames *kernel)
{
	uint32_t first = 0;

	for (uint32_t i = 0; w->traced && i < kernel->nr && i < MAX_TRACING_FRAMES; i++) {
		struct frame_name name = frame_name_kernel(&w->names, kernel->frames[i]);

		if (name.symbol && !strcmp(name.symbol, "__schedule"))
			return i;
		if (name.symbol && is_tracing(name.symbol))
			first = i + 1;
	}
	return first;
}

void stack_print_name(const struct stack_writer *w, const struct frame_name *name, uint64_t frame,
		      bool kernel)
{
	frame_name_print(w->out, name);
	if (name->inlined)
		fputs("_[i]", w->out);
	else if (w->annotate && kernel)
		fputs("_[k]", w->out);
	else if (w->annotate && frame_in_no_file(frame))
		fputs("_[j]", w->out);
}

/*
 * a frame's names, inlined functions first (to the root) or last (to the leaf), each between two
 * texts
 */
enum direction { TO_ROOT, TO_LEAF };

static void put_user(const struct stack_writer *w, pid_t pid, uint64_t frame,
		     enum direction direction, const char *before, const char *after)
{
	struct frame_name names[MAX_FRAME_NAMES];
	size_t nr = frame_names_user(&w->names, pid, frame, names);

	for (size_t i = 0; i < nr; i++) {
		fputs(before, w->out);
		stack_print_name(w, &names[direction == TO_ROOT ? i : nr - 1 - i], frame, false);
		fputs(after, w->out);
	}
}

static void put_kernel(const struct stack_writer *w, uint64_t frame)
{
	struct frame_name name = frame_name_kernel(&w->names, frame);

	stack_print_name(w, &name, frame, true);
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
	for (uint32_t i = kernel ? stack_first_kernel_frame(w, kernel) : 0;
	     kernel && i < kernel->nr; i++) {
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
	for (uint32_t i = kernel ? kernel->nr : 0,
		      first = kernel ? stack_first_kernel_frame(w, kernel) : 0;
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
	for (uint32_t i = kernel ? stack_first_kernel_frame(w, kernel) : 0;
	     kernel && i < kernel->nr; i++) {
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

/* ---- folded: all of them ---- */

/* 0 or -ENOMEM */
static int add_folded(struct merged_texts *texts, const struct stack_writer *writer,
		      const struct stack_entry *entry, uint64_t value)
{
	struct stack_writer w = *writer;
	struct text *printed = text_begin();
	char *text;
	int error;

	if (!printed)
		return -ENOMEM;
	w.out = printed->out;
	stack_print_folded(&w, entry);
	text = text_end(printed);
	error = text ? merged_texts_add(texts, text, value) : -ENOMEM;
	free(text);
	return error;
}

/* how many of the stacks are shown */
static size_t shown_of(const struct stack_writer *w, size_t nr)
{
	return w->top && w->top < nr ? w->top : nr;
}

int stack_report_folded(const struct stack_writer *w, const struct stack_summary *summary,
			const struct stack_entry *entries, size_t nr)
{
	const struct measure *measure = summary->measure;
	struct merged_texts *texts = merged_texts_new();
	int error = texts ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !error && !stack_writer_ended(w); i++)
		error = add_folded(texts, w, &entries[i], measure->value(&entries[i].value));
	if (!error) {
		size_t shown = shown_of(w, merged_texts_sort(texts));

		for (size_t i = 0; i < shown; i++) {
			uint64_t value = merged_texts_print(texts, w->out, i);

			fprintf(w->out, " %" PRIu64 "\n", measure_in_text(measure, value));
		}
	}
	merged_texts_free(texts);
	return error;
}

/* ---- text: functions, and stacks line by line ---- */

/* Without --top, of a long stack so many lines next to the leaf and to the root */
#define LEAF_LINES 10
#define ROOT_LINES 4

/* Prints lines, without those in the middle if they are many. */
static void put_lines(FILE *out, const struct labels *labels, const uint32_t *lines, size_t nr,
		      size_t first, size_t last)
{
	bool cut = nr > first + 1 + last;

	for (size_t i = 0; i < nr; i++) {
		if (cut && i == first) {
			fprintf(out, "    … %zu frames …\n", nr - first - last);
			i = nr - last;
		}
		fprintf(out, "    %s\n", stack_functions_text(labels, lines[i]));
	}
}

/* the lines of the waker's part, up to "--"; 0: there is none */
static size_t waker_lines(const struct stack_functions *f, const struct merged_text *stack)
{
	for (size_t i = 0; i < stack->nr; i++)
		if (stack->pieces[i] == f->waker_end)
			return i + 1;
	return 0;
}

/*
 * The command line of a process, where it says more than the thread's name, which the last line
 * begins with
 */
static void put_command(const struct stack_writer *w, uint32_t pid, const char *name)
{
	const struct process_note *process = process_notes_find(w->processes, pid);
	const char *cmdline = process ? process->cmdline : NULL;
	size_t length = cmdline ? strlen(cmdline) : 0;

	if (!length || (!strncmp(name, cmdline, length) && !strncmp(name + length, " (", 2)))
		return;
	fputs("    command:         ", w->out);
	print_message(w->out, cmdline);
	putc('\n', w->out);
}

static void put_stack(const struct stack_writer *w, const struct stack_functions *f,
		      const struct merged_text *stack, bool cut)
{
	FILE *out = w->out;
	size_t leaf = cut ? LEAF_LINES : stack->nr, root = cut ? ROOT_LINES : stack->nr,
	       waker = waker_lines(f, stack);

	if (waker) {
		put_lines(out, f->lines, stack->pieces, 1, 1, 0);
		put_lines(out, f->lines, stack->pieces + 1, waker - 2, root, leaf);
		put_lines(out, f->lines, stack->pieces + waker - 1, 1, 1, 0);
	}
	put_lines(out, f->lines, stack->pieces + waker, stack->nr - waker - 1, leaf, root);
	fprintf(out, "    %s", stack_functions_text(f->lines, stack->pieces[stack->nr - 1]));
	if (stack->nr_threads > 1)
		fprintf(out, ", %" PRIu32 " threads", stack->nr_threads);
	putc('\n', out);
	put_command(w, stack->process,
		    stack_functions_text(f->lines, stack->pieces[stack->nr - 1]) +
			    strlen(THREAD_LINE));
}

/* Prints the stacks with most, the hottest last. They are sorted. */
static void put_stacks(const struct stack_writer *w, const struct stack_functions *f,
		       const struct measure *measure, const struct merged_texts *texts, size_t nr)
{
	size_t top = w->top ? w->top : TEXT_TOP, shown = top < nr ? top : nr;
	uint64_t sum = merged_texts_sum(texts), rest = sum;

	for (size_t i = shown; i-- > 0;) {
		const struct merged_text *stack = merged_texts_get(texts, i);

		rest -= stack->value;
		put_stack(w, f, stack, !w->top);
		fprintf(w->out, "        %s, %.1f %% of all\n\n",
			measure_say(measure, stack->value).text, percent_of(stack->value, sum));
	}
	if (shown < nr)
		fprintf(w->out, "not shown: %s, %.1f %% of all %s; --top=all shows all\n",
			counted(nr - shown, "stacks").text, percent_of(rest, sum),
			measure->is_time ? "time" : measure_unit(measure));
}

int stack_report_text(const struct stack_writer *w, const struct stack_summary *summary,
		      const struct stack_entry *entries, size_t nr)
{
	const struct measure *measure = summary->measure;
	struct merged_texts *texts = merged_texts_new();
	struct stack_functions f = { .writer = w, .off_cpu = measure->is_time };
	int error = texts ? 0 : -ENOMEM;

	if (!error) {
		f.lines = merged_texts_pieces(texts);
		error = stack_functions_add_all(&f, texts, measure, entries, nr);
	}
	if (!error && nr)
		error = stack_functions_print(w->out, &f, measure, merged_texts_sum(texts));
	if (!error)
		put_stacks(w, &f, measure, texts, merged_texts_sort(texts));
	stack_functions_free(&f);
	merged_texts_free(texts);
	return error;
}
