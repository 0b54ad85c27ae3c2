// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/source_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child_limits.h"
#include "base/clock.h"
#include "base/memory_limit.h"
#include "base/hash.h"
#include "base/order.h"
#include "dwarf/bounded_child.h"
#include "dwarf/gopclntab.h"
#include "dwarf/symbol_name.h"

#define REPLY_TIMEOUT_MS  15000
#define MAX_CHILDREN      4          /* at a time */
#define ANSWERS_MAX_BYTES (64 << 20) /* what a child may grow by after it has opened its file */
#define MAX_CACHE_BYTES   (memory_limit / 8) /* of all files' answers: users share it */
#define MAX_NAME          4096
#define NOTHING           2 /* bytes of a reply */

/* an answer, and what points into it */
struct known_place {
	uint64_t vaddr;
	size_t nr;
	struct source_place *places;
	UT_hash_handle hh;
	char reply[];
};

/* an inlined function's name */
struct known_name {
	char *name;
	UT_hash_handle hh;
	char raw[];
};

/* what the files of one user have taken */
struct user_account {
	uint32_t user;          /* 0: of trusted files */
	uint64_t waited_ns;     /* in this report */
	struct room_user *room; /* for answers */
	UT_hash_handle hh;
};

struct source_places {
	struct bounded_child child;
	bool answers, readable;            /* this child has answered; any has */
	bool nothing;                      /* the file has neither DWARF nor Go's table */
	struct source_places *used_before; /* in `used` */
	bool no_demangle;
	struct user_account *account;
	uint64_t bytes_before; /* of the tool, when the child was started */
	struct known_place *known;
	struct known_name *names;
	size_t known_bytes;
	unsigned overruns;
	uint64_t refused;
};

/* those with a child, the last one used first */
static struct source_places *used;
static struct user_account *accounts;

#define MAX_OPENED_FILES (1 + 2 * MAX_DEBUG_FILES)

/* ---- in the child ---- */

/* its sections hold too much: there is no answer, so that the tool counts it */
static bool child_refused;
static struct dwarf_places *child_places; /* NULL: there is no DWARF */
static struct elf_file child_file;        /* then, one with Go's table: nr 0: nor is there that */
static struct gopclntab child_go;

struct sources {
	struct opened_elf opened;
	struct debug_key debug;
};

static void add_file(int fds[MAX_OPENED_FILES], size_t *nr, int *fd)
{
	fds[*nr] = *fd;
	*fd = ++*nr;
}

/*
 * Lists the files, and puts the numbers in their places that they will have in the child: from 1
 * on. Returns how many there are.
 */
static size_t list_files(struct opened_elf *opened, int fds[MAX_OPENED_FILES])
{
	size_t nr = 0;

	if (opened->fd >= 0)
		add_file(fds, &nr, &opened->fd);
	for (size_t i = 0; i < opened->local.nr; i++)
		add_file(fds, &nr, &opened->local.fds[i]);
	for (size_t i = 0; i < opened->fetched.nr; i++)
		add_file(fds, &nr, &opened->fetched.fds[i]);
	return nr;
}

static bool has_dwarf(struct elf_file *file)
{
	GElf_Shdr header;

	return elf_file_header(file, SHT_PROGBITS, ".debug_info", &header) ||
	       elf_file_header(file, SHT_PROGBITS, ".zdebug_info", &header);
}

/* the file that has DWARF, else Go's table; -1: none has */
static int choose(struct sources *from)
{
	struct opened_elf *opened = &from->opened;
	bool is_go = false;
	struct elf_file file;
	int fd;

	if (opened->fd >= 0 && !elf_file_open_for_names(&file, opened->fd)) {
		if (has_dwarf(&file))
			return opened->fd;
		is_go = gopclntab_is_go(&file);
	}
	fd = debug_files_take(&opened->local, &from->debug);
	if (fd < 0)
		fd = debug_files_take(&opened->fetched, &from->debug);
	return fd < 0 && is_go ? opened->fd : fd;
}

