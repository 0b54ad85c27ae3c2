// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/events.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "dwarf/bounded_child.h"
#include "dwarf/demangle.h"
#include "dwarf/functions.h"
#include "dwarf/regular_file.h"
#include "dwarf/usdt.h"
#include "process/events_message.h"
#include "process/file_path.h"
#include "process/tracefs.h"
#include "table/machine.h"

#define MAX_ARGUMENTS 200 /* characters of a note, which others have written */
/* for reading a file, in the child that does */
#define READ_CPU_MS 60000
#define READ_MS     120000
#define READ_BYTES  ((size_t)4 << 30)
#define READ_LIMITS "60 seconds of CPU time and 4 GB of memory"

struct finding {
	struct events *events;
	const struct event_name *name;
	const struct events_search *search;
	struct events_problem *problem;
	char path[PATH_MAX]; /* of name->file */
	struct opened_elf *opened;
	struct elf_file file;
	struct code_bounds *bounds; /* of the file; NULL for a list of names */
};

__attribute__((format(printf, 3, 4))) static int fail(struct finding *f, int error,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->problem->text, sizeof(f->problem->text), format, args);
	va_end(args);
	return error;
}

/* Appends an event; its name, of which there is a copy made, follows the prefix. */
__attribute__((format(printf, 3, 4))) static int add(struct finding *f, struct event event,
						     const char *format, ...)
{
	struct events *all = f->events;
	char *rest = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&rest, format, args);
	va_end(args);
	event.kind = f->name->kind;
	event.name = NULL;
	if (length < 0 || asprintf(&event.name, "%s%s", event_kind_prefixes[event.kind], rest) < 0)
		event.name = NULL;
	if (length >= 0)
		free(rest);
	event.path = strdup(event.path ? event.path : f->path);
	event.arguments = strndup(event.arguments ? event.arguments : "", MAX_ARGUMENTS);
	if (!event.name || !event.path || !event.arguments ||
	    array_reserve(&all->events, &all->room, all->nr + 1)) {
		event_free(&event);
		return -ENOMEM;
	}
	all->events[all->nr++] = event;
	return 0;
}

/* ---- tracepoints ---- */

static int add_tracepoint(void *arg, const char *group, const char *name)
{
	struct finding *f = arg;
	struct event event = {};
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", group, name);
	if (!f->search->list)
		event.tracepoint = tracefs_tracepoint_id(path);
	/* those of ftrace itself have no ID */
	return event.tracepoint < 0 ? 0 : add(f, event, "%s:%s", group, name);
}

static int fail_at_tracefs(struct finding *f, int error, const char *lists)
{
	const char *cure =
		error == -EACCES ? ": run as root, or with CAP_DAC_READ_SEARCH"
		: error == -EPERM
			? ": the kernel is locked down (see /sys/kernel/security/lockdown)"
			: "";

	return fail(f, error, "cannot read tracefs, which lists the %s: %s%s", lists,
		    strerror(-error), cure);
}

static int find_tracepoints(struct finding *f)
{
	int error = tracefs_tracepoints(f->name->group, f->name->name, add_tracepoint, f);

	return error && error != -ENOMEM ? fail_at_tracefs(f, error, "tracepoints") : error;
}

/* ---- functions of the kernel ---- */

static int add_kernel_function(void *arg, const char *module, const char *name)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s%s%s", module, *module ? ":" : "", name);
	return add(arg, (struct event){ .path = whole }, "%s", whole);
}

int event_by_name(const void *left, const void *right)
{
	const struct event *l = left, *r = right;

	return strcmp(l->name, r->name);
}

/* Functions of one name cannot be told apart, or only the first one is probed, again and again. */
static void leave_out_ambiguous(struct events *events, size_t first)
{
	size_t kept = first;

	qsort(events->events + first, events->nr - first, sizeof(*events->events), event_by_name);
	for (size_t i = first, same; i < events->nr; i += same) {
		for (same = 1; i + same < events->nr &&
			       !event_by_name(&events->events[i], &events->events[i + same]);)
			same++;
		if (same == 1) {
			events->events[kept++] = events->events[i];
			continue;
		}
		events->nr_ambiguous += same;
		for (size_t k = i; k < i + same; k++)
			event_free(&events->events[k]);
	}
	events->nr = kept;
}

