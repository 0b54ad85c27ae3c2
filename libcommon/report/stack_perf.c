// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks in the format of perf script, for programs that import it. These programs count samples,
 * so each sample of a stack is printed, or, where there is no room for all, the same share of each
 * stack's. A time (in microseconds) or a sum is printed as the period of one sample. The time of a
 * sample is not known: samples follow each other at the sampling period.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/frame_names.h"
#include "report/page_text.h"
#include "report/stack_report.h"

/* importers split lines at blanks, parentheses and line ends */
static void put_word(FILE *out, const char *text, const char *unwanted)
{
	for (; *text; text++) {
		if (iscntrl((unsigned char)*text) || strchr(unwanted, *text))
			fprintf(out, "\\x%02x", (unsigned char)*text);
		else
			putc(*text, out);
	}
}

static void put_frame(FILE *out, const struct frame_name *name, bool kernel)
{
	char *text = NULL, *clean = NULL;
	const char *unnamed = kernel         ? "[kernel.kallsyms]"
			      : name->region ? name->region
					     : "[unknown]";
	uint64_t place = name->file ? name->file_offset : name->address;
	size_t bytes;
	FILE *memory = open_memstream(&text, &bytes);

	if (memory) {
		frame_name_print(memory, name);
		fclose(memory);
		clean = page_text(text);
	}
	fprintf(out, "\t%16" PRIx64 " ", name->has_vaddr ? name->vaddr : place);
	put_word(out, clean ? clean : "[unknown]", "");
	if (name->symbol && !name->inlined)
		fprintf(out, "+0x%" PRIx64, name->offset);
	fputs(" (", out);
	free(clean);
	free(text);
	if (name->inlined) { /* perf has this in the file's place */
		fputs("inlined)\n", out);
		return;
	}
	clean = page_text(name->module ? name->module : unnamed);
	if (kernel && name->module)
		putc('[', out);
	put_word(out, clean ? clean : "[unknown]", " ()");
	fputs(kernel && name->module ? "])\n" : ")\n", out);
	free(clean);
}

static void put_stack(const struct stack_writer *w, const struct stack_entry *entry)
{
	const struct stack_frames *user = entry->user, *kernel = entry->kernel;

	for (uint32_t i = kernel ? stack_first_kernel_frame(w, kernel) : 0;
	     kernel && i < kernel->nr; i++) {
		struct frame_name name = frame_name_kernel(&w->names, kernel->frames[i]);

		put_frame(w->out, &name, true);
	}
	for (uint32_t i = 0; user && i < user->nr; i++) {
		struct frame_name names[MAX_FRAME_NAMES];
		size_t nr = frame_names_user(&w->names, entry->key.pid, user->frames[i], names);

		for (size_t j = 0; j < nr; j++)
			put_frame(w->out, &names[j], false);
	}
	putc('\n', w->out);
}

/* "comm pid/tid seconds: [PERIOD] EVENT:" */
static void put_head(FILE *out, const struct stack_entry *entry, const struct measure *measure,
		     uint64_t ns)
{
	char *clean = page_text(stack_entry_thread(entry));
	/* a line that begins with one of these is not a sample's first */
	bool odd = clean && strchr(" #", *clean);
	/*
	 * nor is one whose name has one character, to stackcollapse-perf.pl, unless more blanks
	 * follow it
	 */
	const char *blanks = clean && clean[0] && !clean[1] ? "  " : " ";

	if (odd)
		fprintf(out, "\\x%02x", *clean);
	put_word(out, clean ? clean + odd : "[unknown]", "");
	fprintf(out, "%s%" PRIu32 "/%" PRIu32 " %" PRIu64 ".%06" PRIu64 ": ", blanks,
		entry->key.pid, entry->key.tid, ns / 1000000000, ns % 1000000000 / 1000);
	if (measure->is_time || measure->sum_unit)
		fprintf(out, "%" PRIu64 " %s:\n",
			measure_in_text(measure, measure->value(&entry->value)),
			measure->is_time ? "off-cpu" : measure->sum_unit);
	else
		fprintf(out, "%s:\n", measure->value_ns ? "cpu-clock" : measure->counted);
	free(clean);
}

/* The stack's lines; the caller frees them. NULL: no memory */
static char *lines_of(const struct stack_writer *w, const struct stack_entry *entry)
{
	struct stack_writer to_memory = *w;
	char *lines = NULL;
	size_t bytes;

	to_memory.out = open_memstream(&lines, &bytes);
	if (!to_memory.out)
		return NULL;
	put_stack(&to_memory, entry);
	return fclose(to_memory.out) ? NULL : lines;
}

/* how many samples of the stack are printed, if there is room */
static uint64_t samples_of(const struct measure *measure, const struct stack_entry *entry)
{
	return measure->is_time || measure->sum_unit ? 1 : measure->value(&entry->value);
}

/*
 * The share of the samples for which there is room: the same of each stack, so that the picture is
 * that of all.
 */
static double share_with_room(const struct stack_writer *w, const struct measure *measure,
			      const struct stack_entry *entries, size_t nr)
{
	double bytes = 0;

	for (size_t i = 0; i < nr; i++)
		bytes += (double)samples_of(measure, &entries[i]) * PERF_FRAME_BYTES *
			 (1 + (entries[i].user ? entries[i].user->nr : 0) +
			  (entries[i].kernel ? entries[i].kernel->nr : 0));
	return w->max_bytes && bytes > w->max_bytes ? w->max_bytes / bytes : 1;
}

static bool must_end(const struct stack_writer *w)
{
	return ferror(w->out) || stack_writer_ended(w);
}

int stack_report_perf(const struct stack_writer *w, const struct stack_summary *summary,
		      const struct stack_entry *entries, size_t nr)
{
	const struct measure *measure = summary->measure;
	uint64_t step = measure->value_ns > 1000 ? measure->value_ns : 1000,
		 now = summary->started_ns;
	double share = share_with_room(w, measure, entries, nr), due = 0;

	for (size_t i = 0; i < nr && !must_end(w); i++) {
		uint64_t all = samples_of(measure, &entries[i]), printed;
		char *lines = lines_of(w, &entries[i]);

		if (!lines)
			return -ENOMEM;
		due += share * all;
		printed = due;
		due -= printed;
		if (w->left_out)
			*w->left_out += all - printed;
		for (; printed && !must_end(w); printed--, now += step) {
			put_head(w->out, &entries[i], measure, now);
			fputs(lines, w->out);
		}
		free(lines);
	}
	return 0;
}