static void prepare(void *arg)
{
	struct sources *from = arg;
	int fd = choose(from);

	if (fd < 0)
		return;
	child_refused = dwarf_places_new(&child_places, fd) == -EFBIG;
	if (!child_places && !child_refused && !elf_file_open(&child_file, fd))
		gopclntab_open(&child_go, &child_file);
}

/* as dwarf_places_find(): what was inlined is not told from its callers */
static size_t find_by_go_table(uint64_t vaddr, struct dwarf_place *found)
{
	struct go_function f;

	*found = (struct dwarf_place){};
	return gopclntab_find(&child_go, vaddr, &f) &&
	       gopclntab_line(&child_go, &f, vaddr - f.start, &found->file, &found->line);
}

/* Appends a string with its NUL. False: there is no room */
static bool put(char *reply, size_t *at, size_t max, const char *text)
{
	size_t length = text ? strnlen(text, MAX_NAME - 1) : 0;

	if (*at + length + 1 > max)
		return false;
	if (length)
		memcpy(reply + *at, text, length);
	reply[*at + length] = 0;
	*at += length + 1;
	return true;
}

/*
 * The reply: for each place its line, four bytes, and two strings, the function and the file; one
 * byte if there is none; two if there will never be any
 */
static size_t answer(void *arg, const char *request, size_t size, char *reply, size_t max)
{
	struct dwarf_place found[DWARF_MAX_INLINED];
	size_t at = 0, nr = 0;
	uint64_t vaddr;

	(void)arg;
	if (child_refused)
		return 0;
	if (!child_places && !child_go.nr)
		return NOTHING;
	if (size == sizeof(vaddr)) {
		memcpy(&vaddr, request, sizeof(vaddr));
		nr = child_places ? dwarf_places_find(child_places, vaddr, found)
				  : find_by_go_table(vaddr, found);
	}
	for (size_t i = 0; i < nr; i++) {
		uint32_t line = found[i].line;

		if (at + sizeof(line) > max)
			return 1;
		memcpy(reply + at, &line, sizeof(line));
		at += sizeof(line);
		if (!put(reply, &at, max, found[i].function) ||
		    !put(reply, &at, max, found[i].file))
			return 1;
	}
	return at ? at : 1;
}

/* ---- in the tool ---- */

/* NULL: no memory */
static struct user_account *account_of(uint32_t user)
{
	static struct user_room room = { .whole = &memory_room };
	struct user_account *account;

	HASH_FIND_INT(accounts, &user, account);
	if (account)
		return account;
	room.max = MAX_CACHE_BYTES;
	account = calloc(1, sizeof(*account));
	if (account)
		account->room = user_room_of(&room, user);
	if (!account || !account->room) {
		free(account);
		return NULL;
	}
	account->user = user;
	HASH_ADD_INT(accounts, user, account);
	return account;
}

static uint64_t left_ns(const struct user_account *account)
{
	uint64_t most = PLACES_MAX_MS * 1000000ULL, all = 0;

	if (account->user) {
		for (const struct user_account *user = accounts; user; user = user->hh.next)
			all += user->user ? user->waited_ns : 0;
		most = left_by_others(account->waited_ns, all, PLACES_OTHERS_MS * 1000000ULL) / 2;
	}
	return account->waited_ns < most ? most - account->waited_ns : 0;
}

int source_places_new(struct source_places **places, uint32_t user, bool no_demangle)
{
	struct user_account *account = account_of(user);

	*places = account ? calloc(1, sizeof(**places)) : NULL;
	if (!*places)
		return -ENOMEM;
	(*places)->account = account;
	(*places)->no_demangle = no_demangle;
	return 0;
}

static void forget(struct source_places *p)
{
	struct known_place *known, *next;
	struct known_name *name, *next_name;

	HASH_ITER(hh, p->known, known, next) {
		HASH_DEL(p->known, known);
		free(known->places);
		free(known);
	}
	HASH_ITER(hh, p->names, name, next_name) {
		HASH_DEL(p->names, name);
		free(name->name);
		free(name);
	}
	user_room_give(p->account->room, p->known_bytes);
	p->known_bytes = 0;
}

static void charge(struct source_places *p, size_t bytes)
{
	p->known_bytes += bytes;
	user_room_charge(p->account->room, bytes);
}

