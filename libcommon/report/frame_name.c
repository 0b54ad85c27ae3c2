// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/frame_name.h"

#include <inttypes.h>
#include <string.h>

#include "report/escape.h"
#include "runtimes/runtimes.h"
#include "stacks_abi.h"

static struct frame_name name_jit(const struct frame_names *names, pid_t pid, uint64_t frame)
{
	struct frame_name name = { .address = FRAME_ADDR(frame) };
	bool by_call = frame & FRAME_CALL;
	uint64_t start;

	if (names->jit && jit_processes_find(names->jit, pid, name.address - by_call, UINT64_MAX,
					     &name.symbol, &start) == JIT_FOUND) {
		name.is_jit = true;
		name.offset = name.address - start;
	} else {
		name.symbol = NULL;
		name.region =
			names->jit ? jit_processes_region(names->jit, pid, name.address - by_call)
				   : NULL;
	}
	return name;
}

struct frame_name frame_name_find(const struct frame_names *names, pid_t pid, uint64_t frame)
{
	struct frame_name name = { .file_offset = FRAME_OFFSET(frame) };
	struct module *module;
	struct symbol symbol;
	bool by_call = frame & FRAME_CALL;

	if (frame & FRAME_ADDRESS)
		return name_jit(names, pid, frame);
	module = modules_get(names->modules, FRAME_MODULE(frame));
	if (!module)
		return name;
	name.file = module;
	name.module = module->path;
	/* a return address may be the next function's first byte: look up the call site */
	if (!modules_symbol(names->modules, module, name.file_offset - by_call, &symbol))
		return name;
	name.symbol = symbol.name;
	if (symbol.name && strcmp(symbol.name, symbol.raw_name))
		name.raw_symbol = symbol.raw_name;
	name.offset = symbol.offset + by_call;
	name.has_vaddr = true;
	name.vaddr = symbol.vaddr + by_call;
	name.has_function = symbol.has_function;
	name.function_vaddr = symbol.function_vaddr;
	return name;
}

const char *frame_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void frame_name_print_language(FILE *out, const struct frame_name *name)
{
	const struct runtime *runtime = runtime_named(name->runtime);

	fprintf(out, "[%s]", runtime ? runtime->language : "unknown");
}

void frame_name_print(FILE *out, const struct frame_name *name)
{
	if (name->symbol) {
		print_escaped(out, name->symbol);
		if (name->module && !name->file) { /* of the kernel */
			fputs(" [", out);
			print_escaped(out, name->module);
			putc(']', out);
		}
	} else if (name->module) { /* stripped: the start identifies the function */
		putc('[', out);
		print_escaped(out, frame_base_name(name->module));
		if (name->has_vaddr)
			fprintf(out, "+0x%" PRIx64,
				name->has_function ? name->function_vaddr : name->vaddr);
		putc(']', out);
	} else if (name->runtime) {
		frame_name_print_language(out, name);
	} else if (name->region) {
		print_escaped(out, name->region);
	} else {
		fputs("[unknown]", out);
	}
	if (name->source && !name->unsaid) {
		fputs(" (", out);
		print_escaped(out, name->brief ? frame_base_name(name->source) : name->source);
		if (name->line && !name->brief)
			fprintf(out, ":%u", name->line);
		putc(')', out);
	}
}
