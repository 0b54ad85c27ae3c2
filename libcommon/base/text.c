// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define MAX_KEPT_BYTES 65536 /* of a stream that is used again */

static struct text *unused;

struct text *text_begin(void)
{
	struct text *text = unused;

	if (text) {
		unused = text->next;
		return text;
	}
	text = calloc(1, sizeof(*text));
	if (!text)
		return NULL;
	text->out = open_memstream(&text->bytes, &text->nr);
	if (!text->out) {
		free(text);
		return NULL;
	}
	return text;
}

char *text_end(struct text *text)
{
	char *copy = fflush(text->out) || ferror(text->out) ? NULL : strndup(text->bytes, text->nr);

	if (copy && text->nr < MAX_KEPT_BYTES && !fseek(text->out, 0, SEEK_SET)) {
		text->next = unused;
		unused = text;
		return copy;
	}
	fclose(text->out);
	free(text->bytes);
	free(text);
	return copy;
}
