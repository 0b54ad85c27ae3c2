// SPDX-License-Identifier: GPL-2.0-or-later
#include "table/known_code.h"

#include <string.h>

static bool matches(const struct known_piece *p, const uint8_t *code, size_t size)
{
	if (size < p->nr)
		return false;
	for (int i = 0; i < p->nr; i++)
		if (p->bytes[i] != ANY_BYTE && p->bytes[i] != code[i])
			return false;
	return true;
}

/* where the piece is, from code[from] on; SIZE_MAX: nowhere */
static size_t find(const struct known_piece *p, const uint8_t *code, size_t size, size_t from)
{
	uint8_t head[4];
	const uint8_t *at;

	for (size_t i = 0; i < sizeof(head); i++)
		head[i] = p->bytes[i];
	for (; from < size; from = at + 1 - code) {
		at = memmem(code + from, size - from, head, sizeof(head));
		if (!at)
			return SIZE_MAX;
		if (matches(p, at, code + size - at))
			return at - code;
	}
	return SIZE_MAX;
}

static struct known_code known(const struct known_piece *p, size_t at)
{
	struct known_code known = { .name = p->name, .end = at + p->nr };

	for (; known.nr_rows < MAX_KNOWN_ROWS && p->rows[known.nr_rows].rule; known.nr_rows++)
		known.rows[known.nr_rows] = (struct known_row){
			.at = at + p->rows[known.nr_rows].at,
			.rule = p->rows[known.nr_rows].rule(),
		};
	known.rows[0].at -= p->returned_to && at;
	return known;
}

bool known_code_next(const uint8_t *code, size_t size, size_t from, struct known_code *piece)
{
	size_t first = SIZE_MAX;

	for (const struct known_piece *p = known_pieces; p->name; p++) {
		size_t at = find(p, code, size, from);

		if (at >= first)
			continue;
		first = at;
		*piece = known(p, at);
	}
	return first != SIZE_MAX;
}

bool known_code_in(const char *name, const uint8_t *code, size_t size, struct known_code *piece)
{
	for (const struct known_piece *p = known_pieces; p->name; p++) {
		size_t at = strcmp(p->name, name) ? SIZE_MAX : find(p, code, size, 0);

		if (at == SIZE_MAX)
			continue;
		*piece = known(p, at);
		return true;
	}
	return false;
}

bool known_code_at(const char *name, const uint8_t *code, size_t size, struct known_code *piece)
{
	struct known_code found;

	if (!known_code_in(name, code, size, &found) || found.rows[0].at)
		return false;
	*piece = found;
	return true;
}

struct eh_rule known_outermost(void)
{
	struct eh_rule rule = { .kind = RULE_REG, .cfa_reg = REG_SP, .cfa_offset = CFA_AT_ENTRY };

	memset(rule.saved, SAVED_SAME, sizeof(rule.saved));
	rule.saved[SAVED_RA] = SAVED_LOST;
	return rule;
}
