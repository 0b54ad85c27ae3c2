// SPDX-License-Identifier: GPL-2.0-or-later
#include "live/documents.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* the index behind the group that begins at `first` */
static size_t group_end(const struct documents *d, size_t first)
{
	do
		first++;
	while (first < d->nr && !d->all[first].begins);
	return first;
}

static void drop_group(struct documents *d)
{
	for (size_t end = group_end(d, d->first); d->first < end; d->first++) {
		d->bytes -= d->all[d->first].bytes;
		free(d->all[d->first].text);
	}
}

/* Drops old groups, but not the last one. */
static void bound(struct documents *d, uint64_t now_ns)
{
	while (group_end(d, d->first) < d->nr &&
	       (d->bytes > d->max_bytes ||
		now_ns - d->all[group_end(d, d->first) - 1].ns > d->keep_ns))
		drop_group(d);
	if (d->first > d->nr / 2) {
		d->nr -= d->first;
		memmove(d->all, d->all + d->first, d->nr * sizeof(*d->all));
		d->first = 0;
	}
}

int documents_add(struct documents *d, char *text, size_t bytes, bool begins, uint64_t now_ns)
{
	bool is_first = d->first == d->nr;

	if (array_reserve(&d->all, &d->room, d->nr + 1)) {
		free(text);
		return -ENOMEM;
	}
	d->all[d->nr++] = (struct document){
		.number = d->next++,
		.ns = now_ns,
		.begins = begins || is_first,
		.bytes = bytes,
		.text = text,
	};
	d->bytes += bytes;
	bound(d, now_ns);
	return 0;
}

void documents_free(struct documents *d)
{
	while (d->first < d->nr)
		drop_group(d);
	free(d->all);
	*d = (struct documents){};
}

uint64_t documents_first(const struct documents *d)
{
	return d->next - (d->nr - d->first);
}

uint64_t documents_last_group(const struct documents *d)
{
	for (size_t i = d->nr; i-- > d->first;)
		if (d->all[i].begins)
			return d->all[i].number;
	return d->next;
}

uint64_t documents_next(const struct documents *d)
{
	return d->next;
}

const struct document *documents_get(const struct documents *d, uint64_t number)
{
	uint64_t first = documents_first(d);

	return number >= first && number < d->next ? &d->all[d->first + (number - first)] : NULL;
}
