// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/frame_name.h"

#include <inttypes.h>
#include <string.h>

#include "report/escape.h"
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
	}
	return name;
}

struct frame_name frame_name_user(const struct frame_names *names, pid_t pid, uint64_t frame)
{
	struct frame_name name = { .file_offset = FRAME_OFFSET(frame) };
	struct module *module;
	struct symbol symbol;
	bool by_call = frame & FRAME_CALL;

	if (FRAME_IS_CUT(frame))
		return (struct frame_name){ .symbol = "[...]", .cut = frame };
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

struct frame_name frame_name_kernel(const struct kallsyms *kallsyms, uint64_t address)
{
	const struct kernel_symbol *symbol = kallsyms_find(kallsyms, address);
	struct frame_name name = { .address = address };

	if (symbol) {
		name.symbol = symbol->name;
		name.module = symbol->module;
		name.offset = address - symbol->start;
	}
	return name;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void frame_name_print(FILE *out, const struct frame_name *name)
{
	if (name->symbol) {
		print_escaped(out, name->symbol);
	} else if (name->module) {	/* stripped: the start identifies the function */
		putc('[', out);
		print_escaped(out, base_name(name->module));
		if (name->has_vaddr)
			fprintf(out, "+0x%" PRIx64, name->has_function ? name->function_vaddr : name->vaddr);
		putc(']', out);
	} else {
		fputs("[unknown]", out);
	}
}
