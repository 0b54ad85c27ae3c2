// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/dwarf_places.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/order.h"
#include "base/search.h"
#include "dwarf/debug_file.h"
#include "dwarf/elf_file.h"
#include "dwarf/regular_file.h"

/* code of a unit, or of a function in one */
struct range {
	uint64_t start, end;
	union {
		size_t unit;        /* its index */
		Dwarf_Off function; /* its DIE */
	};
};

struct ranges {
	struct range *list; /* by start */
	size_t nr, room;
};

struct unit {
	Dwarf_Off die;
	Dwarf_Die split; /* in the .dwo file; without a cu: there is none */
	bool listed;
	struct ranges functions; /* once it was asked for */
};

struct dwarf_places {
	Dwarf *dwarf, *alternate; /* NULL: there is none */
	Elf *elf, *alternate_elf;
	int alternate_fd;
	uid_t owner;              /* the file's, */
	char directory[PATH_MAX]; /* and where it is */
	struct unit *units;
	size_t nr_units, unit_room;
	struct ranges ranges; /* of the units: not every compiler writes .debug_aranges */
};

/* ---- what covers an address ---- */

/* adds what the DIE covers, as `range` says who that is */
static int add_ranges(struct ranges *ranges, Dwarf_Die *die, struct range range)
{
	Dwarf_Addr base;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &range.start, &range.end)) > 0) {
		if (range.start >= range.end)
			continue;
		if (array_reserve(&ranges->list, &ranges->room, ranges->nr + 1))
			return -1;
		ranges->list[ranges->nr++] = range;
	}
	return 0;
}

static int by_start(const void *left, const void *right)
{
	const struct range *l = left, *r = right;

	return order_of(l->start, r->start);
}

static void sort(struct ranges *ranges)
{
	if (ranges->nr)
		qsort(ranges->list, ranges->nr, sizeof(*ranges->list), by_start);
}

/* Ranges of discarded functions overlap others: how many of these to look behind */
#define MAX_OVERLAPS 16

static const struct range *find_range(const struct ranges *ranges, uint64_t vaddr)
{
	size_t nr = count_up_to(ranges->list, ranges->nr, start, vaddr);

	for (size_t i = 0; i < MAX_OVERLAPS && nr; i++, nr--)
		if (vaddr < ranges->list[nr - 1].end)
			return &ranges->list[nr - 1];
	return NULL;
}

/* ---- split units ---- */

/*
 * Would opening this path do what opening a file does not, or is there what nobody would believe,
 * or a bomb? libdw asks nothing of this. Whoever replaces the file in between can hold up the
 * child, which the tool does not wait for.
 */
static bool is_odd(const struct dwarf_places *p, const char *directory, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;
	Elf *elf;
	bool odd;

	if (snprintf(path, sizeof(path), "%s%s%s", directory, *directory ? "/" : "", name) >=
	    (int)sizeof(path))
		return true;
	fd = regular_file_open(-1, path, true);
	if (fd < 0)
		return !stat(path, &st); /* no regular file */
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	odd = !elf || elf_file_check_compressed(elf) || !regular_file_is_believed(fd, p->owner);
	elf_end(elf);
	close(fd);
	return odd;
}

static const char *string_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;

	return dwarf_formstring(dwarf_attr(die, attribute, &found));
}

/*
 * libdw opens the .dwo file: beside the file, from where no name may lead away, or where it was
 * compiled.
 */
static void open_split(const struct dwarf_places *p, Dwarf_Die *skeleton, Dwarf_Die *split)
{
	const char *name = string_of(skeleton, DW_AT_dwo_name),
		   *compiled = string_of(skeleton, DW_AT_comp_dir);
	char directory[PATH_MAX];
	uint8_t type;

	if (!name)
		name = string_of(skeleton, DW_AT_GNU_dwo_name);
	if (!name || strstr(name, "..") ||
	    (name[0] == '/' ? is_odd(p, "", name) : is_odd(p, p->directory, name)))
		return;
	if (name[0] != '/' && compiled) {
		bool whole =
			snprintf(directory, sizeof(directory), "%s%s%s",
				 compiled[0] == '/' ? "" : p->directory,
				 compiled[0] == '/' ? "" : "/", compiled) < (int)sizeof(directory);

		if (!whole || is_odd(p, directory, name))
			return;
	}
	if (dwarf_cu_info(skeleton->cu, NULL, &type, NULL, split, NULL, NULL, NULL))
		*split = (Dwarf_Die){};
}

