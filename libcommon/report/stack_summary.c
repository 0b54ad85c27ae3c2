// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/stack_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "report/counted.h"
#include "report/escape.h"
#include "report/idle.h"
#include "report/json.h"
#include "runtimes/runtimes.h"
#include "unwind/end_reason.h"
#include "unwind/processes.h"

void stack_summary_count(struct stack_summary *s, const struct stack_entry *entries, size_t nr)
{
	s->sum = (struct stack_value){};
	memset(s->ended, 0, sizeof(s->ended));
	memset(s->ended_value, 0, sizeof(s->ended_value));
	for (size_t i = 0; i < nr; i++) {
		const struct stack_value *value = &entries[i].value;

		stack_value_add(&s->sum, value);
		if (entries[i].key.end >= NR_END_REASONS)
			continue;
		s->ended[entries[i].key.end] += value->count;
		s->ended_value[entries[i].key.end] += s->measure->value(value);
	}
}

/* ---- JSON ---- */

struct json_object *stack_summary_json_ends(const uint64_t values[NR_END_REASONS])
{
	struct json_object *object = json_object_new_object();

	for (int i = 0; i < NR_END_REASONS; i++)
		json_object_object_add(object, end_reason_name(i), json_number(values[i]));
	return object;
}

/* the summary as people read it, and pages show it */
static void put_said(struct json_object *object, const struct stack_summary *s)
{
	char *text = stack_summary_text(s);

	json_add_name(object, "said", text);
	free(text);
}

static void put_calls(struct json_object *object, const char *runtime,
		      const struct runtime_calls *calls)
{
	char name[64];

	if (!calls->all)
		return;
	snprintf(name, sizeof(name), "%s_calls", runtime);
	json_object_object_add(object, name, json_number(calls->all));
	snprintf(name, sizeof(name), "%s_named", runtime);
	json_object_object_add(object, name, json_number(calls->named));
}

struct json_object *stack_summary_object(const struct stack_summary *s)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "type", json_object_new_string("summary"));
	json_object_object_add(object, "tool", json_object_new_string(s->tool));
	json_object_object_add(object, "began", json_time(s->started_ns));
	json_object_object_add(object, "seconds", json_object_new_double(s->seconds));
	json_object_object_add(object, "samples", json_number(s->sum.count));
	json_object_object_add(object, "frames", json_number(s->names.frames));
	json_object_object_add(object, "named", json_number(s->names.named));
	for (size_t i = 0; all_runtimes[i]; i++)
		put_calls(object, all_runtimes[i]->name, &s->names.calls[i]);
	idle_json(object, s->idle_threads, s->idle_ns);
	if (s->summed_up)
		json_object_object_add(object, "summed_up", json_number(s->summed_up));
	json_add_name(object, "only", s->only);
	losses_json(object, s->losses, s->nr_losses);
	json_object_object_add(object, "ended", stack_summary_json_ends(s->ended));
	if (s->measure->summary_json)
		s->measure->summary_json(object, s);
	if (s->measure->sum_unit)
		json_object_object_add(object, "sum", json_number(s->measure->value(&s->sum)));
	if (s->measure->is_time)
		json_object_object_add(object, "ended_ns", stack_summary_json_ends(s->ended_value));
	return object;
}

void stack_summary_json(FILE *out, const struct stack_summary *s)
{
	struct json_object *object = stack_summary_object(s);

	put_said(object, s);
	json_print(out, object);
}

/* ---- text ---- */

static bool has_user_stack(enum end_reason end)
{
	return end != END_NO_USER && end != END_NOT_TAKEN;
}

static uint64_t value_with_user(const struct stack_summary *s)
{
	uint64_t with_user = 0;

	for (int i = 0; i < NR_END_REASONS; i++)
		if (has_user_stack(i))
			with_user += s->ended_value[i];
	return with_user;
}

double stack_summary_complete(const struct stack_summary *s)
{
	uint64_t with_user = value_with_user(s);

	return with_user ? 100.0 * s->ended_value[END_COMPLETE] / with_user : -1;
}