/* A name without * or ? is taken as it is: the kernel knows more functions than tracefs lists. */
static int find_kernel_functions(struct finding *f)
{
	const struct event_name *name = f->name;
	size_t first = f->events->nr;
	int error;

	if (!f->search->list && !event_name_is_pattern(name->group) &&
	    !event_name_is_pattern(name->name))
		return add_kernel_function(f, name->group, name->name);
	error = tracefs_functions(name->group, name->name, add_kernel_function, f);
	if (!error && !f->search->list)
		leave_out_ambiguous(f->events, first);
	if (error == -ENOENT)
		return fail(f, error,
			    "this kernel does not list its functions: it is built without "
			    "CONFIG_DYNAMIC_FTRACE and CONFIG_FUNCTION_TRACER");
	return error && error != -ENOMEM ? fail_at_tracefs(f, error, "kernel's functions") : error;
}

/* ---- user functions ---- */

static int fail_at_file(struct finding *f, int error)
{
	return fail(f, error, "'%s': %s", f->path, elf_file_explain(error));
}

/* 0; -ENOTSUP: calls of it cannot be timed; -ENOMEM, -EBADMSG */
static int find_exits(struct finding *f, uint64_t vaddr, uint64_t bytes,
		      struct function_exits *exits)
{
	if (!f->search->returns || f->search->list || f->events->nr > f->search->most)
		return 0;
	return function_exits_find(exits, f->bounds, vaddr, bytes);
}

static int fail_at_exits(struct finding *f, int error, const char *name)
{
	if (error == -ENOMEM)
		return error;
	return fail(f, error,
		    "cannot time '%s' in '%s': it does not return, or not all its exits are known",
		    name, f->path);
}

/*
 * Why a probe there would break the program, or cannot be had; NULL: it can. start: of its
 * function, 0: not known
 */
static const char *why_unprobeable(const struct finding *f, uint64_t offset, uint64_t start)
{
	const struct elf_segment *s = elf_file_segment_at(&f->file, offset);
	uint8_t code[MACHINE_BEFORE + 8]; /* enough for prefixes and an opcode */
	size_t before = s ? offset - s->file_offset : 0;

	if (f->search->list || !s)
		return NULL;
	if (!code_begins_instruction(f->bounds, start, offset - s->file_offset + s->vaddr))
		return "it lies within an instruction";
	if (before > MACHINE_BEFORE)
		before = MACHINE_BEFORE;
	if (!elf_file_read(&f->file, offset - before, code, before + 8) &&
	    machine_is_unprobeable(code, before + 8, before))
		return "the kernel cannot probe its first instruction";
	return NULL;
}

static int fail_at_probe(struct finding *f, const char *name, const char *why)
{
	return fail(f, -ENOTSUP, "cannot probe '%s' in '%s': %s", name, f->path, why);
}

static int add_functions(struct finding *f, const struct functions *functions)
{
	bool pattern = event_name_is_pattern(f->name->name);
	int error = 0;

	for (size_t i = 0; i < functions->nr && !error; i++) {
		const struct function *function = &functions->functions[i];
		struct event event = { .file_offset = function->file_offset };
		const char *unprobeable;

		if (function->chosen && !f->search->list && pattern)
			continue;
		if (function->chosen && !f->search->list)
			return fail(
				f, -ENOTSUP,
				"'%s' stands for several functions; one is chosen when the program "
				"starts: see -l 'u:%s:*%s*'",
				function->name, f->name->file, function->name);
		unprobeable = why_unprobeable(f, function->file_offset, 0);
		error = unprobeable ? 0
				    : find_exits(f, function->vaddr, function->bytes, &event.exits);
		if ((unprobeable || (error && error != -ENOMEM)) && pattern) {
			f->events->nr_left_out++;
			error = 0;
			continue;
		}
		if (unprobeable)
			return fail_at_probe(f, function->name, unprobeable);
		if (error)
			return fail_at_exits(f, error, function->name);
		error = add(f, event, "%s:%s", f->path, function->name);
	}
	return error;
}