static void stop_child(struct source_places *p)
{
	for (struct source_places **at = &used; *at; at = &(*at)->used_before)
		if (*at == p) {
			*at = p->used_before;
			break;
		}
	bounded_child_stop(&p->child);
	p->answers = false;
}

void source_places_free(struct source_places *p)
{
	if (!p)
		return;
	stop_child(p);
	forget(p);
	free(p);
}

/*
 * what the children that there are have taken and may take; *oldest: the one that was used longest
 * ago, NULL: there is none
 */
static uint64_t taken_bytes(size_t *nr, struct source_places **oldest)
{
	uint64_t taken = 0;

	*nr = 0;
	*oldest = NULL;
	for (struct source_places *p = used; p; p = p->used_before, ++*nr) {
		uint64_t bytes = child_memory(p->child.pid);

		taken +=
			ANSWERS_MAX_BYTES + (bytes > p->bytes_before ? bytes - p->bytes_before : 0);
		*oldest = p;
	}
	return taken;
}

struct opener {
	places_open_fn *open;
	void *arg;
};

/* Makes room for a child, and makes p the one that was used last. */
static bool start_child(struct source_places *p, const struct opener *opener)
{
	struct sources from = { .opened.fd = -1 };
	int fds[MAX_OPENED_FILES];
	struct bounded_work work = {
		.reply_ms = REPLY_TIMEOUT_MS,
		.prepare = prepare,
		.prepare_ms = PLACES_PREPARE_MS,
		.answers_bytes = ANSWERS_MAX_BYTES,
		.answer = answer,
		.answer_ms = PLACES_ANSWER_MS,
		.arg = &from,
		.files = fds,
	};
	struct source_places *oldest;
	uint64_t taken, began;
	bool opens, started;
	size_t nr;

	for (struct source_places **at = &used; *at; at = &(*at)->used_before)
		if (*at == p) {
			*at = p->used_before;
			p->used_before = used;
			used = p;
			return true;
		}
	while ((taken = taken_bytes(&nr, &oldest)),
	       oldest && (nr >= MAX_CHILDREN || taken > PLACES_MAX_BYTES / 4))
		stop_child(oldest);
	work.max_bytes = PLACES_MAX_BYTES - taken;
	p->bytes_before = child_memory(0);
	began = clock_ns();
	opens = opener->open(opener->arg, &from.opened, &from.debug);
	p->account->waited_ns += clock_ns() - began;
	if (!opens)
		return false;
	work.nr_files = list_files(&from.opened, fds);
	started = bounded_child_start(&p->child, &work);
	for (size_t i = 0; i < work.nr_files; i++)
		close(fds[i]);
	if (!started)
		return false;
	p->used_before = used;
	used = p;
	return true;
}

static bool may_ask(const struct source_places *p)
{
	return p->overruns < PLACES_MAX_OVERRUNS && left_ns(p->account);
}

static size_t ask_child(struct source_places *p, uint64_t vaddr, char *reply, size_t max)
{
	/* opening may have used it up */
	uint64_t began = clock_ns(), left_ms = left_ns(p->account) / 1000000;
	size_t got;

	bounded_child_wait(&p->child, left_ms < REPLY_TIMEOUT_MS ? left_ms : REPLY_TIMEOUT_MS);
	got = bounded_child_ask(&p->child, &vaddr, sizeof(vaddr), reply, max);
	p->account->waited_ns += clock_ns() - began;
	return got;
}

/*
 * A child may have grown up to its limit by many answers: a new one is asked again. One that does
 * not answer at all cannot read the file. 0: given up
 */
static size_t ask(struct source_places *p, const struct opener *opener, uint64_t vaddr, char *reply,
		  size_t max)
{
	bool again = true;

	while (again && may_ask(p) && start_child(p, opener)) {
		size_t got = ask_child(p, vaddr, reply, max);

		again = p->answers;
		p->answers = true;
		p->nothing = got == NOTHING;
		if (got && !p->nothing) {
			p->readable = true;
			return got;
		}
		stop_child(p);
		if (p->nothing)
			return 0;
		if (!p->readable && may_ask(p)) /* it had the time */
			p->overruns = PLACES_MAX_OVERRUNS;
	}
	p->overruns++;
	p->refused++;
	return 0;
}

