// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/frame_name.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "stacks_abi.h"

struct frame_name frame_name_user(struct modules *modules, uint64_t frame)
{
	struct frame_name name = {};
	struct module *module;
	struct symbol symbol;
	bool by_call = frame & FRAME_CALL;

	if (frame & FRAME_ADDRESS) {
		name.address = FRAME_ADDR(frame);
		return name;
	}
	name.file_offset = FRAME_OFFSET(frame);
	module = modules_get(modules, FRAME_MODULE(frame));
	if (!module)
		return name;
	name.file = module;
	name.module = module->path;
	/* a return address may be the next function's first byte: ask for the call */
	if (modules_symbol(module, name.file_offset - by_call, &symbol)) {
		name.symbol = symbol.name;
		name.offset = symbol.offset + by_call;
		name.function = symbol.vaddr;
	}
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

void print_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == ';' || iscntrl((unsigned char)*text))
			fprintf(out, "\\x%02x", (unsigned char)*text);
		else
			putc(*text, out);
	}
}

void frame_name_print(FILE *out, const struct frame_name *name)
{
	if (name->symbol) {
		print_escaped(out, name->symbol);
	} else if (name->module) {	/* stripped: the function's start tells functions apart */
		putc('[', out);
		print_escaped(out, base_name(name->module));
		fprintf(out, "+0x%" PRIx64 "]", name->function ? name->function : name->file_offset);
	} else {
		fputs("[unknown]", out);
	}
}