static int find_functions(struct finding *f)
{
	struct symbol_options options = *f->search->symbols;
	struct functions functions;
	int error;

	options.path = f->path;
	options.opened = f->opened;
	error = functions_find(&functions, &f->file, &options, f->name->name);
	if (error)
		return fail_at_file(f, error);
	error = add_functions(f, &functions);
	functions_free(&functions);
	return error;
}

/* by the file's symbols, or its FDEs; 0: not known */
static uint64_t function_of(struct finding *f, uint64_t offset)
{
	struct symbol_options options = *f->search->symbols;
	struct symbols *symbols;
	struct symbol symbol;
	uint64_t start = 0;

	options.path = f->path;
	options.opened = f->opened;
	options.no_demangle = true;
	if (symbols_read(&symbols, &f->file, &options))
		return 0;
	if (symbols_find(symbols, offset, &symbol) && symbol.has_function)
		start = symbol.function_vaddr;
	symbols_free(symbols);
	return start;
}

static int add_address(struct finding *f)
{
	uint64_t offset = f->name->address, vaddr, start;
	const struct elf_segment *s;
	struct event event = {};
	const char *unprobeable;
	char name[32];
	int error;

	if (f->name->by == EVENT_BY_VADDR &&
	    !elf_file_offset_of(&f->file, f->name->address, &offset))
		offset = UINT64_MAX;
	s = elf_file_segment_at(&f->file, offset);
	if (!s || !s->executable)
		return fail(f, -EINVAL, "there is no code at 0x%" PRIx64 " in '%s'",
			    f->name->address, f->path);
	vaddr = offset - s->file_offset + s->vaddr;
	snprintf(name, sizeof(name), "0x%" PRIx64, vaddr);
	/* symbols take long to read: only where no FDE says where the function begins */
	start = f->search->returns || (f->bounds && !code_has_fde(f->bounds, vaddr))
			? function_of(f, offset)
			: 0;
	if (f->search->returns && start != vaddr)
		return fail(f, -EINVAL, "no function begins at 0x%" PRIx64 " in '%s'",
			    f->name->address, f->path);
	unprobeable = why_unprobeable(f, offset, start);
	if (unprobeable)
		return fail_at_probe(f, name, unprobeable);
	event.file_offset = offset;
	error = find_exits(f, vaddr, 0, &event.exits);
	if (error)
		return fail_at_exits(f, error, name);
	return add(f, event, "%s+0x%" PRIx64, f->path, vaddr);
}

static bool is_meant(const struct event_name *name, const struct usdt_probe *probe)
{
	return !fnmatch(name->group, probe->provider, 0) && !fnmatch(name->name, probe->name, 0);
}

static int find_probes(struct finding *f)
{
	struct usdt_probe *probes;
	size_t nr;
	int error = usdt_read(&f->file, &probes, &nr);

	if (error)
		return fail_at_file(f, error);
	for (size_t i = 0; i < nr && !error; i++) {
		if (!is_meant(f->name, &probes[i]))
			continue;
		if (why_unprobeable(f, probes[i].file_offset, 0)) {
			f->events->nr_left_out++;
			continue;
		}
		error = add(f,
			    (struct event){ .file_offset = probes[i].file_offset,
					    .semaphore_offset = probes[i].semaphore_offset,
					    .arguments = (char *)probes[i].arguments },
			    "%s:%s:%s", f->path, probes[i].provider, probes[i].name);
	}
	free(probes);
	if (!nr)
		return fail(f, -ENOENT, "'%s' has no probes: no .note.stapsdt", f->path);
	return error;
}

/* The descriptor is the events'. */
static int note_file(struct events *events, int fd)
{
	struct stat stat;

	events->fd = fd;
	if (fstat(fd, &stat))
		return -errno;
	events->changed = stat.st_ctim;
	return 0;
}

