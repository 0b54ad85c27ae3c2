// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/kallsyms.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"
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

	return order_of(l->start, r->start);
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

/* Takes the next symbol off the text, "ffffffff81000000 T name[\t[module]]". *type: its letter. false: there is none */
static bool next_symbol(char **text, char *type, struct kernel_symbol *symbol)
{
	char *line, *end, *tab;

	while ((line = strsep(text, "\n"))) {
		*symbol = (struct kernel_symbol){ .start = strtoull(line, &end, 16) };
		if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
			continue;
		*type = end[1];
		symbol->name = end + 3;
		tab = strchr(end + 3, '\t');
		if (tab) {
			*tab++ = 0;
			if (*tab == '[') {
				symbol->module = tab + 1;
				tab[strcspn(tab, "]")] = 0;
			}
		}
		return true;
	}
	return false;
}

static int parse(struct kallsyms *k)
{
	struct kernel_symbol symbol;
	char *rest = k->text, type;
	int error = 0;

	while (!error && next_symbol(&rest, &type, &symbol)) {
		if (!symbol.start || !strchr("tTwW", type))
			continue;
		if (!symbol.module)
			note_scheduler(k, &symbol);
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
	struct kernel_symbol symbol;
	char *text, *rest, type;
	int error = read_text("/proc/kallsyms", &text);

	if (error)
		return error;
	memset(ranges, 0, nr * sizeof(*ranges));
	/* the kernel's own symbols come first, sorted by address */
	for (rest = text; next_symbol(&rest, &type, &symbol);)
		for (size_t i = 0; i < nr; i++) {
			if (ranges[i].start && !ranges[i].end && symbol.start > ranges[i].start)
				ranges[i].end = symbol.start;
			if (!symbol.module && !strcmp(symbol.name, names[i]))
				ranges[i] = (struct kernel_range){ .start = symbol.start };
		}
	free(text);
	return 0;
}
