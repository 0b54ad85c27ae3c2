// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/stack_report.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "unwind/end_reason.h"
#include "report/json.h"
#include "process/kallsyms.h"
#include "process/thread_state.h"
#include "stacks_abi.h"

/* ---- what is measured ---- */

static uint64_t measured(enum report_measure measure, const struct stack_value *value)
{
	switch (measure) {
	case REPORT_OFF_CPU:
		return value->blocked_ns + value->waiting_ns;
	case REPORT_BLOCKED:
		return value->blocked_ns;
	case REPORT_WAITING:
		return value->waiting_ns;
	default:
		return value->count;
	}
}

/* in text: microseconds, as bcc's tools do */
static uint64_t in_text(enum report_measure measure, uint64_t value)
{
	return measure == REPORT_SAMPLES ? value : (value + 500) / 1000;
}

/* ---- frames by name ---- */

struct frame_name {
	const char *symbol;		/* NULL: none is known */
	const char *module;		/* path, or a kernel module's name; NULL: none */
	const struct module *file;	/* NULL: the kernel, or nobody's */
	uint64_t offset;		/* from the symbol, or from the function's start */
	uint64_t function;		/* vaddr of the function's start, 0: not known */
	uint64_t file_offset, address;
};

static struct frame_name name_user_frame(struct modules *modules, uint64_t frame)
{
	struct frame_name name = {};
	struct module *module;
	struct symbol symbol;
	bool by_call = frame & FRAME_CALL;

	if (frame & FRAME_ADDRESS) {
		name.address = FRAME_ADDR(frame);
		return name;
	}
	name.file_offset = FRAME_OFFSET(frame);
	module = modules_get(modules, FRAME_MODULE(frame));
	if (!module)
		return name;
	name.file = module;
	name.module = module->path;
	/* a return address may be the next function's first byte: ask for the call */
	if (modules_symbol(module, name.file_offset - by_call, &symbol)) {
		name.symbol = symbol.name;
		name.offset = symbol.offset + by_call;
		name.function = symbol.has_function ? symbol.function_vaddr : 0;
	}
	return name;
}

static struct frame_name name_kernel_frame(const struct kallsyms *kallsyms, uint64_t address)
{
	const struct kernel_symbol *symbol = kallsyms_find(kallsyms, address);
	struct frame_name name = { .address = address };

	if (symbol) {
		name.symbol = symbol->name;
		name.module = symbol->module;
		name.offset = address - symbol->start;
	}
	return name;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* ---- text ---- */

/* folded output is split at ';' and line ends: a name must have neither */
static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == ';' || iscntrl((unsigned char)*text))
			fprintf(out, "\\x%02x", (unsigned char)*text);
		else
			putc(*text, out);
	}
}

static void put_frame(FILE *out, const struct frame_name *name)
{
	if (name->symbol) {
		put_escaped(out, name->symbol);
	} else if (name->module) {	/* stripped: the function's start tells functions apart */
		putc('[', out);
		put_escaped(out, base_name(name->module));
		fprintf(out, "+0x%" PRIx64 "]", name->function ? name->function : name->file_offset);
	} else {
		fputs("[unknown]", out);
	}
}

#define MAX_TRACING_FRAMES 8

/* the first kernel frame to be shown */
static uint32_t first_kernel_frame(const struct frames_writer *w, const struct stack_frames *kernel)
{
	for (uint32_t i = 0; w->options->switched && i < kernel->nr && i < MAX_TRACING_FRAMES; i++) {
		struct frame_name name = name_kernel_frame(w->kallsyms, kernel->frames[i]);

		if (name.symbol && !strcmp(name.symbol, "__schedule"))
			return i;
	}
	return 0;
}

static void put_user(const struct frames_writer *w, uint64_t frame)
{
	struct frame_name name = name_user_frame(w->modules, frame);

	put_frame(w->out, &name);
	if (w->options->annotate && frame & FRAME_ADDRESS)
		fputs("_[j]", w->out);
}

