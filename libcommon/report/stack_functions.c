// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/stack_functions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistr.h>
#include <uniwidth.h>

#include "base/array.h"
#include "base/order.h"
#include "base/seed.h"
#include "base/text.h"
#include "report/counted.h"
#include "report/escape.h"
#include "report/frame_names.h"
#include "runtimes/runtimes.h"

struct function_sum {
	uint64_t self, total;
	/*
	 * each value of `total`, times 1 + the number of frames between the function and the leaf's
	 */
	double far;
	size_t last; /* the number of the stack that was counted last */
};

/* what a line stands for: a function, or NO_FUNCTION */
struct line_kind {
	uint32_t function;
	bool schedules; /* that function is a part of the kernel's scheduler */
	bool cut;       /* frames are missing there */
};
#define NO_FUNCTION UINT32_MAX

/*
 * Frames with equal bytes have equal names: in files everywhere, in no file within a process, and
 * in the kernel. The lines of this one are of_known[first] and the next nr - 1; nr 0: the place is
 * free.
 */
struct known_line {
	uint64_t frame;
	uint32_t pid; /* 0: of any; KERNEL */
	uint32_t first, nr;
};
#define KERNEL UINT32_MAX

/*
 * What others can make us keep is bounded. Frames beyond are named each time, and lines beyond are
 * one.
 */
#define MAX_KNOWN (1 << 20)
#define MAX_LINES (1 << 20)

/* functions that are none, by their numbers */
enum { OTHERS, NONE };

/* ---- lines ---- */

const char *stack_functions_text(const struct labels *labels, uint32_t number)
{
	const char *text = labels_get(labels, number)->text, *end = strchr(text, '\n');

	return end ? end + 1 : text;
}

/* The number of the label that was printed. */
static int add_printed(struct labels *labels, struct text *printed, uint32_t *number)
{
	char *text = text_end(printed);
	int error = text ? labels_add(labels, &(struct label){ .text = text }, number) : -ENOMEM;

	free(text);
	return error;
}

/* Appends a line. New ones get the function's number. */
static int append(struct stack_functions *f, uint32_t line, struct line_kind kind)
{
	if (array_reserve(&f->numbers, &f->room, f->nr + 1) ||
	    array_reserve(&f->kinds, &f->kinds_room, line + 1))
		return -ENOMEM;
	if (line >= f->nr_kinds) {
		f->kinds[line] = kind;
		f->nr_kinds = line + 1;
	}
	f->numbers[f->nr++] = line;
	return 0;
}

static int add_function(struct stack_functions *f, const char *module,
			const struct frame_name *name, bool kernel, uint32_t *number)
{
	struct frame_name bare = *name;
	struct text *text = text_begin();
	int error;

	if (!text)
		return -ENOMEM;
	bare.source = NULL;
	if (kernel)
		bare.module = NULL;
	fprintf(text->out, "%s\n", module);
	frame_name_print(text->out, &bare);
	error = add_printed(f->functions, text, number);
	if (!error)
		error = array_reserve(&f->sums, &f->sums_room, labels_count(f->functions));
	if (!error && *number + 1 == labels_count(f->functions) && *number >= f->nr_sums) {
		f->sums[*number] = (struct function_sum){};
		f->nr_sums = *number + 1;
	}
	return error;
}

/* The file or whatever else a function belongs to, escaped; the caller frees it. NULL: no memory */
static char *module_of(const struct frame_name *name, bool kernel)
{
	const struct runtime *runtime = name->runtime ? runtime_named(name->runtime) : NULL;
	struct text *text = text_begin();
	FILE *out;

	if (!text)
		return NULL;
	out = text->out;
	if (kernel || (name->module && !name->file)) {
		putc('[', out);
		print_escaped(out, name->module ? name->module : "kernel");
		putc(']', out);
	} else if (name->module) {
		print_escaped(out, name->module);
	} else if (runtime && runtime->shows_files && name->source) {
		print_escaped(out, name->source);
	} else if (name->runtime) {
		frame_name_print_language(out, name);
	} else if (name->is_jit) {
		fputs("[JIT]", out);
	}
	return text_end(text);
}

