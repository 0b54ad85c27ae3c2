// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/merged_texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/seed.h"
#include "report/labels.h"

struct merged_texts {
	struct labels *pieces;
	struct merged_text **all;
	size_t nr, room;
	uint32_t *index;   /* open addressing: numbers + 1; 0: free */
	size_t index_size; /* a power of two */
	uint64_t sum;
	uint32_t *split; /* the pieces of the text that was added last */
	size_t nr_split, split_room;
};

struct merged_texts *merged_texts_new(void)
{
	struct merged_texts *texts = calloc(1, sizeof(*texts));

	if (texts)
		texts->pieces = labels_new();
	if (texts && !texts->pieces) {
		free(texts);
		return NULL;
	}
	return texts;
}

void merged_texts_free(struct merged_texts *texts)
{
	if (!texts)
		return;
	for (size_t i = 0; i < texts->nr; i++)
		free(texts->all[i]);
	free(texts->all);
	free(texts->index);
	free(texts->split);
	labels_free(texts->pieces);
	free(texts);
}

/* Appends a piece's number to texts->split; no label is longer than labels keep. */
static int add_piece(struct merged_texts *texts, const char *text, size_t length)
{
	char copy[MAX_LABEL_BYTES + 1];
	struct label label = { .text = copy };

	memcpy(copy, text, length);
	copy[length] = 0;
	if (array_reserve(&texts->split, &texts->split_room, texts->nr_split + 1))
		return -ENOMEM;
	return labels_add(texts->pieces, &label, &texts->split[texts->nr_split++]);
}

static int split(struct merged_texts *texts, const char *text)
{
	for (texts->nr_split = 0; *text;) {
		size_t length = strcspn(text, ";\n");

		if (text[length])
			length++;
		if (length > MAX_LABEL_BYTES)
			length = MAX_LABEL_BYTES;
		if (add_piece(texts, text, length))
			return -ENOMEM;
		text += length;
	}
	return 0;
}

static uint64_t hash_of(const uint32_t *pieces, size_t nr)
{
	uint64_t hash = nr ^ process_seed();

	for (size_t i = 0; i < nr; i++) {
		hash = (hash ^ pieces[i]) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	return hash;
}

static int grow_index(struct merged_texts *texts)
{
	size_t size = texts->index_size ? 2 * texts->index_size : 1024;
	uint32_t *index = calloc(size, sizeof(*index));

	if (!index)
		return -ENOMEM;
	for (size_t i = 0; i < texts->nr; i++) {
		size_t at = texts->all[i]->hash & (size - 1);

		while (index[at])
			at = (at + 1) & (size - 1);
		index[at] = i + 1;
	}
	free(texts->index);
	texts->index = index;
	texts->index_size = size;
	return 0;
}

static int add_new(struct merged_texts *texts, const uint32_t *pieces, size_t nr, uint64_t hash,
		   size_t place)
{
	size_t bytes = nr * sizeof(pieces[0]);
	struct merged_text *text;

	if (array_reserve(&texts->all, &texts->room, texts->nr + 1))
		return -ENOMEM;
	text = malloc(sizeof(*text) + bytes);
	if (!text)
		return -ENOMEM;
	*text = (struct merged_text){ .hash = hash, .nr = nr };
	memcpy(text->pieces, pieces, bytes);
	texts->all[texts->nr++] = text;
	texts->index[place] = texts->nr;
	return 0;
}

struct labels *merged_texts_pieces(struct merged_texts *texts)
{
	return texts->pieces;
}

int merged_texts_add_pieces(struct merged_texts *texts, const uint32_t *pieces, size_t nr,
			    uint32_t process, uint32_t thread, uint64_t value)
{
	uint64_t hash = hash_of(pieces, nr);
	struct merged_text *text;
	size_t at;

	if (2 * texts->nr >= texts->index_size && grow_index(texts))
		return -ENOMEM;
	for (at = hash & (texts->index_size - 1); texts->index[at];
	     at = (at + 1) & (texts->index_size - 1)) {
		const struct merged_text *known = texts->all[texts->index[at] - 1];

		if (known->hash == hash && known->nr == nr &&
		    !memcmp(known->pieces, pieces, nr * sizeof(pieces[0])))
			break;
	}
	if (!texts->index[at] && add_new(texts, pieces, nr, hash, at))
		return -ENOMEM;
	text = texts->all[texts->index[at] - 1];
	if (!text->nr_threads || text->thread != thread)
		text->nr_threads++;
	text->process = process;
	text->thread = thread;
	text->value += value;
	texts->sum += value;
	return 0;
}

int merged_texts_add(struct merged_texts *texts, const char *text, uint64_t value)
{
	return split(texts, text)
		       ? -ENOMEM
		       : merged_texts_add_pieces(texts, texts->split, texts->nr_split, 0, 0, value);
}

static int most_first(const void *left, const void *right, void *pieces)
{
	const struct merged_text *l = *(struct merged_text *const *)left,
				 *r = *(struct merged_text *const *)right;
	uint32_t i = 0;

	if (l->value != r->value)
		return l->value > r->value ? -1 : 1;
	while (i < l->nr && i < r->nr && l->pieces[i] == r->pieces[i])
		i++;
	if (i == l->nr || i == r->nr)
		return (l->nr > r->nr) - (l->nr < r->nr);
	return strcmp(labels_get(pieces, l->pieces[i])->text,
		      labels_get(pieces, r->pieces[i])->text);
}

size_t merged_texts_sort(struct merged_texts *texts)
{
	if (texts->nr)
		qsort_r(texts->all, texts->nr, sizeof(texts->all[0]), most_first, texts->pieces);
	/* the index has numbers of before */
	free(texts->index);
	texts->index = NULL;
	texts->index_size = 0;
	return texts->nr;
}

uint64_t merged_texts_sum(const struct merged_texts *texts)
{
	return texts->sum;
}

const struct merged_text *merged_texts_get(const struct merged_texts *texts, size_t number)
{
	return texts->all[number];
}

uint64_t merged_texts_print(const struct merged_texts *texts, FILE *out, size_t number)
{
	const struct merged_text *text = texts->all[number];

	for (uint32_t i = 0; i < text->nr; i++)
		fputs(labels_get(texts->pieces, text->pieces[i])->text, out);
	return text->value;
}