static void put_kernel(const struct frames_writer *w, uint64_t frame)
{
	struct frame_name name = name_kernel_frame(w->kallsyms, frame);

	put_frame(w->out, &name);
	if (w->options->annotate)
		fputs("_[k]", w->out);
}

static void put_folded(const struct frames_writer *w, const struct stack_entry *entry)
{
	const struct stack_frames *user = entry->user, *kernel = entry->kernel;

	put_escaped(w->out, entry->key.comm);
	for (uint32_t i = user ? user->nr : 0; i-- > 0;) {
		putc(';', w->out);
		put_user(w, user->frames[i]);
	}
	if (w->options->delimiter && user && kernel)
		fputs(";-", w->out);
	for (uint32_t i = kernel ? kernel->nr : 0, first = kernel ? first_kernel_frame(w, kernel) : 0; i-- > first;) {
		putc(';', w->out);
		put_kernel(w, kernel->frames[i]);
	}
}

void stack_report_frames(const struct frames_writer *w, const struct stack_entry *entry, int indent)
{
	const struct stack_frames *user = entry->user, *kernel = entry->kernel;

	for (uint32_t i = kernel ? first_kernel_frame(w, kernel) : 0; kernel && i < kernel->nr; i++) {
		fprintf(w->out, "%*s", indent, "");
		put_kernel(w, kernel->frames[i]);
		putc('\n', w->out);
	}
	if (w->options->delimiter && user && kernel)
		fprintf(w->out, "%*s-\n", indent, "");
	for (uint32_t i = 0; user && i < user->nr; i++) {
		fprintf(w->out, "%*s", indent, "");
		put_user(w, user->frames[i]);
		putc('\n', w->out);
	}
}

static void put_multiline(const struct frames_writer *w, const struct stack_entry *entry)
{
	stack_report_frames(w, entry, 4);
	fputs("    -                ", w->out);
	put_escaped(w->out, entry->key.comm);
	fprintf(w->out, " (%u)\n", entry->key.pid);
}

/* stacks that read the same are one */
struct printed {
	char *text;
	uint64_t value;
	UT_hash_handle hh;
};

static int most_first(struct printed *left, struct printed *right)
{
	if (left->value != right->value)
		return left->value > right->value ? -1 : 1;
	return strcmp(left->text, right->text);
}

static int print_text(struct frames_writer *w, FILE *out, const struct stack_entry *entries, size_t nr)
{
	struct printed *all = NULL, *printed, *next;
	bool folded = w->options->format == REPORT_FOLDED;
	int error = 0;

	for (size_t i = 0; i < nr && !error; i++) {
		char *text = NULL;
		size_t size;

		w->out = open_memstream(&text, &size);
		if (!w->out)
			return -ENOMEM;
		if (folded)
			put_folded(w, &entries[i]);
		else
			put_multiline(w, &entries[i]);
		if (fclose(w->out) || !text) {
			error = -ENOMEM;
			break;
		}
		HASH_FIND_STR(all, text, printed);
		if (printed) {
			printed->value += measured(w->measure, &entries[i].value);
			free(text);
			continue;
		}
		printed = calloc(1, sizeof(*printed));
		if (!printed) {
			free(text);
			error = -ENOMEM;
			break;
		}
		printed->text = text;
		printed->value = measured(w->measure, &entries[i].value);
		HASH_ADD_KEYPTR(hh, all, text, size, printed);
	}
	HASH_SORT(all, most_first);
	HASH_ITER(hh, all, printed, next) {
		if (!error)
			fprintf(out, folded ? "%s %" PRIu64 "\n" : "%s        %" PRIu64 "\n\n", printed->text,
				in_text(w->measure, printed->value));
		HASH_DEL(all, printed);
		free(printed->text);
		free(printed);
	}
	return error;
}

/* ---- JSON ---- */

static void put_build_id(struct json_object *frame, const struct module *module)
{
	char hex[2 * sizeof(module->build_id) + 1] = "";

	for (size_t i = 0; i < module->build_id_bytes; i++)
		sprintf(hex + 2 * i, "%02x", module->build_id[i]);
	if (*hex)
		json_object_object_add(frame, "build_id", json_object_new_string(hex));
}