/* Appends the line of a frame's name. */
static int append_name(struct stack_functions *f, const struct frame_name *name, uint64_t frame,
		       bool kernel)
{
	struct line_kind kind = { .function = NO_FUNCTION };
	struct stack_writer w = *f->writer;
	struct text *text;
	uint32_t line = 0;
	char *module;
	int error = 0;

	if (labels_count(f->lines) >= MAX_LINES)
		return append(f, OTHERS, kind);
	module = module_of(name, kernel);
	text = module ? text_begin() : NULL;
	if (text) {
		w.out = text->out;
		fprintf(w.out, "%s\n", module);
		stack_print_name(&w, name, frame, kernel);
		error = add_printed(f->lines, text, &line);
	}
	if (text && !error && line >= f->nr_kinds &&
	    (!name->cut || FRAME_IS_SUMMED(frame) || FRAME_IS_NO_ROOM(frame)))
		error = add_function(f, module, name, kernel, &kind.function);
	kind.schedules = kernel && name->schedules;
	kind.cut = name->cut;
	free(module);
	if (!text)
		error = -ENOMEM;
	return error ? error : append(f, line, kind);
}

/* Appends a line that is no frame's: the text, and a thread's name and what it says of it. */
static int append_text(struct stack_functions *f, const char *before, const char *name,
		       const char *after)
{
	struct text *text = text_begin();
	uint32_t line;
	int error;

	if (!text)
		return -ENOMEM;
	fprintf(text->out, "\001\n%s", before); /* no module's: a frame may have any name */
	print_escaped(text->out, name);
	fputs(after, text->out);
	error = add_printed(f->lines, text, &line);
	return error ? error : append(f, line, (struct line_kind){ .function = NO_FUNCTION });
}

/* ---- frames ---- */

static size_t place_of(const struct stack_functions *f, uint64_t frame, uint32_t pid)
{
	/* a process chooses its addresses, but does not know the seed */
	uint64_t hash = (frame ^ (uint64_t)pid << 32 ^ process_seed()) * 0x9e3779b97f4a7c15;
	size_t at;

	hash = (hash ^ hash >> 32) * (process_seed() | 1);
	at = hash >> 32 & (f->known_size - 1);
	while (f->known[at].nr && (f->known[at].frame != frame || f->known[at].pid != pid))
		at = (at + 1) & (f->known_size - 1);
	return at;
}

static int grow_known(struct stack_functions *f)
{
	struct known_line *old = f->known;
	size_t old_size = f->known_size, size = old_size ? 2 * old_size : 1024;
	struct known_line *grown = calloc(size, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	f->known = grown;
	f->known_size = size;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].nr)
			f->known[place_of(f, old[i].frame, old[i].pid)] = old[i];
	free(old);
	return 0;
}

/* The lines of this frame are those from numbers[first] on. */
static int remember(struct stack_functions *f, uint64_t frame, uint32_t pid, size_t first)
{
	size_t nr = f->nr - first;

	if (f->nr_known >= MAX_KNOWN)
		return 0;
	if ((2 * f->nr_known >= f->known_size && grow_known(f)) ||
	    array_reserve(&f->of_known, &f->of_known_room, f->nr_of_known + nr))
		return -ENOMEM;
	f->known[place_of(f, frame, pid)] = (struct known_line){ frame, pid, f->nr_of_known, nr };
	memcpy(f->of_known + f->nr_of_known, f->numbers + first, nr * sizeof(f->numbers[0]));
	f->nr_of_known += nr;
	f->nr_known++;
	return 0;
}

/* Appends the lines of a frame, the leaf's first. */
static int append_frame(struct stack_functions *f, uint64_t frame, pid_t process, bool kernel)
{
	uint32_t of_user = frame & FRAME_ADDRESS ? process : 0, pid = kernel ? KERNEL : of_user;
	const struct known_line *known = &f->known[place_of(f, frame, pid)];
	struct frame_name names[MAX_FRAME_NAMES];
	size_t first = f->nr, nr;
	int error = 0;

	if (known->nr) {
		if (array_reserve(&f->numbers, &f->room, f->nr + known->nr))
			return -ENOMEM;
		for (uint32_t i = 0; i < known->nr; i++)
			f->numbers[f->nr++] = f->of_known[known->first + i];
		return 0;
	}
	nr = frame_names_of(&f->writer->names, process, frame, kernel, names);
	for (size_t i = 0; i < nr && !error; i++)
		error = append_name(f, &names[i], frame, kernel);
	return error ? error : remember(f, frame, pid, first);
}

static void turn(uint32_t *numbers, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		uint32_t number = numbers[i];

		numbers[i] = numbers[nr - 1 - i];
		numbers[nr - 1 - i] = number;
	}
}