/* ---- units and functions ---- */

static int list_units(struct dwarf_places *p)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (!dwarf_get_units(p->dwarf, cu, &cu, NULL, &type, &die, NULL)) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (array_reserve(&p->units, &p->unit_room, p->nr_units + 1) ||
		    add_ranges(&p->ranges, &die, (struct range){ .unit = p->nr_units }))
			return -ENOMEM;
		p->units[p->nr_units] = (struct unit){ .die = dwarf_dieoffset(&die) };
		if (type == DW_UT_skeleton)
			open_split(p, &die, &p->units[p->nr_units].split);
		p->nr_units++;
	}
	sort(&p->ranges);
	return 0;
}

#define MAX_NESTING 64

/* Functions are below namespaces and types, too: libdw's dwarf_getscopes() does not look there. */
static int list_functions(struct ranges *functions, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;
	int error = 0;

	if (depth > MAX_NESTING || dwarf_child(parent, &die))
		return 0;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			error = add_ranges(functions, &die,
					   (struct range){ .function = dwarf_dieoffset(&die) });
			/* fall through */
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
			if (!error)
				error = list_functions(functions, &die, depth + 1);
		}
	} while (!error && !dwarf_siblingof(&die, &die));
	return error;
}

/* ---- files ---- */

/* 0, -ENOENT, or as elf_file_check_compressed() */
static int open_dwarf(Dwarf **dwarf, int fd, Elf **elf)
{
	int error;

	elf_version(EV_CURRENT);
	*elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	error = elf_kind(*elf) == ELF_K_ELF ? elf_file_check_compressed(*elf) : -ENOENT;
	if (!error)
		*dwarf = dwarf_begin_elf(*elf, DWARF_C_READ, NULL);
	return error || *dwarf ? error : -ENOENT;
}

static void close_alternate(struct dwarf_places *p)
{
	dwarf_end(p->alternate);
	elf_end(p->alternate_elf);
	if (p->alternate_fd >= 0)
		close(p->alternate_fd);
	p->alternate = NULL;
	p->alternate_elf = NULL;
	p->alternate_fd = -1;
}

/* true: it is there, and has this build ID */
static bool try_alternate(struct dwarf_places *p, const char *path, const uint8_t *id,
			  ssize_t bytes)
{
	const void *found;

	p->alternate_fd = regular_file_open(-1, path, true);
	if (p->alternate_fd >= 0 && regular_file_is_believed(p->alternate_fd, p->owner))
		open_dwarf(&p->alternate, p->alternate_fd, &p->alternate_elf);
	if (p->alternate && dwelf_elf_gnu_build_id(p->alternate_elf, &found) == bytes &&
	    !memcmp(found, id, bytes))
		return true;
	close_alternate(p);
	return false;
}

/*
 * Left to itself, libdw opens whatever .gnu_debugaltlink names, FIFOs too. Where no file can be
 * opened, it tries but once.
 */
static void forbid_alternate(Dwarf *dwarf)
{
	struct rlimit before, none;

	if (getrlimit(RLIMIT_NOFILE, &before))
		return;
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	dwarf_getalt(dwarf);
	setrlimit(RLIMIT_NOFILE, &before);
}

/* dwz's file, which others share: by its build ID, or by its name */
static void open_alternate(struct dwarf_places *p)
{
	char path[DEBUG_FILE_MAX_PATH];
	const char *name;
	const void *id;
	ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(p->dwarf, &name, &id);

	if (bytes < 2 || bytes > MAX_BUILD_ID) {
		forbid_alternate(p->dwarf);
		return;
	}
	debug_file_path_by_id(path, DEBUG_DIRECTORY, id, bytes);
	if (try_alternate(p, path, id, bytes) ||
	    (snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : p->directory,
		      name[0] == '/' ? "" : "/", name) < (int)sizeof(path) &&
	     try_alternate(p, path, id, bytes)))
		dwarf_setalt(p->dwarf, p->alternate);
	else
		forbid_alternate(p->dwarf);
}

/* whose it is, and where it is, as far as the kernel has a path for it from here */
static void look_at(struct dwarf_places *p, int fd)
{
	char link[32], *slash;
	struct stat st;
	ssize_t length;

	p->owner = fstat(fd, &st) ? 0 : st.st_uid;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, p->directory, sizeof(p->directory) - 1);
	p->directory[length < 0 ? 0 : length] = 0;
	slash = strrchr(p->directory, '/');
	if (slash)
		*slash = 0;
}

