// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/python/python_work.h"

#include <string.h>

#include "unwind/foreign.h"

_Static_assert(sizeof(struct python_question) <= FOREIGN_QUESTION_BYTES, "struct python_question");

int python_work(const void *question, const struct process_memory *memory, void *answer,
		size_t room, size_t *bytes)
{
	const struct python_question *q = question;
	uint8_t *at = answer, *end = at + room;

	for (uint32_t i = 0; i < q->nr && at + sizeof(uint32_t) <= end; i++) {
		const struct python_function *f = &q->functions[i];
		struct python_code code;
		uint32_t written = 0;

		if (!python_code_read(memory, &q->objects, f->address, f->identity, &code)) {
			written = python_code_write(&code, at + sizeof(written),
						    end - at - sizeof(written));
			python_code_free(&code);
		}
		memcpy(at, &written, sizeof(written));
		at += sizeof(written) + written;
	}
	*bytes = at - (uint8_t *)answer;
	return 0;
}

void python_work_take(const void *answer, size_t bytes,
		      struct python_code codes[MAX_PYTHON_FUNCTIONS])
{
	const uint8_t *at = answer, *end = at + bytes;

	memset(codes, 0, MAX_PYTHON_FUNCTIONS * sizeof(*codes));
	for (size_t i = 0; i < MAX_PYTHON_FUNCTIONS && at + sizeof(uint32_t) <= end; i++) {
		uint32_t nr;

		memcpy(&nr, at, sizeof(nr));
		at += sizeof(nr);
		if (nr > (size_t)(end - at))
			break;
		python_code_unpack(&codes[i], at, nr);
		at += nr;
	}
}
