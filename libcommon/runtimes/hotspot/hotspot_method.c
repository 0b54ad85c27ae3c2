// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtimes/hotspot/hotspot_method.h"

#include <errno.h>
#include <string.h>

#define MAX_LINE_ENTRIES 65536
#define HAS_LINES        1 /* ConstMethod::_has_linenumber_table */

/* ---- numbers ---- */

#define UNSIGNED5_LOW   192 /* bytes from here on say that another one follows */
#define UNSIGNED5_BITS  6
#define UNSIGNED5_BYTES 5
/* from this version on, no byte of a number is 0: each is one higher */
#define WITHOUT_NULLS 20

uint32_t hotspot_unsigned5(const struct hotspot_vm *vm, struct memory_reader *memory, uint64_t *at)
{
	uint32_t excluded = vm->version >= WITHOUT_NULLS, value = 0;

	for (int i = 0; i < UNSIGNED5_BYTES; i++) {
		uint32_t byte = memory_u8(memory, (*at)++);

		value += (byte - excluded) << UNSIGNED5_BITS * i;
		if (byte < UNSIGNED5_LOW)
			break;
	}
	return value;
}

static int32_t read_signed(const struct hotspot_vm *vm, struct memory_reader *memory, uint64_t *at)
{
	uint32_t value = hotspot_unsigned5(vm, memory, at);

	return value >> 1 ^ -(value & 1);
}

/* ---- names ---- */

/* Appends the Symbol at this address to the string; its '/' become '.' with dots */
static void append_symbol(char *to, size_t room, const struct hotspot_vm *vm,
			  struct memory_reader *memory, uint64_t symbol, bool dots)
{
	size_t length = hotspot_read(vm, memory, symbol, VM_SYMBOL_LENGTH), used = strlen(to);

	if (length > room - 1 - used)
		length = room - 1 - used;
	memory_read(memory, hotspot_address(vm, symbol, VM_SYMBOL_BODY), to + used, length);
	to[used + length] = '\0';
	for (size_t i = used; dots && i < used + length; i++)
		if (to[i] == '/')
			to[i] = '.';
}

/* the Symbol in the constant pool's entry of this number; 0: there is none */
static uint64_t pool_symbol(const struct hotspot_vm *vm, struct memory_reader *memory,
			    uint64_t pool, uint32_t number)
{
	uint32_t length = hotspot_read(vm, memory, pool, VM_POOL_LENGTH);

	if (!number || number >= length || length > UINT16_MAX + 1)
		return 0;
	return memory_u64(memory, pool + vm->type_bytes[VM_TYPE_CONSTANT_POOL] + number * 8);
}

static void read_lines(struct hotspot_method *method, const struct hotspot_vm *vm,
		       struct memory_reader *memory, uint64_t at)
{
	enum hotspot_field flags =
		hotspot_has(vm, VM_CONST_FLAGS) ? VM_CONST_FLAGS : VM_CONST_FLAGS_NEW;

	method->bytecode = at + vm->type_bytes[VM_TYPE_CONST_METHOD];
	method->bytecode_bytes = hotspot_read(vm, memory, at, VM_CONST_CODE_SIZE);
	method->lines = hotspot_read(vm, memory, at, flags) & HAS_LINES
				? method->bytecode + method->bytecode_bytes
				: 0;
}

int hotspot_method_read(struct hotspot_method *method, const struct hotspot_vm *vm,
			struct memory_reader *memory, uint64_t at)
{
	uint64_t constant = hotspot_read(vm, memory, at, VM_METHOD_CONST);
	uint64_t pool = constant ? hotspot_read(vm, memory, constant, VM_CONST_POOL) : 0, holder,
		 name, file;
	struct hotspot_method m = {};

	if (!pool || memory->bad || !vm->type_bytes[VM_TYPE_CONSTANT_POOL] ||
	    !vm->type_bytes[VM_TYPE_CONST_METHOD])
		return -EBADMSG;
	holder = hotspot_read(vm, memory, pool, VM_POOL_HOLDER);
	name = pool_symbol(vm, memory, pool, hotspot_read(vm, memory, constant, VM_CONST_NAME));
	file = pool_symbol(vm, memory, pool, hotspot_read(vm, memory, pool, VM_POOL_FILE));
	if (!holder || !name || memory->bad)
		return -EBADMSG;
	append_symbol(m.name, sizeof(m.name) - 1, vm, memory,
		      hotspot_read(vm, memory, holder, VM_KLASS_NAME), true);
	strcat(m.name, ".");
	append_symbol(m.name, sizeof(m.name), vm, memory, name, false);
	if (file)
		append_symbol(m.file, sizeof(m.file), vm, memory, file, false);
	read_lines(&m, vm, memory, constant);
	if (memory->bad)
		return -EBADMSG;
	*method = m;
	return 0;
}

/* ---- lines ---- */

/* both differences follow as numbers; else 5 bits are the index's, and 3 the line's */
#define ESCAPED 0xff

bool hotspot_line_next(struct hotspot_line *line, const struct hotspot_vm *vm,
		       struct memory_reader *memory)
{
	uint8_t byte = line->at ? memory_u8(memory, line->at++) : 0;

	if (!byte)
		return false;
	if (byte == ESCAPED) {
		line->index += read_signed(vm, memory, &line->at);
		line->line += read_signed(vm, memory, &line->at);
	} else {
		line->index += byte >> 3;
		line->line += byte & 7;
	}
	return !memory->bad;
}

uint32_t hotspot_method_line(const struct hotspot_method *method, const struct hotspot_vm *vm,
			     struct memory_reader *memory, int32_t index)
{
	struct hotspot_line line = { .at = method->lines };
	int32_t found = 0;

	for (int i = 0;
	     i < MAX_LINE_ENTRIES && hotspot_line_next(&line, vm, memory) && line.index <= index;
	     i++)
		found = line.line;
	return found > 0 ? found : 0;
}

/* ---- identity ---- */

uint64_t hotspot_method_identity(const struct hotspot_vm *vm, struct memory_reader *memory,
				 uint64_t at)
{
	struct hotspot_method_words m = { .constant =
						  hotspot_read(vm, memory, at, VM_METHOD_CONST) };

	m.pool = hotspot_read(vm, memory, m.constant, VM_CONST_POOL);
	m.code_size = memory_u64(memory, hotspot_address(vm, m.constant, VM_CONST_CODE_SIZE));
	m.holder = hotspot_read(vm, memory, m.pool, VM_POOL_HOLDER);
	m.symbol = hotspot_read(vm, memory, m.holder, VM_KLASS_NAME);
	m.symbol_head = memory_u64(memory, m.symbol) >> 16;
	return memory->bad ? 0 : hotspot_identity(&m);
}