/* Prints the share of complete user stacks: of their number, or of their time. */
void stack_summary_say_complete(FILE *out, const struct stack_summary *s)
{
	uint64_t with_user = value_with_user(s);
	double complete = stack_summary_complete(s);

	if (!with_user)
		return;
	if (s->measure->is_time)
		fprintf(out, ", user stacks complete for %.2f %% of %.3f s", complete,
			with_user / 1e9);
	else if (s->measure->sum_unit)
		fprintf(out, ", user stacks complete for %.2f %% of %s", complete,
			measure_say(s->measure, with_user).text);
	else
		fprintf(out, ", %.2f %% of %s complete", complete,
			counted(with_user, "user stacks").text);
}

uint64_t stack_summary_lost(const struct stack_summary *s, uint64_t *of_others)
{
	*of_others = s->of_some ? losses_of_machine(s->losses, s->nr_losses) : 0;
	return losses_total(s->losses, s->nr_losses) - *of_others;
}

static void say_lost(FILE *out, const struct stack_summary *s)
{
	uint64_t of_others, lost = stack_summary_lost(s, &of_others), taken = s->sum.count;

	if (!losses_matter(s->losses, s->nr_losses, taken))
		return;
	if (lost)
		fprintf(out, ", %" PRIu64 " (%.1f %%) lost", lost, percent_of(lost, taken + lost));
	if (of_others)
		fprintf(out, ", %" PRIu64 " lost on the whole machine", of_others);
}

char *stack_summary_text(const struct stack_summary *s)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	stack_summary_print(out, s);
	return fclose(out) ? NULL : text;
}

void stack_summary_print_ends(FILE *out, const struct stack_summary *s)
{
	for (int i = 0; i < NR_END_REASONS; i++) {
		if (!(s->ended[i] | s->ended_value[i]) || i == END_COMPLETE || !has_user_stack(i))
			continue;
		fprintf(out, "%s: %" PRIu64, s->tool, s->ended[i]);
		if (s->measure->is_time)
			fprintf(out, " (%.3f s)", s->ended_value[i] / 1e9);
		fprintf(out, " ended %s: %s\n", end_reason_name(i), end_reason_meaning(i));
	}
}

void stack_summary_print(FILE *out, const struct stack_summary *s)
{
	if (s->said) {
		fputs(s->said, out);
		return;
	}
	fprintf(out, "%s: ", s->tool);
	if (s->measure->say)
		s->measure->say(out, s);
	else
		fprintf(out, "%s in %.1f s", counted(s->sum.count, s->measure->counted).text,
			s->seconds);
	stack_summary_say_complete(out, s);
	names_count_say(out, &s->names);
	say_lost(out, s);
	putc('\n', out);
	if (s->only) {
		fprintf(out, "%s: these are only the stacks that match \"", s->tool);
		print_message(out, s->only);
		fputs("\"\n", out);
	}
	idle_print(out, s->tool, s->idle_threads, s->idle_ns);
	stack_summary_print_ends(out, s);
	if (s->summed_up)
		fprintf(out,
			"%s: \"[other stacks]\" sums up the coldest %s: the report had no room, see --max-report\n",
			s->tool, counted(s->summed_up, "stacks").text);
	names_count_print_causes(out, s->tool, &s->names);
	losses_print(out, s->tool, s->losses, s->nr_losses, s->sum.count);
}

void stack_summary_crowded(FILE *out, const char *tool, const struct modules *modules)
{
	if (modules_were_full(modules))
		fprintf(out, "%s: %d files had code at a time, and others were not followed\n",
			tool, MAX_MODULES - 1);
}

#define MAX_CAUSE_LINES 8 /* of files, and of processes */

struct tableless {
	uint32_t module;
	uint64_t samples;
};

static int by_module(const void *left, const void *right)
{
	const struct tableless *l = left, *r = right;

	return order_of(l->module, r->module);
}

static int by_tableless_samples(const void *left, const void *right)
{
	const struct tableless *l = left, *r = right;

	return order_of(r->samples, l->samples) ?: by_module(left, right);
}

/* The files in which stacks ended, each once. How many there are */
static size_t sum_tableless(struct tableless *all, const struct modules *modules,
			    const struct stack_entry *entries, size_t nr)
{
	size_t found = 0, files = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct stack_frames *user = entries[i].user;
		uint64_t last = user && user->nr ? user->frames[user->nr - 1] : FRAME_ADDRESS;

		if (entries[i].key.end == END_NO_TABLE && !(last & FRAME_ADDRESS) &&
		    modules_get(modules, FRAME_MODULE(last)))
			all[found++] =
				(struct tableless){ FRAME_MODULE(last), entries[i].value.count };
	}
	if (found)
		qsort(all, found, sizeof(*all), by_module);
	for (size_t i = 0; i < found; i++)
		if (files && all[files - 1].module == all[i].module)
			all[files - 1].samples += all[i].samples;
		else
			all[files++] = all[i];
	return files;
}

