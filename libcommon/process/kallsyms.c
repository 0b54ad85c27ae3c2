// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/kallsyms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"
#include "base/search.h"

struct kallsyms {
	int error;
	struct kallsym *symbols;
	size_t nr, room;
	char *text; /* the file; names point into it */
};

static int read_text(char **text)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char buffer[1 << 14]; /* it is megabytes, and procfs suggests 1 KB */
	size_t size = 0;
	int error = 0;

	if (!file)
		return -errno;
	*text = NULL;
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
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
	const struct kallsym *l = left, *r = right;

	return order_of(l->start, r->start);
}

static int add(struct kallsyms *k, struct kallsym symbol)
{
	if (array_reserve(&k->symbols, &k->room, k->nr + 1))
		return -ENOMEM;
	k->symbols[k->nr++] = symbol;
	return 0;
}

/*
 * Takes the next symbol off the text, "ffffffff81000000 T name[\t[module]]". *type: its letter.
 * false: there is none
 */
static bool next_symbol(char **text, char *type, struct kallsym *symbol)
{
	char *line, *end, *tab;

	while ((line = strsep(text, "\n"))) {
		*symbol = (struct kallsym){ .start = strtoull(line, &end, 16) };
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
	struct kallsym symbol;
	char *rest = k->text, type;
	int error = 0;

	while (!error && next_symbol(&rest, &type, &symbol)) {
		if (!symbol.start || !strchr("tTwW", type))
			continue;
		error = add(k, symbol);
	}
	return error;
}

static int read_symbols(struct kallsyms *k)
{
	int error = read_text(&k->text);

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

struct kallsyms *kallsyms_read(void)
{
	struct kallsyms *k = calloc(1, sizeof(*k));

	if (k)
		k->error = read_symbols(k);
	return k;
}

int kallsyms_error(const struct kallsyms *k)
{
	return k->error;
}

const char *kallsyms_explain(int error)
{
	FILE *file = error == -EACCES ? fopen("/proc/sys/kernel/kptr_restrict", "re") : NULL;
	int restricted = file ? fgetc(file) : 0;

	if (file)
		fclose(file);
	if (error != -EACCES)
		return strerror(-error);
	return restricted == '2'
		       ? "kernel.kptr_restrict is 2; 'sysctl kernel.kptr_restrict=1' lets root see them"
		       : "CAP_SYSLOG is missing; run as root";
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->symbols);
	free(k->text);
	free(k);
}

const struct kallsym *kallsyms_find(const struct kallsyms *k, uint64_t address)
{
	size_t nr = count_up_to(k->symbols, k->nr, start, address);

	return nr ? &k->symbols[nr - 1] : NULL;
}