/* Appends the frames, leaf first. */
static int append_frames(struct stack_functions *f, const struct stack_entry *entry)
{
	const struct stack_frames *user = entry->user, *kernel = entry->kernel;
	int error = 0;

	for (uint32_t i = kernel ? stack_first_kernel_frame(f->writer, kernel) : 0;
	     kernel && i < kernel->nr && !error; i++)
		error = append_frame(f, kernel->frames[i], entry->key.pid, true);
	if (!error && f->writer->delimiter && user && kernel)
		error = append_text(f, "-", "", "");
	for (uint32_t i = 0; user && i < user->nr && !error; i++)
		error = append_frame(f, user->frames[i], entry->key.pid, false);
	return error;
}

static int append_waker(struct stack_functions *f, const struct stack_entry *waker)
{
	bool interrupt = waker->key.flags & STACK_INTERRUPT;
	char pid[16] = "";
	size_t first;
	int error;

	if (!interrupt)
		snprintf(pid, sizeof(pid), " (%" PRIu32 ")", waker->key.pid);
	error = append_text(f, "waker:           ",
			    interrupt ? "[interrupt]" : stack_entry_thread(waker), pid);
	first = f->nr;
	if (!error)
		error = append_frames(f, waker);
	turn(f->numbers + first, f->nr - first);
	if (!error)
		error = append_text(f, "--", "", "");
	if (!error)
		f->waker_end = f->numbers[f->nr - 1];
	return error;
}

/* ---- sums ---- */

int stack_functions_init(struct stack_functions *f)
{
	f->waker_end = UINT32_MAX;
	f->thread_pid = UINT32_MAX;
	f->functions = labels_new();
	if (!f->functions || grow_known(f))
		return -ENOMEM;
	if (append_name(f, &(struct frame_name){ .symbol = "[other functions]" }, 0, false))
		return -ENOMEM;
	return append_name(f, &(struct frame_name){ .symbol = "[no stack]" }, 0, false);
}

void stack_functions_free(struct stack_functions *f)
{
	labels_free(f->functions);
	free(f->sums);
	free(f->kinds);
	free(f->known);
	free(f->of_known);
	free(f->numbers);
}

size_t stack_functions_first(const struct stack_functions *f, const uint32_t *lines, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (lines[i] == f->waker_end)
			return i + 1;
	return 0;
}

size_t stack_functions_leaf(const struct stack_functions *f, const uint32_t *lines, size_t nr)
{
	size_t leaf = nr;

	for (size_t i = nr; i-- > 0;)
		if (f->kinds[lines[i]].function != NO_FUNCTION)
			leaf = i;
	for (size_t i = leaf; f->off_cpu && i < nr; i++)
		if (f->kinds[lines[i]].function != NO_FUNCTION && !f->kinds[lines[i]].schedules)
			return i;
	return leaf;
}

static void add_value(struct stack_functions *f, const uint32_t *lines, size_t nr, uint64_t value)
{
	size_t leaf = stack_functions_leaf(f, lines, nr);

	f->nr_stacks++;
	if (leaf == nr) {
		f->sums[NONE].self += value;
		f->sums[NONE].total += value;
	}
	for (size_t i = 0; i < nr; i++) {
		uint32_t number = f->kinds[lines[i]].function;
		struct function_sum *sum = &f->sums[number];

		if (number == NO_FUNCTION)
			continue;
		if (i == leaf)
			sum->self += value;
		if (sum->last != f->nr_stacks) {
			sum->total += value;
			sum->far += (double)value * (i > leaf ? 1 + i - leaf : 1);
		}
		sum->last = f->nr_stacks;
	}
}

/* Appends the thread's line, which is often that of the last stack. */
static int append_thread(struct stack_functions *f, const struct stack_entry *entry)
{
	const struct stack_key *key = &entry->key;
	char pid[16];
	int error;

	if (f->thread_pid == key->pid && !memcmp(f->thread_comm, key->comm, sizeof(key->comm)))
		return append(f, f->thread_line, (struct line_kind){ .function = NO_FUNCTION });
	snprintf(pid, sizeof(pid), " (%" PRIu32 ")", key->pid);
	error = append_text(f, THREAD_LINE, stack_entry_thread(entry), pid);
	if (error)
		return error;
	f->thread_pid = key->pid;
	memcpy(f->thread_comm, key->comm, sizeof(key->comm));
	f->thread_line = f->numbers[f->nr - 1];
	return 0;
}

int stack_functions_add(struct stack_functions *f, const struct stack_entry *entry, uint64_t value)
{
	size_t first;
	int error;

	f->nr = 0;
	error = entry->waker ? append_waker(f, entry->waker) : 0;
	first = f->nr;
	if (!error)
		error = append_frames(f, entry);
	if (error)
		return error;
	add_value(f, f->numbers + first, f->nr - first, value);
	if (f->writer->root)
		error = append_text(f, "", f->writer->root(entry), "");
	return error ? error : append_thread(f, entry);
}