static struct json_object *json_frame(const struct frame_name *name, bool by_fp)
{
	struct json_object *frame = json_object_new_object();

	if (name->symbol) {
		json_object_object_add(frame, "symbol", json_name(name->symbol));
		json_object_object_add(frame, "offset", json_object_new_uint64(name->offset));
	} else if (name->function) {
		json_object_object_add(frame, "function_vaddr", json_object_new_uint64(name->function));
		json_object_object_add(frame, "offset", json_object_new_uint64(name->offset));
	}
	if (name->module)
		json_object_object_add(frame, "module", json_name(name->module));
	if (name->file) {
		put_build_id(frame, name->file);
		json_object_object_add(frame, "file_offset", json_object_new_uint64(name->file_offset));
	} else {
		json_object_object_add(frame, "address", json_object_new_uint64(name->address));
	}
	if (by_fp)
		json_object_object_add(frame, "by", json_object_new_string("fp"));
	return frame;
}

static void put_off_cpu(struct json_object *stack, enum report_measure measure, const struct stack_entry *entry)
{
	char state[] = { thread_state_letter(STACK_STATE(entry->key.flags)), 0 };

	json_object_object_add(stack, "value_ns", json_object_new_uint64(measured(measure, &entry->value)));
	json_object_object_add(stack, "blocked_ns", json_object_new_uint64(entry->value.blocked_ns));
	json_object_object_add(stack, "waiting_ns", json_object_new_uint64(entry->value.waiting_ns));
	json_object_object_add(stack, "state", json_object_new_string(state));
	if (entry->key.flags & STACK_OPEN)
		json_object_object_add(stack, "open", json_object_new_boolean(true));
}

void stack_report_json_frames(const struct frames_writer *w, const struct stack_entry *entry, struct json_object *stack)
{
	struct json_object *user = json_object_new_array(), *kernel = json_object_new_array();

	for (uint32_t i = 0; entry->user && i < entry->user->nr; i++) {
		struct frame_name name = name_user_frame(w->modules, entry->user->frames[i]);

		json_object_array_add(user, json_frame(&name, entry->user->frames[i] & FRAME_BY_FP));
	}
	for (uint32_t i = entry->kernel ? first_kernel_frame(w, entry->kernel) : 0; entry->kernel && i < entry->kernel->nr; i++) {
		struct frame_name name = name_kernel_frame(w->kallsyms, entry->kernel->frames[i]);

		json_object_array_add(kernel, json_frame(&name, false));
	}
	json_object_object_add(stack, "user", user);
	json_object_object_add(stack, "kernel", kernel);
}

static struct json_object *json_stack(const struct frames_writer *w, const struct stack_entry *entry)
{
	struct json_object *stack = json_object_new_object();

	json_object_object_add(stack, "type", json_object_new_string("stack"));
	json_object_object_add(stack, "pid", json_object_new_int64(entry->key.pid));
	json_object_object_add(stack, "tid", json_object_new_int64(entry->key.tid));
	json_object_object_add(stack, "comm", json_name(entry->key.comm));
	json_object_object_add(stack, "count", json_object_new_uint64(entry->value.count));
	if (w->measure == REPORT_SAMPLES)
		json_object_object_add(stack, "value_ns", json_object_new_uint64(entry->value.count * w->options->ns_per_sample));
	else
		put_off_cpu(stack, w->measure, entry);
	json_object_object_add(stack, "end", json_object_new_string(end_reason_name(entry->key.end)));
	stack_report_json_frames(w, entry, stack);
	return stack;
}

static int most_first_entry(const void *left, const void *right, void *measure)
{
	const struct stack_entry *l = *(const struct stack_entry *const *)left, *r = *(const struct stack_entry *const *)right;
	uint64_t of_left = measured(*(enum report_measure *)measure, &l->value);
	uint64_t of_right = measured(*(enum report_measure *)measure, &r->value);

	if (of_left != of_right)
		return of_left > of_right ? -1 : 1;
	return memcmp(&l->key, &r->key, sizeof(l->key));
}

