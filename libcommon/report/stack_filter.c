// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/stack_filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/stack_labels.h"

static bool has_back_reference(const char *text)
{
	while ((text = strchr(text, '\\')) && *++text)
		if (*text++ >= '1' && text[-1] <= '9')
			return true;
	return false;
}

int pattern_compile(regex_t *compiled, const char *text, char *wrong, size_t bytes)
{
	int error;

	if (has_back_reference(text)) {
		snprintf(wrong, bytes, "no back references");
		return -EINVAL;
	}
	error = regcomp(compiled, text, REG_EXTENDED | REG_NOSUB);
	if (error)
		regerror(error, compiled, wrong, bytes);
	return error ? -EINVAL : 0;
}

enum answer { NOT_ASKED, MATCHES, DIFFERS };

struct filter {
	const struct stack_pattern *pattern;
	const struct process_notes *processes;
	struct stack_labels labels;
	/* of each label */
	enum answer *known;
	size_t nr_known, room;
};

static bool matches(const struct filter *f, const char *text)
{
	return text && !regexec(&f->pattern->compiled, text, 0, NULL, 0);
}

static bool id_matches(const struct filter *f, uint32_t id)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, id);
	return matches(f, text);
}

static bool label_matches(struct filter *f, uint32_t label)
{
	if (f->known[label] == NOT_ASKED)
		f->known[label] =
			matches(f, labels_get(f->labels.labels, label)->text) ? MATCHES : DIFFERS;
	return f->known[label] == MATCHES;
}

/* for all labels */
static int make_room(struct filter *f)
{
	size_t nr = labels_count(f->labels.labels);

	if (array_reserve(&f->known, &f->room, nr))
		return -ENOMEM;
	while (f->nr_known < nr)
		f->known[f->nr_known++] = NOT_ASKED;
	return 0;
}

/* 1, 0 or -ENOMEM */
static int is_wanted(struct filter *f, const struct stack_entry *entry)
{
	const struct process_note *process = process_notes_find(f->processes, entry->key.pid);
	int error;

	if (f->pattern->pid)
		return entry->key.pid == f->pattern->pid;
	if (id_matches(f, entry->key.tid) || id_matches(f, entry->key.pid) ||
	    (process && (matches(f, process->cmdline) || matches(f, process->cgroup))))
		return 1;
	error = stack_labels_of(&f->labels, entry);
	if (!error)
		error = make_room(f);
	for (size_t i = 0; !error && i < f->labels.nr; i++)
		if (label_matches(f, f->labels.numbers[i]))
			return 1;
	return error;
}

int stack_filter(const struct stack_writer *writer, bool off_cpu,
		 const struct stack_pattern *pattern, struct stack_entry *entries, size_t *nr)
{
	struct filter f = {
		.pattern = pattern,
		.processes = writer->processes,
		.labels = { .writer = writer, .labels = labels_new(), .off_cpu = off_cpu },
	};
	int wanted = f.labels.labels ? 0 : -ENOMEM;
	size_t kept = 0;

	for (size_t i = 0; i < *nr && wanted >= 0; i++) {
		wanted = is_wanted(&f, &entries[i]);
		if (wanted > 0)
			entries[kept++] = entries[i];
	}
	*nr = kept;
	stack_labels_free(&f.labels);
	labels_free(f.labels.labels);
	free(f.known);
	return wanted < 0 ? wanted : 0;
}
