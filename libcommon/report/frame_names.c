// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/frame_names.h"

#include <string.h>

#include "report/namer.h"
#include "report/recorded_names.h"
#include "runtimes/runtimes.h"
#include "stacks_abi.h"

/* all[] as frame_names_user() has it */
static size_t name_function(const struct frame_names *names, const struct runtime *runtime,
			    uint64_t frame, struct frame_name *all, size_t max)
{
	struct runtime_function functions[MAX_FRAME_NAMES] = {};
	size_t nr =
		names->runtimes ? runtime_names_find(names->runtimes, frame, functions, max) : 0;

	nr = nr ? nr : 1;
	for (size_t i = 0; i < nr; i++)
		all[i] = (struct frame_name){
			.runtime = runtime->name,
			.symbol = functions[i].name,
			.source = functions[i].file,
			.line = functions[i].line,
			.inlined = i + 1 < nr,
			.brief = !names->lines && runtime->shows_files,
			.unsaid = !names->lines && !runtime->shows_files,
		};
	return nr;
}

struct frame_name frame_name_user(const struct frame_names *names, pid_t pid, uint64_t frame)
{
	const struct runtime *runtime = runtime_of_frame(frame);

	if (FRAME_IS_SUMMED(frame))
		return (struct frame_name){ .symbol = "[other stacks]",
					    .cut = frame ^ FRAME_SUMMED(0) };
	if (FRAME_IS_NO_ROOM(frame)) {
		static char symbol[sizeof("[stacks of uid 4294967295: no room]")];

		snprintf(symbol, sizeof(symbol), "[stacks of uid %u: no room]", (uint32_t)frame);
		return (struct frame_name){ .symbol = symbol, .cut = 1 };
	}
	if (FRAME_IS_MARK(frame))
		return (struct frame_name){ .symbol = "[...]", .cut = frame };
	if (names->recorded)
		return recorded_name(names->recorded, pid, frame);
	if (runtime) {
		struct frame_name name;

		name_function(names, runtime, frame, &name, 1);
		return name;
	}
	return names->namer ? namer_find(names->namer, pid, frame)
			    : frame_name_find(names, pid, frame);
}

struct place_source {
	struct namer *namer;
	struct module *module;
};

static bool open_file(void *arg, struct opened_elf *opened, struct debug_key *debug)
{
	const struct place_source *from = arg;

	return namer_open_file(from->namer, from->module, opened, debug);
}

static size_t find_places(const struct frame_names *names, struct module *module, uint64_t vaddr,
			  const struct source_place **places)
{
	struct place_source from = { names->namer, module };
	size_t nr = modules_places(names->modules, module, vaddr, open_file, &from, places);

	if (!nr && module_lacks_places(module) && namer_fetch(names->namer, module))
		nr = modules_places(names->modules, module, vaddr, open_file, &from, places);
	return nr;
}

size_t frame_names_user(const struct frame_names *names, pid_t pid, uint64_t frame,
			struct frame_name all[MAX_FRAME_NAMES])
{
	const struct runtime *runtime = runtime_of_frame(frame);
	struct frame_name name;
	const struct source_place *places;
	bool by_call = frame & FRAME_CALL;
	struct module *module;
	size_t nr = 0;

	if (names->recorded && !FRAME_IS_MARK(frame))
		return recorded_names_user(names->recorded, pid, frame, all);
	if (runtime)
		return name_function(names, runtime, frame, all, MAX_FRAME_NAMES);
	name = frame_name_user(names, pid, frame);
	module = name.has_vaddr && (names->inlined || names->lines) && names->namer
			 ? modules_get(names->modules, FRAME_MODULE(frame))
			 : NULL;
	if (module)
		nr = find_places(names, module, name.vaddr - by_call, &places);
	for (size_t i = 0; names->inlined && i + 1 < nr; i++) {
		all[i] = name;
		all[i].inlined = true;
		all[i].symbol = places[i].name;
		all[i].raw_symbol =
			strcmp(places[i].name, places[i].raw_name) ? places[i].raw_name : NULL;
		all[i].has_function = false;
	}
	/*
	 * without names of their own, inlined functions are at the place of the function they are
	 * in
	 */
	if (nr && !names->inlined)
		nr = 1;
	else if (!nr)
		places = NULL;
	all[nr ? nr - 1 : 0] = name;
	for (size_t i = 0; names->lines && i < nr; i++) {
		all[i].source = places[i].file;
		all[i].line = places[i].file ? places[i].line : 0;
	}
	return nr ? nr : 1;
}

struct frame_name frame_name_kernel(const struct frame_names *names, uint64_t address)
{
	struct frame_name name = { .address = address };
	const struct kernel_symbol *symbol;

	if (names->recorded)
		return recorded_name_kernel(names->recorded, address);
	symbol = names->kernel ? kernel_symbols_find(names->kernel, address) : NULL;
	if (symbol) {
		name.symbol = symbol->name;
		name.module = symbol->module;
		name.offset = symbol->offset;
		name.schedules = symbol->schedules;
	}
	return name;
}