bool events_file_changed(const struct events *events)
{
	struct stat stat;

	return events->fd &&
	       (fstat(events->fd, &stat) || stat.st_ctim.tv_sec != events->changed.tv_sec ||
		stat.st_ctim.tv_nsec != events->changed.tv_nsec);
}

/*
 * A file may be another user's, whose process has it mapped: a child without rights, which can open
 * nothing, reads it and its debug files. It tells what it has found in pieces.
 */
struct reading {
	struct finding *f;
	int (*find)(struct finding *f);
	struct opened_elf opened;
	char *message; /* NULL: the file is not read yet */
	size_t bytes;
};

/* in the child */
static void read_file(struct reading *r)
{
	static struct events_message message;
	struct finding *f = r->f;
	GElf_Shdr header;

	f->opened = &r->opened;
	message.error = elf_file_open(&f->file, r->opened.fd);
	if (message.error) {
		fail_at_file(f, message.error);
	} else {
		if (!elf_file_header(&f->file, SHT_SYMTAB, NULL, &header))
			debug_key_read(&message.debug, &f->file);
		f->bounds = f->search->list ? NULL : code_bounds_read(&f->file, f->search->returns);
		message.error = f->bounds || f->search->list ? r->find(f) : -ENOMEM;
	}
	f->events->nr_mangled = demangle_refused();
	message.problem = *f->problem;
	if (!events_message_write(&message, f->events, &r->message, &r->bytes))
		r->bytes = 0;
}

/* The request: from which byte on */
static size_t tell_found(void *arg, const char *request, size_t size, char *reply, size_t max)
{
	struct reading *r = arg;
	uint64_t at;

	if (!r->message)
		read_file(r);
	if (size != sizeof(at))
		return 0;
	memcpy(&at, request, sizeof(at));
	if (at >= r->bytes)
		return 0;
	if (max > r->bytes - at)
		max = r->bytes - at;
	memcpy(reply, r->message + at, max);
	return max;
}

/* All of its message, in memory that is to be freed. 0, -ETIME: it does not answer; or -ENOMEM */
static int hear(const struct bounded_child *child, char **message, size_t *nr)
{
	uint64_t end = clock_ns() + READ_MS * 1000000ULL, at;
	size_t all = 1, got;

	for (*nr = 0; *nr < all; *nr += got) {
		char *more = realloc(*message, all + BOUNDED_MAX_REPLY);

		if (!more)
			return -ENOMEM;
		*message = more;
		at = *nr;
		got = bounded_child_ask(child, &at, sizeof(at), more + at, BOUNDED_MAX_REPLY);
		if (!at)
			all = events_message_bytes(more, got);
		if (!got || !all || clock_ns() > end ||
		    got != (all - at < BOUNDED_MAX_REPLY ? all - at : BOUNDED_MAX_REPLY))
			return -ETIME;
	}
	return 0;
}

/*
 * The child's descriptors: 0: the socket; 1: the file; then its debug files. The tool's own
 * descriptors of these are closed.
 */
static int ask_child(struct finding *f, int (*find)(struct finding *f),
		     struct debug_files *debug_files, struct events *found,
		     struct events_message *message)
{
	struct reading reading = { .f = f, .find = find, .opened.fd = 1 };
	int files[1 + MAX_DEBUG_FILES] = { f->events->fd };
	const struct bounded_work work = {
		.max_bytes = READ_BYTES,
		.begin = strstr(f->name->name, "::") ? demangle_begin : NULL,
		.reply_ms = READ_MS,
		.files = files,
		.nr_files = 1 + debug_files->nr,
		.answer = tell_found,
		.answer_ms = READ_CPU_MS,
		.arg = &reading,
	};
	struct bounded_child child = {};
	char *bytes = NULL;
	size_t nr;
	int error;