/* NULL: no memory */
static const struct known_name *name_of(struct source_places *p, const char *raw)
{
	size_t length = strlen(raw);
	struct known_name *known;

	HASH_FIND(hh, p->names, raw, length, known);
	if (known)
		return known;
	known = calloc(1, sizeof(*known) + length + 1);
	if (!known)
		return NULL;
	strcpy(known->raw, raw);
	known->name = symbol_name_for_people(raw, p->no_demangle, false);
	if (!known->name) {
		free(known);
		return NULL;
	}
	charge(p, sizeof(*known) + length + strlen(known->name));
	HASH_ADD_KEYPTR(hh, p->names, known->raw, length, known);
	return known;
}

/* the next place of a reply that lies between *at and end; false: there is no whole one */
static bool next_place(struct source_places *p, const char **at, const char *end,
		       struct source_place *place)
{
	const char *strings = *at + sizeof(uint32_t), *function_end, *file_end;
	const struct known_name *name = NULL;
	uint32_t line;

	if ((size_t)(end - *at) <= sizeof(line))
		return false;
	memcpy(&line, *at, sizeof(line));
	function_end = memchr(strings, 0, end - strings);
	file_end = function_end ? memchr(function_end + 1, 0, end - function_end - 1) : NULL;
	if (!file_end)
		return false;
	if (*strings) {
		name = name_of(p, strings);
		if (!name)
			return false;
	}
	*place = (struct source_place){
		.name = name ? name->name : NULL,
		.raw_name = name ? name->raw : NULL,
		.file = function_end[1] ? function_end + 1 : NULL,
		.line = line,
	};
	*at = file_end + 1;
	return true;
}

static struct known_place *remember(struct source_places *p, uint64_t vaddr, const char *reply,
				    size_t size)
{
	struct known_place *known = malloc(sizeof(*known) + size);
	struct source_place place, *places = calloc(MAX_SOURCE_PLACES, sizeof(place)), *fitting;
	const char *at, *end;

	if (!known || !places) {
		free(known);
		free(places);
		return NULL;
	}
	if (!user_room_has(p->account->room, 1))
		forget(p);
	*known = (struct known_place){ .vaddr = vaddr };
	memcpy(known->reply, reply, size);
	at = known->reply;
	end = at + size;
	while (known->nr < MAX_SOURCE_PLACES && next_place(p, &at, end, &place))
		places[known->nr++] = place;
	fitting = realloc(places, (known->nr + 1) * sizeof(place));
	known->places = fitting ? fitting : places;
	charge(p, sizeof(*known) + size + known->nr * sizeof(place));
	HASH_ADD(hh, p->known, vaddr, sizeof(known->vaddr), known);
	return known;
}

size_t source_places_take(struct source_places *p, uint64_t vaddr, const char *reply, size_t size,
			  const struct source_place **found)
{
	const struct known_place *known = remember(p, vaddr, reply, size);

	if (!known)
		return 0;
	*found = known->places;
	return known->nr;
}

size_t source_places_find(struct source_places *p, uint64_t vaddr, places_open_fn *open, void *arg,
			  const struct source_place **found)
{
	static char reply[BOUNDED_MAX_REPLY];
	const struct opener opener = { open, arg };
	const struct known_place *known;

	if (p->nothing)
		return 0;
	HASH_FIND(hh, p->known, &vaddr, sizeof(vaddr), known);
	if (!known)
		return source_places_take(p, vaddr, reply,
					  ask(p, &opener, vaddr, reply, sizeof(reply)), found);
	*found = known->places;
	return known->nr;
}

bool source_places_lacking(const struct source_places *p)
{
	return p->nothing;
}

void source_places_begin(void)
{
	for (struct user_account *account = accounts; account; account = account->hh.next)
		account->waited_ns = 0;
}

uint64_t source_places_refused(const struct source_places *p)
{
	return p->refused;
}
