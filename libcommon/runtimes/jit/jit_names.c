// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/jit/jit_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"

/* codes that are examined for one address: a file with more of them at one place is malicious */
#define MAX_VISITS 10000

void jit_names_free(struct jit_names *names)
{
	free(names->codes);
	free(names->strings);
	*names = (struct jit_names){ .max_bytes = names->max_bytes };
}

size_t jit_names_bytes(const struct jit_names *names)
{
	return names->room * sizeof(*names->codes) + names->string_room;
}

/* ---- adding ---- */

static uint32_t add_string(struct jit_names *n, const char *name, size_t length)
{
	uint32_t at;

	if (!n->string_bytes)
		n->strings[n->string_bytes++] = 0;
	at = n->string_bytes;
	memcpy(n->strings + at, name, length);
	n->strings[at + length] = 0;
	n->string_bytes += length + 1;
	return at;
}

static int by_order(const void *left, const void *right)
{
	const struct jit_code *l = left, *r = right;

	return order_of(l->order, r->order);
}

/* Names follow each other as their codes do. Who moves keeps its name, which is older, and loses it. */
static void forget_older_half(struct jit_names *n)
{
	size_t first = (n->nr + 1) / 2, cut = 1;

	if (n->nr_sorted) /* by address */
		qsort(n->codes, n->nr, sizeof(*n->codes), by_order);
	for (size_t i = 0; i < first; i++) {
		uint32_t name = n->codes[i].name;

		if (name >= cut)
			cut = name + strlen(n->strings + name) + 1;
	}
	n->nr -= first;
	memmove(n->codes, n->codes + first, n->nr * sizeof(*n->codes));
	for (size_t i = 0; i < n->nr; i++) {
		struct jit_code *code = &n->codes[i];

		code->order = i;
		code->name = code->name >= cut ? code->name - cut + 1 : 0;
	}
	if (n->string_bytes > cut)
		memmove(n->strings + 1, n->strings + cut, n->string_bytes - cut);
	n->string_bytes = n->string_bytes > cut ? n->string_bytes - cut + 1 : n->string_bytes != 0;
	n->forgotten += first;
	n->nr_sorted = 0;
}

/* Would adding a code with such a name take too much? Arrays double when they are full. */
static bool is_full(const struct jit_names *n, size_t length)
{
	size_t more = 0;

	if (n->nr >= JIT_MAX_CODES || n->string_bytes + length + 2 > JIT_MAX_STRINGS)
		return true;
	if (n->nr == n->room)
		more += n->room * sizeof(*n->codes);
	if (n->string_bytes + length + 2 > n->string_room)
		more += n->string_room;
	return n->max_bytes && more && jit_names_bytes(n) + more > n->max_bytes;
}

int jit_names_add(struct jit_names *n, const struct jit_code *code, const char *name, size_t length)
{
	struct jit_code added = *code;

	if (length > JIT_MAX_NAME)
		length = JIT_MAX_NAME;
	if (code->end <= code->start || (!name && !code->index)) {
		n->bad++;
		return 0;
	}
	while (n->nr && is_full(n, length))
		forget_older_half(n);
	if (array_reserve(&n->codes, &n->room, n->nr + 1) ||
	    array_reserve(&n->strings, &n->string_room, n->string_bytes + length + 2))
		return -ENOMEM;
	added.name = name ? add_string(n, name, length) : 0;
	added.order = n->nr;
	n->codes[n->nr++] = added;
	return 0;
}

/* ---- sorting ---- */

static int by_index_and_time(const void *left, const void *right)
{
	const struct jit_code *l = left, *r = right;
	int order = order_of(l->index, r->index) ?: order_of(l->from_ns, r->from_ns);

	return order ?: order_of(l->order, r->order);
}

static int by_start(const void *left, const void *right)
{
	const struct jit_code *l = left, *r = right;

	return order_of(l->start, r->start) ?: order_of(l->order, r->order);
}

/*
 * Code with an index is at one place at a time: adding a place ends the one before. It keeps its
 * name.
 */
static void follow_moves(struct jit_names *n)
{
	qsort(n->codes, n->nr, sizeof(*n->codes), by_index_and_time);
	for (size_t i = 1; i < n->nr; i++) {
		struct jit_code *before = &n->codes[i - 1], *code = &n->codes[i];

		if (!code->index || code->index != before->index)
			continue;
		if (before->until_ns > code->from_ns)
			before->until_ns = code->from_ns;
		if (!code->name)
			code->name = before->name;
	}
}

static uint64_t set_max_ends(struct jit_code *codes, size_t low, size_t high)
{
	size_t middle = low + (high - low) / 2;
	uint64_t max, right;

	if (low == high)
		return 0;
	max = set_max_ends(codes, low, middle);
	right = set_max_ends(codes, middle + 1, high);
	max = right > max ? right : max;
	if (codes[middle].end > max)
		max = codes[middle].end;
	codes[middle].max_end = max;
	return max;
}

static void sort(struct jit_names *n)
{
	if (n->nr_sorted == n->nr)
		return;
	follow_moves(n);
	qsort(n->codes, n->nr, sizeof(*n->codes), by_start);
	set_max_ends(n->codes, 0, n->nr);
	n->nr_sorted = n->nr;
}

/* ---- finding ---- */

struct search {
	const struct jit_code *codes, *best;
	uint64_t addr, time_ns;
	unsigned visits;
};

/*
 * Of the codes there at the time, takes the last one added; without a time, the last one that was
 * there, though it may have moved on. One that has moved without ever having a name has none.
 */
static void consider(struct search *s, const struct jit_code *code)
{
	if (s->addr < code->start || s->addr >= code->end || !code->name ||
	    code->from_ns > s->time_ns ||
	    (code->until_ns <= s->time_ns && s->time_ns != UINT64_MAX))
		return;
	if (!s->best || code->from_ns > s->best->from_ns ||
	    (code->from_ns == s->best->from_ns && code->order > s->best->order))
		s->best = code;
}

static void search_range(struct search *s, size_t low, size_t high)
{
	size_t middle = low + (high - low) / 2;

	if (low == high || s->codes[middle].max_end <= s->addr || s->visits++ > MAX_VISITS)
		return;
	if (s->codes[middle].start <= s->addr) {
		search_range(s, middle + 1, high);
		consider(s, &s->codes[middle]);
	}
	search_range(s, low, middle);
}

const char *jit_names_find(struct jit_names *n, uint64_t addr, uint64_t time_ns, uint64_t *start)
{
	struct search s = { .addr = addr, .time_ns = time_ns };

	sort(n);
	s.codes = n->codes;
	search_range(&s, 0, n->nr);
	if (!s.best)
		return NULL;
	*start = s.best->start;
	return n->strings + s.best->name;
}