static int by_thread(const void *left, const void *right)
{
	uint32_t l = (*(const struct stack_entry *const *)left)->key.tid,
		 r = (*(const struct stack_entry *const *)right)->key.tid;

	return order_of(l, r);
}

int stack_functions_add_all(struct stack_functions *f, struct merged_texts *texts,
			    const struct measure *measure, const struct stack_entry *entries,
			    size_t nr)
{
	const struct stack_entry **sorted = calloc(nr + 1, sizeof(*sorted));
	int error = sorted ? stack_functions_init(f) : -ENOMEM;

	for (size_t i = 0; i < nr && sorted; i++)
		sorted[i] = &entries[i];
	if (sorted)
		qsort(sorted, nr, sizeof(*sorted), by_thread);
	for (size_t i = 0; i < nr && !error; i++) {
		uint64_t value = measure->value(&sorted[i]->value);

		error = stack_functions_add(f, sorted[i], value);
		if (!error)
			error = merged_texts_add_pieces(texts, f->numbers, f->nr,
							sorted[i]->key.pid, sorted[i]->key.tid,
							value);
	}
	free(sorted);
	return error;
}

/* ---- calls ---- */

/* what calls a function ([0]), or is called by it ([1]) */
struct call_sum {
	uint64_t value;
	size_t last; /* the number of the stack that was counted last, from 1 on */
};

static void add_call(struct call_sum *sum, size_t stack, uint64_t value)
{
	if (sum->last != stack)
		sum->value += value;
	sum->last = stack;
}

static void add_calls(const struct stack_functions *f, const struct merged_text *text, size_t stack,
		      uint32_t number, struct call_sum (*sums)[2])
{
	uint32_t callee = NO_FUNCTION;

	for (size_t i = stack_functions_first(f, text->pieces, text->nr); i < text->nr; i++) {
		uint32_t function = f->kinds[text->pieces[i]].function;

		if (f->kinds[text->pieces[i]].cut)
			callee = NO_FUNCTION;
		if (function == NO_FUNCTION)
			continue;
		if (callee == number)
			add_call(&sums[function][0], stack, text->value);
		if (callee != NO_FUNCTION && function == number)
			add_call(&sums[callee][1], stack, text->value);
		callee = function;
	}
}

static int callers_first(const void *left, const void *right)
{
	const struct function_call *l = left, *r = right;
	int order = order_of(l->called, r->called) ?: order_of(r->value, l->value);

	return order ?: order_of(l->function, r->function);
}

struct function_call *stack_functions_calls(const struct stack_functions *f,
					    const struct merged_texts *texts, size_t nr_texts,
					    uint32_t number, size_t *nr)
{
	struct call_sum(*sums)[2] = calloc(f->nr_sums, sizeof(*sums));
	struct function_call *calls = calloc(2 * f->nr_sums, sizeof(*calls));

	*nr = 0;
	for (size_t i = 0; sums && i < nr_texts; i++)
		add_calls(f, merged_texts_get(texts, i), i + 1, number, sums);
	for (uint32_t i = 0; sums && calls && i < 2 * f->nr_sums; i++)
		if (sums[i / 2][i % 2].last)
			calls[(*nr)++] =
				(struct function_call){ i / 2, i % 2, sums[i / 2][i % 2].value };
	if (calls && sums)
		qsort(calls, *nr, sizeof(*calls), callers_first);
	else
		free(calls);
	free(sums);
	return sums ? calls : NULL;
}

/* ---- the table ---- */

#define COLUMNS            80
#define MAX_MODULE_COLUMNS 20

/*
 * Much in total, next to where the time goes: else what begins every thread came before what calls
 * the hottest function.
 */
static double nearness(const struct function_sum *sum)
{
	return sum->far ? sum->total * (sum->total / sum->far) : 0;
}

static int hottest_first(const void *left, const void *right, void *arg)
{
	const struct stack_functions *f = arg;
	uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
	const struct function_sum *of_left = &f->sums[l], *of_right = &f->sums[r];
	int order = f->writer->by_total ? order_of(of_right->total, of_left->total) : 0;

	order = order ?: order_of(of_right->self, of_left->self);
	order = order ?: order_of(nearness(of_right), nearness(of_left));
	return order
		       ?: strcmp(labels_get(f->functions, l)->text,
				 labels_get(f->functions, r)->text);
}

static size_t columns_of(const char *text)
{
	return u8_strwidth((const uint8_t *)text, "UTF-8");
}

