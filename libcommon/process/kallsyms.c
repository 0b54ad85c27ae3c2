// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/kallsyms.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"

struct kallsyms {
	enum { NOT_READ, BEING_READ, READ } state;
	pthread_t reader;
	int error;
	struct kernel_symbol *symbols;
	size_t nr, room;
	char *text;	/* the file; names point into it */
	uint64_t scheduler_start, scheduler_end;	/* 0: not known */
};

static int read_text(const char *name, char **text)
{
	FILE *file = fopen(name, "re");
	size_t size = 0;
	int error = 0;

	if (!file)
		return -errno;
	*text = NULL;
	errno = 0;
	if (getdelim(text, &size, 0, file) < 0)
		error = errno ? -errno : -ENODATA;
	fclose(file);
	if (error) {
		free(*text);
		*text = NULL;
	}
	return error;
}

static int by_start(const void *left, const void *right)
{
	const struct kernel_symbol *l = left, *r = right;

	return l->start < r->start ? -1 : l->start > r->start;
}

static int add(struct kallsyms *k, struct kernel_symbol symbol)
{
	if (array_reserve(&k->symbols, &k->room, k->nr + 1))
		return -ENOMEM;
	k->symbols[k->nr++] = symbol;
	return 0;
}

/* where the linker has put the functions that wait for others: schedule(), mutex_lock() and the like */
static void note_scheduler(struct kallsyms *k, const struct kernel_symbol *symbol)
{
	if (!strcmp(symbol->name, "__sched_text_start"))
		k->scheduler_start = symbol->start;
	else if (!strcmp(symbol->name, "__sched_text_end"))
		k->scheduler_end = symbol->start;
}

/* "ffffffff81000000 T name[\t[module]]" */
static int parse(struct kallsyms *k)
{
	char *line, *next;
	int error = 0;

	for (line = k->text; line && *line && !error; line = next) {
		struct kernel_symbol symbol = {};
		char *end, *tab;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		symbol.start = strtoull(line, &end, 16);
		if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !strchr("tTwW", end[1]))
			continue;
		symbol.name = end + 3;
		tab = strchr(end + 3, '\t');
		if (tab) {
			*tab = 0;
			if (tab[1] == '[') {
				symbol.module = tab + 2;
				tab[strcspn(tab + 1, "]") + 1] = 0;
			}
		}
		if (symbol.start && !symbol.module)
			note_scheduler(k, &symbol);
		if (symbol.start)
			error = add(k, symbol);
	}
	return error;
}

static int read_symbols(struct kallsyms *k)
{
	int error = read_text("/proc/kallsyms", &k->text);

	if (!error)
		error = parse(k);
	if (!error && !k->nr)
		error = -EACCES;
	if (error)
		k->nr = 0;
	else
		qsort(k->symbols, k->nr, sizeof(*k->symbols), by_start);
	return error;
}

/* ---- when they are read ---- */

struct kallsyms *kallsyms_new(void)
{
	return calloc(1, sizeof(struct kallsyms));
}

static void *read_in_thread(void *arg)
{
	struct kallsyms *k = arg;

	k->error = read_symbols(k);
	return NULL;
}

void kallsyms_begin(struct kallsyms *k)
{
	if (k->state == NOT_READ && !pthread_create(&k->reader, NULL, read_in_thread, k))
		k->state = BEING_READ;
}

void kallsyms_read(struct kallsyms *k)
{
	if (k->state == NOT_READ)
		k->error = read_symbols(k);
	if (k->state == BEING_READ)
		pthread_join(k->reader, NULL);
	k->state = READ;
}

int kallsyms_error(const struct kallsyms *k)
{
	return k->state == READ ? k->error : 0;
}

const char *kallsyms_explain(int error)
{
	FILE *file = error == -EACCES ? fopen("/proc/sys/kernel/kptr_restrict", "re") : NULL;
	int restricted = file ? fgetc(file) : 0;

	if (file)
		fclose(file);
	if (error != -EACCES)
		return strerror(-error);
	return restricted == '2' ? "kernel.kptr_restrict is 2; 'sysctl kernel.kptr_restrict=1' lets root see them" :
				   "CAP_SYSLOG is missing; run as root";
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	if (k->state == BEING_READ) {	/* nobody has asked: the tool ends before that does */
		pthread_detach(k->reader);
		return;
	}
	free(k->symbols);
	free(k->text);
	free(k);
}

const struct kernel_symbol *kallsyms_find(struct kallsyms *k, uint64_t addr)
{
	size_t nr;

	if (k && k->state != READ)
		kallsyms_read(k);
	nr = k ? count_up_to(k->symbols, k->nr, start, addr) : 0;
	return nr ? &k->symbols[nr - 1] : NULL;
}

bool kallsyms_is_scheduler(struct kallsyms *k, uint64_t addr)
{
	return kallsyms_find(k, addr) && addr >= k->scheduler_start && addr < k->scheduler_end;
}

int kallsyms_ranges(const char *const names[], struct kernel_range ranges[], size_t nr)
{
	char *text, *line, *rest;
	int error = read_text("/proc/kallsyms", &text);

	if (error)
		return error;
	memset(ranges, 0, nr * sizeof(*ranges));
	/*
	 * The kernel's own symbols come first, sorted by address: "ffffffff81000000 T name". A module's
	 * symbol has a tab and "[module]" after the name, so that it never equals a wanted name.
	 */
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		uint64_t address = strtoull(line, NULL, 16);

		for (size_t i = 0; i < nr; i++) {
			if (ranges[i].start && !ranges[i].end && address > ranges[i].start)
				ranges[i].end = address;
			if (strlen(line) > 19 && !strcmp(line + 19, names[i]))
				ranges[i] = (struct kernel_range){ .start = address };
		}
	}
	free(text);
	return 0;
}
