// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/series_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "report/escape.h"
#include "report/json.h"
#include "report/measure.h"
#include "unwind/end_reason.h"
#include "stacks_abi.h"

/* ---- stacks ---- */

static int most_first(const void *left, const void *right)
{
	const struct stack_entry *l = *(const struct stack_entry *const *)left,
				 *r = *(const struct stack_entry *const *)right;

	return order_of(stack_entry_ns(r), stack_entry_ns(l))
		       ?: memcmp(&l->key, &r->key, sizeof(l->key));
}

/*
 * The series' stacks, longest time first, nr_stacks at most: a malloc()ed array of *nr, or NULL
 * without memory.
 */
static const struct stack_entry **stacks_of(const struct series_report *r, const struct series *s,
					    size_t *nr)
{
	const struct stack_entry **stacks = calloc(r->nr_entries + 1, sizeof(*stacks));

	*nr = 0;
	for (size_t i = 0; stacks && i < r->nr_entries; i++)
		if (r->entries[i].key.flags >> STACK_SLOT_SHIFT == s->slot)
			stacks[(*nr)++] = &r->entries[i];
	if (*nr)
		qsort(stacks, *nr, sizeof(*stacks), most_first);
	if (*nr > r->nr_stacks)
		*nr = r->nr_stacks;
	return stacks;
}

/* Somebody else's stack was kept, such as of who began an I/O, and was lost. */
static bool has_lost_stack(const struct stack_entry *entry)
{
	return entry->key.waker && !entry->waker;
}

static void put_whose(const struct stack_writer *w, const struct stack_entry *entry)
{
	if (has_lost_stack(entry)) {
		fputs("[the stack was lost]", w->out);
		return;
	}
	if (!entry->waker) {
		fputs(entry->key.kernel_stack ? "blocked in" : "not blocked, called from", w->out);
		return;
	}
	fputs("begun by ", w->out);
	print_escaped(w->out, entry->waker->key.comm);
	fprintf(w->out, " (%u) in", entry->waker->key.pid);
}

void series_report_stack(const struct stack_writer *w, const struct stack_entry *entry,
			 const struct histogram_unit *unit, uint64_t total_ns)
{
	const struct stack_entry *stacks = entry->waker ? entry->waker : entry;

	fprintf(w->out, "  %5.1f %%  %s ", percent_of(stack_entry_ns(entry), total_ns),
		histogram_value(unit, stack_entry_ns(entry)).text);
	put_whose(w, entry);
	putc('\n', w->out);
	stack_print_frames(w, stacks, 6);
	if (stacks->key.kernel_stack && !stacks->kernel)
		fprintf(w->out, "      [the stack was lost]\n");
	if (stacks->key.end != END_NOT_TAKEN && stacks->key.end != END_COMPLETE)
		fprintf(w->out, "      [%s: %s]\n", end_reason_name(stacks->key.end),
			end_reason_meaning(stacks->key.end));
}

struct json_object *series_report_json_stack(const struct stack_writer *w,
					     const struct stack_entry *entry,
					     const struct histogram_unit *unit)
{
	const struct stack_entry *stacks = entry->waker ? entry->waker : entry;
	struct json_object *stack = json_object_new_object();

	json_object_object_add(stack, unit->is_size ? "value_bytes" : "value_ns",
			       json_number(stack_entry_ns(entry)));
	if (!entry->waker && !has_lost_stack(entry))
		json_object_object_add(stack, "blocked",
				       json_object_new_boolean(entry->key.kernel_stack));
	if (stacks->key.pid)
		json_object_object_add(stack, "pid", json_object_new_int64(stacks->key.pid));
	if (entry->waker)
		json_object_object_add(stack, "comm", json_name(stacks->key.comm));
	json_object_object_add(stack, "ended_by",
			       json_object_new_string(end_reason_name(
				       has_lost_stack(entry) ? END_LOST : stacks->key.end)));
	stack_json_frames(w, NULL, stacks, stack);
	return stack;
}

/* ---- series ---- */

#define ENOTSUPP 524 /* the kernel's own, e.g. for a batch on a map without batch operations */

struct errno_name errno_name(int number)
{
	const char *known = number == ENOTSUPP ? "ENOTSUPP" : strerrorname_np(number);
	struct errno_name name;

	if (known)
		snprintf(name.text, sizeof(name.text), "%s", known);
	else
		snprintf(name.text, sizeof(name.text), "errno %d", number);
	return name;
}

static void print_errors(FILE *out, const struct series *s)
{
	fprintf(out, "errors %" PRIu64 ":", s->errors);
	for (size_t i = 0; i < s->nr_errnos; i++)
		fprintf(out, "%s %s %" PRIu64, i ? "," : "", errno_name(s->by_errno[i].number).text,
			s->by_errno[i].count);
	putc('\n', out);
}

static uint64_t cpu_ns(const struct series *s)
{
	uint64_t off_ns = s->blocked_ns + s->waiting_ns;

	return s->histogram.total_ns > off_ns ? s->histogram.total_ns - off_ns : 0;
}

void series_report_text(const struct series_report *r, const struct series *s, const char *title)
{
	const struct histogram *h = &s->histogram;
	FILE *out = r->writer.out;
	size_t nr;
	const struct stack_entry **stacks = stacks_of(r, s, &nr);

	fprintf(out, "%s\n", title);
	histogram_print_log2(out, h);
	histogram_print_statistics(out, h, r->counted);
	if (s->errors)
		print_errors(out, s);
	if (s->no_bucket)
		fprintf(out,
			"%" PRIu64
			" of them are not in the histogram and the quartiles: too many buckets\n",
			s->no_bucket);
	if (r->off_cpu)
		fprintf(out,
			"on the CPU %.1f %%, blocked %.1f %%, waiting to run %.1f %% of the time\n",
			percent_of(cpu_ns(s), h->total_ns), percent_of(s->blocked_ns, h->total_ns),
			percent_of(s->waiting_ns, h->total_ns));
	for (size_t i = 0; i < nr; i++)
		series_report_stack(&r->writer, stacks[i], h->unit, h->total_ns);
	putc('\n', out);
	free(stacks);
}

void series_report_json(const struct series_report *r, const struct series *s,
			struct json_object *object)
{
	struct json_object *errors = json_object_new_object(), *list = json_object_new_array();
	size_t nr;
	const struct stack_entry **stacks = stacks_of(r, s, &nr);

	histogram_json(object, &s->histogram);
	if (r->off_cpu) {
		json_object_object_add(object, "cpu_ns", json_number(cpu_ns(s)));
		json_object_object_add(object, "blocked_ns", json_number(s->blocked_ns));
		json_object_object_add(object, "waiting_ns", json_number(s->waiting_ns));
	}
	json_object_object_add(object, "errors", json_number(s->errors));
	for (size_t i = 0; i < s->nr_errnos; i++)
		json_object_object_add(errors, errno_name(s->by_errno[i].number).text,
				       json_number(s->by_errno[i].count));
	json_object_object_add(object, "by_errno", errors);
	json_object_object_add(object, "no_bucket", json_number(s->no_bucket));
	for (size_t i = 0; i < nr; i++)
		json_object_array_add(list, series_report_json_stack(&r->writer, stacks[i],
								     s->histogram.unit));
	json_object_object_add(object, "stacks", list);
	free(stacks);
}