void stack_summary_tableless(FILE *out, const char *tool, const struct modules *modules,
			     const struct stack_entry *entries, size_t nr)
{
	struct tableless *all = calloc(nr + 1, sizeof(*all));
	size_t found = all ? sum_tableless(all, modules, entries, nr) : 0;
	uint64_t others = 0;

	if (found)
		qsort(all, found, sizeof(*all), by_tableless_samples);
	for (size_t i = 0; i < found; i++) {
		const struct module *module = modules_get(modules, all[i].module);

		if (i >= MAX_CAUSE_LINES) {
			others += all[i].samples;
			continue;
		}
		fprintf(out, "%s: %" PRIu64 " of these in '", tool, all[i].samples);
		print_escaped(out, module->path);
		fprintf(out, "': %s\n",
			module_explain(module->error ? module->error : module->code_error));
	}
	if (others)
		fprintf(out, "%s: %" PRIu64 " of these in %s without a table\n", tool, others,
			counted(found - MAX_CAUSE_LINES, "more files").text);
	free(all);
}

/* notes the modules of unknown runtimes in this stack */
static void see_unknown(bool *seen, const struct modules *modules, const struct stack_frames *user)
{
	for (uint32_t i = 0; user && i < user->nr; i++) {
		uint32_t id = FRAME_MODULE(user->frames[i]);

		const struct module *module = modules_get(modules, id);

		if (!(user->frames[i] & FRAME_ADDRESS) && module)
			seen[id] |= module->runtime.error == -ENOTSUP;
	}
}

static bool has_unknown(const struct modules *modules)
{
	for (uint32_t id = 1; id <= modules_last_id(modules); id++) {
		const struct module *module = modules_get(modules, id);

		if (module && module->runtime.error == -ENOTSUP)
			return true;
	}
	return false;
}

void stack_summary_unknown_runtimes(FILE *out, const char *tool, const struct modules *modules,
				    const struct stack_entry *entries, size_t nr)
{
	bool *seen =
		has_unknown(modules) ? calloc(modules_last_id(modules) + 1, sizeof(*seen)) : NULL;

	for (size_t i = 0; seen && i < nr; i++) {
		see_unknown(seen, modules, entries[i].user);
		see_unknown(seen, modules, entries[i].waker ? entries[i].waker->user : NULL);
	}
	for (uint32_t id = 1; seen && id <= modules_last_id(modules); id++) {
		const struct module *module = seen[id] ? modules_get(modules, id) : NULL;
		const struct runtime *runtime = module ? runtime_of_file(&module->runtime) : NULL;

		if (!runtime)
			continue;
		fprintf(out, "%s: no %s functions in '", tool, runtime->language);
		print_escaped(out, module->path);
		fprintf(out,
			"': this version or build of %s is not known, and its stacks are native\n",
			runtime->implementation);
	}
	free(seen);
}

struct refused {
	pid_t pid;
	int error;
	const char *comm;
	uint64_t samples;
};

static int by_samples(const void *left, const void *right)
{
	const struct refused *l = left, *r = right;

	return order_of(r->samples, l->samples) ?: order_of(l->pid, r->pid);
}

/* Sums up the samples of processes that went without. How many processes there are */
static size_t sum_refused(struct refused *all, const struct processes *processes,
			  const struct stack_entry *entries, size_t nr)
{
	size_t found = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct stack_key *key = &entries[i].key;
		bool unknown = key->end == END_UNKNOWN_PROCESS && entries[i].value.count;
		int error = unknown ? processes_why_refused(processes, key->pid) : 0;
		size_t at = 0;

		while (error && at < found && all[at].pid != (pid_t)key->pid)
			at++;
		if (error && at == found && found < MAX_REFUSALS)
			all[found++] = (struct refused){ .pid = key->pid,
							 .error = error,
							 .comm = key->comm };
		if (error && at < found)
			all[at].samples += entries[i].value.count;
	}
	return found;
}

