// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/recorded_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* one of its strings: equal ones are kept once */
struct text {
	UT_hash_handle hh;
	char text[];
};

struct key {
	uint64_t frame;
	uint32_t pid; /* of frames in no file; else 0 */
	uint32_t kernel;
};

struct recorded {
	struct key key;
	UT_hash_handle hh;
	uint32_t nr;
	struct frame_name names[];
};

/* a runtime's functions, by their names */
struct runtime_frame {
	UT_hash_handle hh;
	uint64_t frame;
	uint32_t nr;
	struct frame_name names[];
};

struct recorded_names {
	struct text *texts;
	struct recorded *frames;
	struct runtime_frame *runtime;
	size_t bytes;
};

struct recorded_names *recorded_names_new(void)
{
	return calloc(1, sizeof(struct recorded_names));
}

void recorded_names_free(struct recorded_names *names)
{
	if (!names)
		return;
	hash_free_all(names->runtime);
	hash_free_all(names->frames);
	hash_free_all(names->texts);
	free(names);
}

size_t recorded_names_bytes(const struct recorded_names *names)
{
	return names->bytes;
}

/* Replaces a string by the copy that is kept. 0 or -ENOMEM */
static int keep_text(struct recorded_names *names, const char **string)
{
	size_t length = *string ? strlen(*string) : 0;
	struct text *text;

	if (!*string)
		return 0;
	HASH_FIND(hh, names->texts, *string, length, text);
	if (!text) {
		text = calloc(1, sizeof(*text) + length + 1);
		if (!text)
			return -ENOMEM;
		memcpy(text->text, *string, length);
		HASH_ADD_KEYPTR(hh, names->texts, text->text, length, text);
		names->bytes += sizeof(*text) + length + 1;
	}
	*string = text->text;
	return 0;
}

static int keep_texts(struct recorded_names *names, struct frame_name *all, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (keep_text(names, &all[i].symbol) || keep_text(names, &all[i].raw_symbol) ||
		    keep_text(names, &all[i].module) || keep_text(names, &all[i].region) ||
		    keep_text(names, &all[i].source) || keep_text(names, &all[i].runtime))
			return -ENOMEM;
	return 0;
}

static struct key key_of(pid_t pid, uint64_t frame)
{
	return (struct key){ .frame = frame, .pid = frame_in_no_file(frame) ? pid : 0 };
}

static struct recorded *find(const struct recorded_names *names, struct key key)
{
	struct recorded *recorded;

	HASH_FIND(hh, names->frames, &key, sizeof(key), recorded);
	return recorded;
}

static int add(struct recorded_names *names, struct key key, const struct frame_name *all,
	       size_t nr)
{
	struct recorded *recorded, *known = find(names, key);

	/* a later report of the same recording may have had the time to find a name */
	if (known && (known->names[known->nr - 1].symbol || !all[nr - 1].symbol))
		return 0;
	recorded = calloc(1, sizeof(*recorded) + nr * sizeof(*all));
	if (!recorded)
		return -ENOMEM;
	recorded->key = key;
	recorded->nr = nr;
	memcpy(recorded->names, all, nr * sizeof(*all));
	if (keep_texts(names, recorded->names, nr)) {
		free(recorded);
		return -ENOMEM;
	}
	if (known) {
		HASH_DEL(names->frames, known);
		free(known);
	}
	HASH_ADD(hh, names->frames, key, sizeof(recorded->key), recorded);
	names->bytes += sizeof(*recorded) + nr * sizeof(*all);
	return 0;
}

/* The frame of a runtime's functions. 0: no memory */
static uint64_t runtime_frame(struct recorded_names *names, const struct frame_name *all, size_t nr)
{
	size_t bytes = nr * sizeof(*all);
	struct runtime_frame *frame = calloc(1, sizeof(*frame) + bytes), *known;

	if (!frame)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		/* padding is part of the key */
		frame->names[i].symbol = all[i].symbol;
		frame->names[i].runtime = all[i].runtime;
		frame->names[i].source = all[i].source;
		frame->names[i].line = all[i].line;
	}
	if (keep_texts(names, frame->names, nr)) {
		free(frame);
		return 0;
	}
	HASH_FIND(hh, names->runtime, frame->names, bytes, known);
	if (known) {
		free(frame);
		return known->frame;
	}
	frame->frame = FRAME_RUNTIME | (HASH_COUNT(names->runtime) + 1);
	HASH_ADD_KEYPTR(hh, names->runtime, frame->names, bytes, frame);
	names->bytes += sizeof(*frame) + bytes;
	return frame->frame;
}

#define MAX_NAMES_OF_ADDRESS 64

/*
 * Code may come where other code was. A frame in no file gets a tag for each name that its address
 * has had.
 */
static uint64_t tagged(const struct recorded_names *names, pid_t pid, uint64_t frame,
		       const char *symbol)
{
	uint64_t with_tag = frame;

	for (uint64_t tag = 1; tag < MAX_NAMES_OF_ADDRESS; tag++) {
		const struct recorded *known = find(names, key_of(pid, with_tag));
		const char *other = known ? known->names[known->nr - 1].symbol : NULL;

		if (!other || !strcmp(other, symbol))
			return with_tag;
		with_tag = frame | tag << FRAME_TAG_SHIFT;
	}
	return frame;
}

int recorded_names_add(struct recorded_names *names, pid_t pid, uint64_t *frame,
		       const struct frame_name *all, size_t nr)
{
	if (!*frame)
		*frame = runtime_frame(names, all, nr);
	else if (frame_in_no_file(*frame) && !FRAME_TAG(*frame) && all[nr - 1].symbol)
		*frame = tagged(names, pid, *frame, all[nr - 1].symbol);
	return *frame ? add(names, key_of(pid, *frame), all, nr) : -ENOMEM;
}

int recorded_names_add_kernel(struct recorded_names *names, uint64_t address,
			      const struct frame_name *name)
{
	return add(names, (struct key){ .frame = address, .kernel = 1 }, name, 1);
}

size_t recorded_names_user(const struct recorded_names *names, pid_t pid, uint64_t frame,
			   struct frame_name all[MAX_FRAME_NAMES])
{
	const struct recorded *recorded = find(names, key_of(pid, frame));

	if (!recorded) {
		all[0] = (struct frame_name){};
		return 1;
	}
	memcpy(all, recorded->names, recorded->nr * sizeof(*all));
	return recorded->nr;
}

struct frame_name recorded_name(const struct recorded_names *names, pid_t pid, uint64_t frame)
{
	const struct recorded *recorded = find(names, key_of(pid, frame));
	struct frame_name name = {};

	if (!recorded)
		return name;
	if (FRAME_IS_RUNTIME(frame)) { /* the innermost function */
		name = recorded->names[0];
		name.inlined = false;
		return name;
	}
	name = recorded->names[recorded->nr - 1];
	name.source = NULL;
	name.line = 0;
	return name;
}

struct frame_name recorded_name_kernel(const struct recorded_names *names, uint64_t address)
{
	const struct recorded *recorded =
		find(names, (struct key){ .frame = address, .kernel = 1 });

	return recorded ? recorded->names[0] : (struct frame_name){ .address = address };
}