int dwarf_places_new(struct dwarf_places **places, int fd)
{
	struct dwarf_places *p = calloc(1, sizeof(*p));
	int error;

	if (!p)
		return -ENOMEM;
	p->alternate_fd = -1;
	look_at(p, fd);
	error = open_dwarf(&p->dwarf, fd, &p->elf);
	if (!error) {
		open_alternate(p);
		error = list_units(p);
	}
	if (!error && !p->ranges.nr)
		error = -ENOENT;
	if (error)
		dwarf_places_free(p);
	else
		*places = p;
	return error;
}

void dwarf_places_free(struct dwarf_places *p)
{
	if (!p)
		return;
	dwarf_end(p->dwarf);
	elf_end(p->elf);
	close_alternate(p);
	for (size_t i = 0; i < p->nr_units; i++)
		free(p->units[i].functions.list);
	free(p->units);
	free(p->ranges.list);
	free(p);
}

/* ---- places ---- */

static bool find_child(Dwarf_Die *parent, uint64_t vaddr, Dwarf_Die *child)
{
	if (dwarf_child(parent, child))
		return false;
	do {
		switch (dwarf_tag(child)) {
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			if (dwarf_haspc(child, vaddr) == 1)
				return true;
		}
	} while (!dwarf_siblingof(child, child));
	return false;
}

/*
 * the inlined functions around vaddr, the outermost first: how many. unit_die: the split one's, if
 * there is one
 */
static size_t find_inlined(struct unit *unit, Dwarf_Die *unit_die, uint64_t vaddr,
			   Dwarf_Die inlined[DWARF_MAX_INLINED - 1])
{
	const struct range *function;
	Dwarf_Die die, child;
	size_t nr = 0;

	if (!unit->listed) {
		unit->listed = true;
		list_functions(&unit->functions, unit_die, 0);
		sort(&unit->functions);
	}
	function = find_range(&unit->functions, vaddr);
	if (!function || !dwarf_offdie(dwarf_cu_getdwarf(unit_die->cu), function->function, &die))
		return 0;
	for (int depth = 0; depth < 4 * MAX_NESTING && find_child(&die, vaddr, &child); depth++) {
		if (dwarf_tag(&child) == DW_TAG_inlined_subroutine && nr < DWARF_MAX_INLINED - 1)
			inlined[nr++] = child;
		die = child;
	}
	return nr;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute,
		*name = dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute);
	const char *text;

	if (!name)
		name = dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute);
	text = name ? dwarf_formstring(name) : NULL;
	return text ? text : dwarf_diename(die);
}

static void set_call_site(struct dwarf_place *place, Dwarf_Die *inlined, Dwarf_Files *files)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	place->file = NULL;
	place->line = 0;
	if (files && !dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &number))
		place->file = dwarf_filesrc(files, number, NULL, NULL);
	if (!dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number))
		place->line = number;
}

static void set_line(struct dwarf_place *place, Dwarf_Die *unit, uint64_t vaddr)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, vaddr);
	int number;

	if (!line)
		return;
	place->file = dwarf_linesrc(line, NULL, NULL);
	if (!dwarf_lineno(line, &number) && number > 0)
		place->line = number;
}

size_t dwarf_places_find(struct dwarf_places *p, uint64_t vaddr,
			 struct dwarf_place found[DWARF_MAX_INLINED])
{
	const struct range *range = find_range(&p->ranges, vaddr);
	struct unit *of = range ? &p->units[range->unit] : NULL;
	Dwarf_Die unit, inlined[DWARF_MAX_INLINED - 1];
	struct dwarf_place place = {};
	Dwarf_Files *files = NULL;
	size_t nr = 0, nr_inlined;

	if (!of || !dwarf_offdie(p->dwarf, of->die, &unit))
		return 0;
	set_line(&place, &unit, vaddr);
	if (of->split.cu)
		unit = of->split;
	dwarf_getsrcfiles(&unit, &files, NULL);
	nr_inlined = find_inlined(of, &unit, vaddr, inlined);
	while (nr < nr_inlined) {
		Dwarf_Die *die = &inlined[nr_inlined - 1 - nr];

		place.function = name_of(die);
		if (!place.function)
			place.function = "?";
		found[nr++] = place;
		set_call_site(&place, die, files);
	}
	place.function = NULL;
	if (nr || place.file)
		found[nr++] = place;
	return nr;
}