static int print_json(struct frames_writer *w, FILE *out, const struct stack_entry *entries, size_t nr)
{
	const struct stack_entry **sorted = calloc(nr + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		sorted[i] = &entries[i];
	qsort_r(sorted, nr, sizeof(*sorted), most_first_entry, &w->measure);
	for (size_t i = 0; i < nr; i++)
		json_print(out, json_stack(w, sorted[i]));
	free(sorted);
	return 0;
}

/* ---- the whole ---- */

static void count(const struct stack_entry *entries, size_t nr, struct report_summary *summary)
{
	summary->samples = summary->blocked_ns = summary->waiting_ns = 0;
	memset(summary->ended, 0, sizeof(summary->ended));
	memset(summary->ended_ns, 0, sizeof(summary->ended_ns));
	for (size_t i = 0; i < nr; i++) {
		const struct stack_value *value = &entries[i].value;

		summary->samples += value->count;
		summary->blocked_ns += value->blocked_ns;
		summary->waiting_ns += value->waiting_ns;
		if (entries[i].key.end >= NR_END_REASONS)
			continue;
		summary->ended[entries[i].key.end] += value->count;
		summary->ended_ns[entries[i].key.end] += measured(summary->measure, value);
	}
}

int stack_report(FILE *out, const struct report_options *options, struct modules *modules,
		 const struct stack_entry *entries, size_t nr, struct report_summary *summary)
{
	struct frames_writer w = { .options = options, .measure = summary->measure, .modules = modules };
	struct kallsyms *kallsyms = NULL;
	int error;

	count(entries, nr, summary);
	for (size_t i = 0; i < nr && !kallsyms; i++)
		if (entries[i].kernel && kallsyms_read(&kallsyms))
			break;		/* not permitted: the frames stay without names */
	w.kallsyms = kallsyms;
	error = options->format == REPORT_JSON ? print_json(&w, out, entries, nr) : print_text(&w, out, entries, nr);
	kallsyms_free(kallsyms);
	return error;
}

static struct json_object *json_by_reason(const uint64_t values[NR_END_REASONS])
{
	struct json_object *object = json_object_new_object();

	for (int i = 0; i < NR_END_REASONS; i++)
		json_object_object_add(object, end_reason_name(i), json_object_new_uint64(values[i]));
	return object;
}

void stack_report_summary_json(FILE *out, const struct report_summary *summary)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "type", json_object_new_string("summary"));
	json_object_object_add(object, "tool", json_object_new_string(summary->tool));
	json_object_object_add(object, "seconds", json_object_new_double(summary->seconds));
	json_object_object_add(object, "samples", json_object_new_uint64(summary->samples));
	json_object_object_add(object, "lost", json_object_new_uint64(summary->lost + summary->no_room));
	json_object_object_add(object, "lost_unseen", json_object_new_uint64(summary->lost));
	json_object_object_add(object, "lost_no_room", json_object_new_uint64(summary->no_room));
	json_object_object_add(object, "stacks_lost", json_object_new_uint64(summary->stacks_lost));
	json_object_object_add(object, "forks_lost", json_object_new_uint64(summary->forks_lost));
	json_object_object_add(object, "ended", json_by_reason(summary->ended));
	if (summary->measure != REPORT_SAMPLES) {
		json_object_object_add(object, "blocked_ns", json_object_new_uint64(summary->blocked_ns));
		json_object_object_add(object, "waiting_ns", json_object_new_uint64(summary->waiting_ns));
		json_object_object_add(object, "ended_ns", json_by_reason(summary->ended_ns));
	}
	json_print(out, object);
}

