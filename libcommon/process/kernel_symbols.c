// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/kernel_symbols.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "process/kallsyms.h"

#define TRAMPOLINE_BYTES 4096
#define RENEW_NS         10000000000 /* there may be thousands, and each takes microseconds */
#define MANY_ADDRESSES   10000       /* if there are more, those that nobody wants any more go */

struct named_address {
	uint64_t address;
	struct kernel_symbol symbol; /* .name NULL: it has none */
	unsigned asked, wanted;      /* the turns in which it was asked for, and found, last */
	UT_hash_handle hh;
	char text[];
};

struct kernel_symbols {
	kernel_symbol_fn *ask;
	void *arg;
	struct named_address *addresses;
	unsigned turn;
	uint64_t renewed_ns;
	struct kallsyms *kallsyms; /* NULL: not read yet */
};

struct kernel_symbols *kernel_symbols_new(kernel_symbol_fn *ask, void *arg)
{
	struct kernel_symbols *s = calloc(1, sizeof(*s));

	if (s)
		*s = (struct kernel_symbols){ .ask = ask, .arg = arg };
	return s;
}

int kernel_symbols_error(const struct kernel_symbols *s)
{
	return s->kallsyms ? kallsyms_error(s->kallsyms) : 0;
}

void kernel_symbols_free(struct kernel_symbols *s)
{
	if (!s)
		return;
	hash_free_all(s->addresses);
	kallsyms_free(s->kallsyms);
	free(s);
}

/* The kernel says "[bpf]" in /proc/kallsyms only. Its own functions have no such numbers. */
static bool is_of_bpf(const char *name)
{
	static const char program[] = "bpf_prog_", trampoline[] = "bpf_trampoline_";

	if (!strncmp(name, program, sizeof(program) - 1))
		return strspn(name + sizeof(program) - 1, "0123456789abcdef") >= 16; /* its tag */
	return !strncmp(name, trampoline, sizeof(trampoline) - 1) &&
	       isdigit((unsigned char)name[sizeof(trampoline) - 1]);
}

/* Takes "symbol+0x1/0x2 [module]" apart. */
static void parse(char *text, struct kernel_symbol *symbol)
{
	char *module = strstr(text, " ["), *offset;

	if (module) {
		*module = 0;
		symbol->module = module + 2;
		module[2 + strcspn(module + 2, " ]")] = 0;
	}
	offset = strrchr(text, '+');
	if (!offset)
		return;
	*offset = 0;
	symbol->offset = strtoull(offset + 1, NULL, 16);
	symbol->name = text;
	if (!module && is_of_bpf(text))
		symbol->module = "bpf";
}

/* not in the table yet; NULL: no memory */
static struct named_address *new_address(const struct kernel_symbols *s, uint64_t address,
					 const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct named_address *named = malloc(sizeof(*named) + bytes);

	if (!named)
		return NULL;
	*named = (struct named_address){ .address = address, .asked = s->turn };
	memcpy(named->text, text, bytes);
	return named;
}

/*
 * What the kernel has not named. Where it has been asked, that is a trampoline's page, or code that
 * is gone: then the symbol below it is another's.
 */
static void look_up(struct kernel_symbols *s, uint64_t address, bool asked,
		    struct kernel_symbol *symbol)
{
	const struct kallsym *found;

	if (!s->kallsyms)
		s->kallsyms = kallsyms_read();
	found = s->kallsyms ? kallsyms_find(s->kallsyms, address) : NULL;
	if (found && !(asked && address - found->start >= TRAMPOLINE_BYTES))
		*symbol = (struct kernel_symbol){
			.offset = address - found->start,
			.name = found->name,
			.module = found->module,
		};
}

static struct named_address *ask(struct kernel_symbols *s, uint64_t address)
{
	const char *text;
	bool schedules;
	bool answered = !s->ask(s->arg, address, &text, &schedules);
	struct named_address *named = new_address(s, address, answered ? text : "");

	if (!named)
		return NULL;
	parse(named->text, &named->symbol);
	if (named->symbol.name)
		named->symbol.schedules = schedules;
	else
		look_up(s, address, answered, &named->symbol);
	return named;
}

static void drop(struct kernel_symbols *s, struct named_address *named)
{
	HASH_DEL(s->addresses, named);
	free(named);
}

/* Of what is loaded, the kernel may be unable to give the name again. */
static void forget_unwanted(struct kernel_symbols *s)
{
	struct named_address *named, *next;

	HASH_ITER(hh, s->addresses, named, next)
		if (s->turn - named->wanted > 2 && !named->symbol.module)
			drop(s, named);
}

void kernel_symbols_renew(struct kernel_symbols *s, uint64_t now_ns)
{
	if (now_ns - s->renewed_ns < RENEW_NS)
		return;
	s->renewed_ns = now_ns;
	s->turn++;
	if (HASH_COUNT(s->addresses) > MANY_ADDRESSES)
		forget_unwanted(s);
}

/* The kernel's own code stays where it is; what is loaded may be gone, and other code be there. */
static bool may_have_changed(const struct kernel_symbols *s, const struct named_address *named)
{
	return named->asked != s->turn && (!named->symbol.name || named->symbol.module);
}

static bool same_text(const char *left, const char *right)
{
	return left && right ? !strcmp(left, right) : left == right;
}

static bool same_symbol(const struct kernel_symbol *left, const struct kernel_symbol *right)
{
	return left->offset == right->offset && same_text(left->name, right->name) &&
	       same_text(left->module, right->module);
}

/* known: what was at this address; NULL: nothing is known of it */
static struct named_address *learn(struct kernel_symbols *s, uint64_t address,
				   struct named_address *known)
{
	struct named_address *named = ask(s, address);

	/* of what is gone, earlier stacks keep the name */
	if (known && named &&
	    (!named->symbol.name || same_symbol(&known->symbol, &named->symbol))) {
		free(named);
		known->asked = s->turn;
		return known;
	}
	if (!named)
		return NULL;
	if (known)
		drop(s, known);
	HASH_ADD(hh, s->addresses, address, sizeof(named->address), named);
	return named;
}

const struct kernel_symbol *kernel_symbols_find(struct kernel_symbols *s, uint64_t address)
{
	struct named_address *named;

	HASH_FIND(hh, s->addresses, &address, sizeof(address), named);
	if (!named || may_have_changed(s, named))
		named = learn(s, address, named);
	if (!named)
		return NULL;
	named->wanted = s->turn;
	return named->symbol.name ? &named->symbol : NULL;
}