void stack_summary_refused(FILE *out, const char *tool, const struct processes *processes,
			   const struct stack_entry *entries, size_t nr)
{
	struct refused *all = calloc(MAX_REFUSALS, sizeof(*all));
	size_t found = all ? sum_refused(all, processes, entries, nr) : 0, nr_own = 0, nr_unstarted;
	uint64_t others = 0, unstarted = 0;

	/* a cause that is no process's own is said once */
	for (size_t i = 0; i < found; i++)
		if (all[i].error == -EUSERS)
			unstarted += all[i].samples;
		else
			all[nr_own++] = all[i];
	nr_unstarted = found - nr_own;
	found = nr_own;
	if (nr_unstarted)
		fprintf(out, "%s: %" PRIu64 " of these in %s: %s\n", tool, unstarted,
			counted(nr_unstarted, "processes").text, process_explain(-EUSERS));
	if (found)
		qsort(all, found, sizeof(*all), by_samples);
	for (size_t i = 0; i < found; i++) {
		if (i >= MAX_CAUSE_LINES) {
			others += all[i].samples;
			continue;
		}
		fprintf(out, "%s: %" PRIu64 " of these in PID %d, ", tool, all[i].samples,
			all[i].pid);
		print_escaped(out, all[i].comm);
		fprintf(out, ": %s\n", process_explain(all[i].error));
	}
	if (others)
		fprintf(out, "%s: %" PRIu64 " of these in %s that were not followed either\n", tool,
			others, counted(found - MAX_CAUSE_LINES, "more processes").text);
	free(all);
}

/* NULL: not worth a line */
static const char *explain_fetching(int error)
{
	switch (error) {
	case -ETIMEDOUT:
		return "the servers in $DEBUGINFOD_URLS do not answer";
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		return "a server in $DEBUGINFOD_URLS cannot be reached";
	case -ETIME:
		return "a run's time for it was used up";
	case -EFBIG:
		return "they are larger than the limit of a run";
	case -ENOSYS:
		return "libdebuginfod.so.1 is missing";
	default:
		return NULL;
	}
}

static const char *explain_naming(int error)
{
	switch (error) {
	case -ETIME:
		return "reading them takes too much time";
	case -ETIMEDOUT:
		return "a file system did not answer";
	case -EAGAIN:
		return "no process to read names could be started: see RLIMIT_NPROC and pids.max";
	case -ENOMEM:
		return "there was no memory to read them";
	default:
		return module_explain(error);
	}
}

void stack_summary_nameless(FILE *out, const char *tool, const struct namer *namer)
{
	struct namer_losses lost = namer_losses(namer);

	if (lost.given_up) {
		fprintf(out, "%s: ", tool);
		if (lost.path) {
			fputs("'", out);
			print_escaped(out, lost.path);
			fputs("'", out);
		} else {
			fprintf(out, "the code of PID %d that is in no file", lost.pid);
		}
		if (lost.given_up > 1)
			fprintf(out, " and %zu more", lost.given_up - 1);
		fprintf(out, " went without names: %s\n", explain_naming(lost.error));
	}
	if (lost.passed_over)
		fprintf(out,
			"%s: the time for names was used up: %zu files or processes were not asked for names\n",
			tool, lost.passed_over);
	if (lost.no_room)
		fprintf(out,
			"%s: there was no room for all names of %zu files or processes, see --max-memory\n",
			tool, lost.no_room);
	if (explain_fetching(lost.not_fetched))
		fprintf(out, "%s: not all debug files were fetched: %s\n", tool,
			explain_fetching(lost.not_fetched));
}

void stack_summary_unread(FILE *out, const char *tool, const struct modules *modules)
{
	const struct module *first = NULL;
	uint64_t refused = 0;
	size_t nr = 0;

	for (uint32_t id = 1; id <= modules_last_id(modules); id++) {
		const struct module *module = modules_get(modules, id);
		uint64_t of_this =
			module && module->places ? source_places_refused(module->places) : 0;

		if (!of_this)
			continue;
		if (!nr++)
			first = module;
		refused += of_this;
	}
	if (!nr)
		return;
	fprintf(out, "%s: %s without inlined functions and lines: reading the DWARF of '", tool,
		counted(refused, "addresses").text);
	print_escaped(out, first->path);
	fputs("'", out);
	if (nr > 1)
		fprintf(out, " and %s", counted(nr - 1, "more files").text);
	fprintf(out, " takes more than %d s or %d MiB, or other files had used up the time\n",
		PLACES_PREPARE_MS / 1000, PLACES_MAX_BYTES >> 20);
}