static void put_samples(FILE *out, const struct report_summary *summary)
{
	uint64_t none = summary->ended[END_NO_USER] + summary->ended[END_NOT_TAKEN];
	uint64_t with_user = summary->samples - none;

	fprintf(out, "%s: %" PRIu64 " samples in %.1f s", summary->tool, summary->samples, summary->seconds);
	if (with_user)
		fprintf(out, ", %.2f %% of %" PRIu64 " user stacks complete",
			100.0 * summary->ended[END_COMPLETE] / with_user, with_user);
	fprintf(out, ", %" PRIu64 " lost\n", summary->lost + summary->no_room);
}

static void put_stays(FILE *out, const struct report_summary *summary)
{
	double with_user = 0;

	for (int i = 0; i < NR_END_REASONS; i++)
		if (i != END_NO_USER && i != END_NOT_TAKEN)
			with_user += summary->ended_ns[i];
	fprintf(out, "%s: off the CPU %" PRIu64 " times in %.1f s, blocked for %.3f s and waiting to run for %.3f s", summary->tool,
		summary->samples, summary->seconds, summary->blocked_ns / 1e9, summary->waiting_ns / 1e9);
	if (with_user > 0)
		fprintf(out, ", user stacks complete for %.2f %% of %.3f s", 100.0 * summary->ended_ns[END_COMPLETE] / with_user,
			with_user / 1e9);
	fprintf(out, ", %" PRIu64 " lost\n", summary->lost + summary->no_room);
}

void stack_report_summary_text(FILE *out, const struct report_summary *summary)
{
	bool off_cpu = summary->measure != REPORT_SAMPLES;

	if (off_cpu)
		put_stays(out, summary);
	else
		put_samples(out, summary);
	for (int i = 0; i < NR_END_REASONS; i++) {
		if (!summary->ended[i] || i == END_COMPLETE || i == END_NO_USER || i == END_NOT_TAKEN)
			continue;
		fprintf(out, "%s: %" PRIu64, summary->tool, summary->ended[i]);
		if (off_cpu)
			fprintf(out, " (%.3f s)", summary->ended_ns[i] / 1e9);
		fprintf(out, " ended %s: %s\n", end_reason_name(i), end_reason_meaning(i));
	}
	if (summary->lost)
		fprintf(out, "%s: %" PRIu64 " %s\n", summary->tool, summary->lost,
			off_cpu ? "events lost: a program was running already on that CPU"
				: "samples lost on all CPUs together: interrupts were late, or the CPU was inside bpf(2)");
	if (summary->no_room)
		fprintf(out, "%s: %" PRIu64 " samples lost: no room in the maps, see --max-stacks\n", summary->tool, summary->no_room);
	if (summary->forks_lost)
		fprintf(out, "%s: %" PRIu64 " %s\n", summary->tool, summary->forks_lost,
			off_cpu ? "threads not measured: too many at a time, or no memory"
				: "processes of the command not sampled: too many at a time");
	if (summary->stacks_lost)
		fprintf(out, "%s: the frames of %" PRIu64 " samples found no room in the ring buffer at first\n",
			summary->tool, summary->stacks_lost);
}

void stack_report_tableless(FILE *out, const char *tool, const struct modules *modules, const struct stack_entry *entries,
			    size_t nr)
{
	uint64_t *ended = calloc(modules_count(modules) + 1, sizeof(*ended));

	for (size_t i = 0; ended && i < nr; i++) {
		const struct stack_frames *user = entries[i].user;

		if (entries[i].key.end == END_NO_TABLE && user && user->nr && !(user->frames[user->nr - 1] & FRAME_ADDRESS) &&
		    FRAME_MODULE(user->frames[user->nr - 1]) <= modules_count(modules))
			ended[FRAME_MODULE(user->frames[user->nr - 1])] += entries[i].value.count;
	}
	for (size_t id = 1; ended && id <= modules_count(modules); id++) {
		const struct module *module = modules_get(modules, id);

		if (ended[id])
			fprintf(out, "%s: %" PRIu64 " of these in '%s': %s\n", tool, ended[id], module->path,
				module->error ? elf_file_explain(module->error) : "its tables were not ready");
	}
	free(ended);
}
