// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/event_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const event_kind_prefixes[NR_EVENT_KINDS] = {
	[EVENT_TRACEPOINT] = "t:",
	[EVENT_KERNEL_FUNCTION] = "k:",
	[EVENT_USER_FUNCTION] = "u:",
	[EVENT_USDT] = "usdt:",
	[EVENT_PERF] = "",
};

bool event_name_is_pattern(const char *part)
{
	return part[strcspn(part, "*?")];
}

/* Cuts the text at its first colon, and returns what is behind it; NULL: there is none. */
static char *cut(char *text)
{
	char *colon = strchr(text, ':');

	if (colon)
		*colon++ = 0;
	return colon;
}

static bool parse_hex(const char *text, uint64_t *value)
{
	char *end;

	if (strncmp(text, "0x", 2) || !isxdigit((unsigned char)text[2]))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 16);
	return !errno && !*end && *value <= INT64_MAX;
}

static const char *parse_tracepoint(struct event_name *e, char *rest)
{
	e->group = rest;
	e->name = cut(rest);
	return NULL;
}

static const char *parse_kernel_function(struct event_name *e, char *rest)
{
	char *second = cut(rest);

	e->group = second ? rest : "";
	e->name = second ? second : rest;
	return NULL;
}

/* u:FILE+0xVADDR; the file's own name may have a + */
static bool parse_vaddr(struct event_name *e, char *rest)
{
	char *plus = strrchr(rest, '+');

	if (strchr(rest, ':') || !plus || !parse_hex(plus + 1, &e->address))
		return false;
	*plus = 0;
	e->by = EVENT_BY_VADDR;
	e->file = rest;
	e->name = plus + 1;
	return true;
}

static const char *parse_user_function(struct event_name *e, char *rest)
{
	if (parse_vaddr(e, rest))
		return NULL;
	e->file = rest;
	e->name = cut(rest);
	if (!e->name || strncmp(e->name, "0x", 2))
		return NULL;
	e->by = EVENT_BY_OFFSET;
	return parse_hex(e->name, &e->address) ? NULL : "0xOFFSET is not a hexadecimal number";
}

static const char *parse_usdt(struct event_name *e, char *rest)
{
	char *provider = cut(rest);

	e->file = rest;
	e->group = provider;
	e->name = provider ? cut(provider) : NULL;
	return NULL;
}

static const char *parse_perf(struct event_name *e, char *rest)
{
	e->name = rest;
	return NULL;
}

static const struct {
	const char *(*parse)(struct event_name *event, char *rest);
	bool file, group; /* parts that must not be empty, besides the name */
	const char *form;
} kinds[NR_EVENT_KINDS] = {
	[EVENT_TRACEPOINT] = { parse_tracepoint, false, true, "a tracepoint is t:GROUP:NAME" },
	[EVENT_KERNEL_FUNCTION] = { parse_kernel_function, false, false,
				    "a kernel function is k:FUNCTION or k:MODULE:FUNCTION" },
	[EVENT_USER_FUNCTION] = { parse_user_function, true, false,
				  "a user function is u:FILE:FUNCTION, u:FILE:0xOFFSET or u:FILE+0xVADDR" },
	[EVENT_USDT] = { parse_usdt, true, true, "a probe is usdt:FILE:PROVIDER:NAME" },
	[EVENT_PERF] = { parse_perf, false, false, "an event's name is missing" },
};

static enum event_kind kind_of(const char *text)
{
	int kind = 0;

	while (strncmp(text, event_kind_prefixes[kind], strlen(event_kind_prefixes[kind])))
		kind++;
	return kind;
}

const char *event_name_parse(struct event_name *e, const char *text, bool pattern)
{
	const char *missing = pattern ? "*" : "", *wrong;

	if (strlen(text) >= sizeof(e->text))
		return "it is too long";
	e->kind = kind_of(text);
	e->by = EVENT_BY_NAME;
	e->address = 0;
	e->file = e->group = e->name = "";
	strcpy(e->text, text + strlen(event_kind_prefixes[e->kind]));
	wrong = kinds[e->kind].parse(e, e->text);
	if (wrong)
		return wrong;
	if (!e->group || (kinds[e->kind].group && !*e->group))
		e->group = missing;
	if (!e->name || !*e->name)
		e->name = missing;
	if (!*e->name || (kinds[e->kind].file && !*e->file) || (kinds[e->kind].group && !*e->group))
		return kinds[e->kind].form;
	return NULL;
}
