// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/labels.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/seed.h"

const char frame_kind_letters[NR_FRAME_KINDS + 1] = "tufjrikox";

struct labels {
	struct label *all;
	uint64_t *hashes; /* of each */
	size_t nr, room, hashes_room;
	uint32_t *index;   /* open addressing: numbers + 1; 0: free */
	size_t index_size; /* a power of two */
	size_t bytes;
};

struct labels *labels_new(void)
{
	return calloc(1, sizeof(struct labels));
}

void labels_free(struct labels *labels)
{
	if (!labels)
		return;
	for (size_t i = 0; i < labels->nr; i++)
		free(labels->all[i].text);
	free(labels->all);
	free(labels->hashes);
	free(labels->index);
	free(labels);
}

static uint64_t hash_of(const struct label *label, size_t length)
{
	return seeded_hash((uint64_t[]){ label->kind, label->pid, label->tid }, 3, label->text,
			   length);
}

static bool same(const struct label *known, const struct label *label, size_t length, bool cut)
{
	return known->kind == label->kind && known->pid == label->pid && known->tid == label->tid &&
	       !strncmp(known->text, label->text, length) &&
	       (cut ? !strcmp(known->text + length, "…") : !known->text[length]);
}

static int grow_index(struct labels *labels)
{
	size_t size = labels->index_size ? 2 * labels->index_size : 1024;
	uint32_t *index = calloc(size, sizeof(*index));

	if (!index)
		return -ENOMEM;
	for (size_t i = 0; i < labels->nr; i++) {
		size_t at = labels->hashes[i] & (size - 1);

		while (index[at])
			at = (at + 1) & (size - 1);
		index[at] = i + 1;
	}
	free(labels->index);
	labels->index = index;
	labels->index_size = size;
	return 0;
}

static char *copy_of(const char *text, size_t length, bool cut)
{
	char *copy = malloc(length + sizeof("…"));

	if (copy) {
		memcpy(copy, text, length);
		strcpy(copy + length, cut ? "…" : "");
	}
	return copy;
}

/* where a label is cut, so that no character of UTF-8 is torn */
static size_t cut_length(const char *text, size_t length)
{
	while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	return length;
}

int labels_add(struct labels *labels, const struct label *label, uint32_t *number)
{
	size_t length = strnlen(label->text, MAX_LABEL_BYTES + 1), at;
	bool cut = length > MAX_LABEL_BYTES;
	struct label copy = *label;
	uint64_t hash;

	if (cut)
		length = cut_length(label->text, MAX_LABEL_BYTES);
	if (2 * labels->nr >= labels->index_size && grow_index(labels))
		return -ENOMEM;
	hash = hash_of(label, length);
	for (at = hash & (labels->index_size - 1); labels->index[at];
	     at = (at + 1) & (labels->index_size - 1)) {
		uint32_t known = labels->index[at] - 1;

		if (labels->hashes[known] == hash &&
		    same(&labels->all[known], label, length, cut)) {
			*number = known;
			return 0;
		}
	}
	if (labels->nr == UINT32_MAX - 1 ||
	    array_reserve(&labels->all, &labels->room, labels->nr + 1) ||
	    array_reserve(&labels->hashes, &labels->hashes_room, labels->nr + 1))
		return -ENOMEM;
	copy.text = copy_of(label->text, length, cut);
	if (!copy.text)
		return -ENOMEM;
	labels->hashes[labels->nr] = hash;
	labels->all[labels->nr] = copy;
	labels->bytes += sizeof(copy) + length + sizeof("…");
	labels->index[at] = ++labels->nr;
	*number = labels->nr - 1;
	return 0;
}

const struct label *labels_get(const struct labels *labels, uint32_t number)
{
	return &labels->all[number];
}

uint64_t labels_hash(const struct labels *labels, uint32_t number)
{
	return labels->hashes[number];
}

size_t labels_count(const struct labels *labels)
{
	return labels->nr;
}

size_t labels_bytes(const struct labels *labels)
{
	return labels->bytes;
}