/* the characters of the text that take no more columns than this, or all but those: in bytes */
static size_t bytes_of_first(const char *text, size_t columns)
{
	const uint8_t *at = (const uint8_t *)text, *next;
	size_t width = 0;
	ucs4_t c;

	for (; (next = u8_next(&c, at)); at = next) {
		int more = uc_width(c, "UTF-8");

		width += more > 0 ? more : 0;
		if (width > columns)
			break;
	}
	return (const char *)at - text;
}

/* Prints the text in so many columns, cut in the middle if it has more. */
static void put_text(FILE *out, const char *text, size_t columns, bool fill)
{
	size_t wide = columns_of(text), head = columns / 2, tail;

	if (wide <= columns) {
		fprintf(out, "%s%*s", text, fill ? (int)(columns - wide) : 0, "");
		return;
	}
	tail = bytes_of_first(text, wide - (columns - 1 - head));
	fprintf(out, "%.*s…%s", (int)bytes_of_first(text, head), text, text + tail);
}

struct columns {
	int value; /* the width of the number */
	size_t name, module;
};

char *stack_functions_module(const struct stack_functions *f, uint32_t number)
{
	const char *text = labels_get(f->functions, number)->text,
		   *name = stack_functions_text(f->functions, number);
	char *path = strndup(text, name == text ? 0 : name - text - 1),
	     *shown = path ? strdup(frame_base_name(path)) : NULL;

	free(path);
	return shown;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static struct columns columns_for(const struct stack_functions *f, const uint32_t *order, size_t nr,
				  const struct measure *measure)
{
	struct columns c = { .value = strlen(measure_unit(measure)), .name = strlen("function") };
	size_t left;

	for (size_t i = 0; i < nr; i++) {
		char *module = stack_functions_module(f, order[i]);

		c.value =
			larger(c.value, snprintf(NULL, 0, "%" PRIu64,
						 measure_in_text(measure, f->sums[order[i]].self)));
		c.module = larger(c.module, module ? columns_of(module) : 0);
		c.name = larger(c.name, columns_of(stack_functions_text(f->functions, order[i])));
		free(module);
	}
	if (f->writer->top)
		return c;
	c.module = c.module > MAX_MODULE_COLUMNS ? MAX_MODULE_COLUMNS : c.module;
	left = COLUMNS - (6 + 2 + 7 + 2 + c.value + 2 + 2 + c.module);
	c.name = c.name > left ? left : c.name;
	return c;
}

uint32_t *stack_functions_sorted(const struct stack_functions *f, size_t *nr)
{
	size_t all = labels_count(f->functions);
	uint32_t *order = calloc(all, sizeof(*order));

	*nr = 0;
	for (uint32_t i = 0; order && i < all; i++)
		if (f->sums[i].total)
			order[(*nr)++] = i;
	if (order)
		qsort_r(order, *nr, sizeof(*order), hottest_first, (void *)f);
	return order;
}

void stack_functions_values(const struct stack_functions *f, uint32_t number, uint64_t *self,
			    uint64_t *total)
{
	*self = f->sums[number].self;
	*total = f->sums[number].total;
}

int stack_functions_print(FILE *out, const struct stack_functions *f, const struct measure *measure,
			  uint64_t sum)
{
	size_t top = f->writer->top ? f->writer->top : TEXT_TOP;
	size_t all, nr;
	uint32_t *order = stack_functions_sorted(f, &all);
	struct columns c;
	uint64_t rest = 0;

	if (!order)
		return -ENOMEM;
	nr = all < top ? all : top;
	c = columns_for(f, order, nr, measure);
	fprintf(out, "self %%  total %%  %*s  %-*s  module\n", c.value, measure_unit(measure),
		(int)c.name, "function");
	for (size_t i = 0; i < nr; i++) {
		const struct function_sum *of = &f->sums[order[i]];
		char *module = stack_functions_module(f, order[i]);

		fprintf(out, "%6.1f  %7.1f  %*" PRIu64 "  ", percent_of(of->self, sum),
			percent_of(of->total, sum), c.value, measure_in_text(measure, of->self));
		put_text(out, stack_functions_text(f->functions, order[i]), c.name,
			 module && *module);
		if (module && *module) {
			fputs("  ", out);
			put_text(out, module, c.module, false);
		}
		putc('\n', out);
		free(module);
	}
	for (size_t i = nr; i < all; i++)
		rest += f->sums[order[i]].self;
	if (nr < all)
		fprintf(out, "%6.1f  %7s  %*" PRIu64 "  (%s: --top=all shows all)\n",
			percent_of(rest, sum), "", c.value, measure_in_text(measure, rest),
			counted(all - nr, "more functions").text);
	putc('\n', out);
	free(order);
	return 0;
}