	for (size_t i = 0; i < debug_files->nr; i++) {
		files[1 + i] = debug_files->fds[i];
		reading.opened.local.fds[reading.opened.local.nr++] = 2 + (int)i;
	}
	error = bounded_child_start(&child, &work) ? 0 : -errno;
	debug_files_close(debug_files);
	if (error)
		return fail(f, error, "cannot start a process that reads '%s': %s", f->path,
			    strerror(-error));
	error = hear(&child, &bytes, &nr);
	bounded_child_stop(&child);
	error = error ?: events_message_read(message, found, f->name->kind, f->path, bytes, nr);
	free(bytes);
	if (error || message->error == -ENOMEM)
		return fail(f, error ?: -EFBIG, "'%s': it cannot be read within " READ_LIMITS,
			    f->path);
	return 0;
}

static int find_by_child(struct finding *f, int (*find)(struct finding *f))
{
	static struct events_message message;
	struct events *all = f->events, found, other;
	struct debug_files files = {};
	int error = ask_child(f, find, &files, &found, &message);

	if (error)
		return error;
	if (f->name->kind == EVENT_USER_FUNCTION)
		debug_files_find(&files, &f->search->symbols->search, &message.debug, all->fd,
				 f->path);
	/* debug files that cannot be read are as if there were none */
	if (files.nr && !ask_child(f, find, &files, &other, &message)) {
		events_free(&found);
		found = other;
	}
	found.fd = all->fd;
	found.changed = all->changed;
	*all = found;
	*f->problem = message.problem;
	return message.error;
}

static int find_in_file(struct finding *f, int (*find)(struct finding *f))
{
	int error = file_path_find(f->name->file, f->search->pid, f->path), fd;

	if (error)
		return fail(f, error,
			    strchr(f->name->file, '/') ? "there is no program or library '%s'"
						       : "no program or library is called '%s'",
			    f->name->file);
	fd = regular_file_open(-1, f->path, true);
	error = fd < 0 ? fd : note_file(f->events, fd);
	return error ? fail_at_file(f, error) : find_by_child(f, find);
}

/* ---- perf's ---- */

static int add_perf_name(void *arg, const char *name)
{
	return add(arg, (struct event){}, "%s", name);
}

static int find_perf_event(struct finding *f)
{
	struct event event = {};

	if (f->search->list)
		return perf_names(f->name->name, add_perf_name, f);
	if (perf_name_encode(f->name->name, &event.perf))
		return fail(f, -ENOENT, "no event has the name '%s'", f->name->name);
	return add(f, event, "%s", f->name->name);
}

/* ---- all ---- */

static int find(struct finding *f)
{
	switch (f->name->kind) {
	case EVENT_TRACEPOINT:
		return find_tracepoints(f);
	case EVENT_KERNEL_FUNCTION:
		return find_kernel_functions(f);
	case EVENT_USER_FUNCTION:
		return find_in_file(f, f->name->by == EVENT_BY_NAME ? find_functions : add_address);
	case EVENT_USDT:
		return find_in_file(f, find_probes);
	default:
		return find_perf_event(f);
	}
}

/* ---- what may have been meant ---- */

#define MAX_MEANT 4

struct meant {
	char *names[MAX_MEANT];
	size_t nr;
};

static void add_meant(struct meant *m, const char *name)
{
	for (size_t i = 0; i < m->nr; i++)
		if (!strcmp(m->names[i], name))
			return;
	if (m->nr < MAX_MEANT && (m->names[m->nr] = strdup(name)))
		m->nr++;
}

/* Adds the events of this name, if there are any of a wanted kind. */
static void try_name(const struct finding *f, struct meant *meant, const char *text)
{
	struct events_search search = { .pid = f->search->pid,
					.symbols = f->search->symbols,
					.list = true };
	struct events_problem *problem = malloc(sizeof(*problem));
	struct event_name *name = malloc(sizeof(*name));
	struct events found = {};

	if (name && problem && !event_name_parse(name, text, false) &&
	    f->search->kinds >> name->kind & 1 && !events_find(&found, name, &search, problem))
		for (size_t i = 0; i < found.nr; i++)
			add_meant(meant, event_name_is_pattern(text) ? found.events[i].name : text);
	events_free(&found);
	free(problem);
	free(name);
}

static void try_names(const struct finding *f, struct meant *meant)
{
	static const char *const without_prefix[] = { "t:%s", "t:*:%s", "t:syscalls:sys_enter_%s",
						      "u:libc.so.6:%s", "k:%s" };
	char text[EVENT_NAME_BYTES];

	for (size_t i = 0;
	     i < sizeof(without_prefix) / sizeof(without_prefix[0]) && f->name->kind == EVENT_PERF;
	     i++) {
		snprintf(text, sizeof(text), without_prefix[i], f->name->name);
		try_name(f, meant, text);
	}
	if (f->name->kind == EVENT_TRACEPOINT) {
		snprintf(text, sizeof(text), "t:*:%s", f->name->name);
		try_name(f, meant, text);
	}
	if (f->name->kind == EVENT_USER_FUNCTION && f->name->by == EVENT_BY_NAME) {
		snprintf(text, sizeof(text), "u:%s:*::%s", f->name->file, f->name->name);
		try_name(f, meant, text);
	}
}

/* Adds to the problem what else the name may mean, or which names there are. */
static void suggest_names(struct finding *f)
{
	const char *kinds =
		"perf's events are page-faults, cycles and so on; the others begin with t:, k:, u: or usdt:";
	size_t length = strlen(f->problem->text);
	struct meant meant = {};

	if (f->search->kinds == EVENTS_OF_PERF)
		kinds = "perf's events are page-faults, cycles and so on";
	else if (f->search->kinds == EVENTS_FUNCTIONS)
		kinds = "a function is u:FILE:FUNCTION, or k:FUNCTION of the kernel";
	try_names(f, &meant);
	for (size_t i = 0; i < meant.nr; i++) {
		bool last = i + 1 == meant.nr;
		const char *before = last ? " or " : ", ";

		length += snprintf(f->problem->text + length, sizeof(f->problem->text) - length,
				   "%s%s%s", i ? before : ": did you mean ", meant.names[i],
				   last ? "?" : "");
		free(meant.names[i]);
		if (length >= sizeof(f->problem->text))
			length = sizeof(f->problem->text) - 1;
	}
	if (!meant.nr && f->name->kind == EVENT_PERF)
		snprintf(f->problem->text + length, sizeof(f->problem->text) - length, ": %s",
			 kinds);
}

static int find_all(struct events *events, const struct event_name *name,
		    const struct events_search *search, struct events_problem *problem)
{
	static const char *const nouns[NR_EVENT_KINDS] = { "tracepoint", "kernel function",
							   "function", "probe", "event" };
	struct finding f = { .events = events, .name = name, .search = search, .problem = problem };
	size_t before = events->nr;
	int error;

	problem->text[0] = 0;
	error = find(&f);
	if (!error && events->nr == before && events->nr_ambiguous)
		return fail(
			&f, -ENOTSUP,
			"none of the functions '%s' can be probed: each has the name of another one",
			name->name);
	if (!error && events->nr == before && events->nr_left_out && !search->returns)
		return fail(
			&f, -ENOTSUP,
			"none of the %ss '%s%s%s' in '%s' can be probed: the kernel cannot probe their first "
			"instructions, or they lie within one",
			nouns[name->kind], name->group, *name->group ? ":" : "", name->name,
			f.path);
	if (!error && events->nr == before && events->nr_left_out)
		return fail(
			&f, -ENOTSUP,
			"calls of none of the functions '%s' in '%s' can be timed: they do not return, or not "
			"all their exits are known",
			name->name, f.path);
	if (!error && events->nr == before && *f.path)
		return fail(&f, -ENOENT, "'%s' has no %s '%s%s%s'", f.path, nouns[name->kind],
			    name->group, *name->group ? ":" : "", name->name);
	if (!error && events->nr == before)
		return fail(&f, -ENOENT, "there is no %s '%s%s%s'", nouns[name->kind], name->group,
			    *name->group ? ":" : "", name->name);
	return error;
}

int events_find(struct events *events, const struct event_name *name,
		const struct events_search *search, struct events_problem *problem)
{
	struct finding f = { .name = name, .search = search, .problem = problem };
	int error = find_all(events, name, search, problem);

	if (error == -ENOENT && !search->list && problem->text[0])
		suggest_names(&f);
	return error;
}
