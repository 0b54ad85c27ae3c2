// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/namer_work.h"

#include <string.h>

#include "report/frame_name.h"

/* of files that were read before, whose frames have been named: more is read again, should it be wanted */
#define MAX_READ_BYTES (32 << 20)
#define MAX_IDLE_NS 60000000000

/* with its NUL, and no longer than a name may be; 0: there is none */
static uint16_t bytes_of(const char *name)
{
	return name ? strnlen(name, MAX_NAME_BYTES - 1) + 1 : 0;
}

static char *put(char *to, const char *name, size_t bytes)
{
	if (!bytes)
		return to;
	memcpy(to, name, bytes - 1);
	to[bytes - 1] = 0;
	return to + bytes;
}

/* what it takes; 0: no room */
static size_t write_name(const struct frame_name *name, uint64_t frame, char *to, size_t room)
{
	const char *raw = name->region ? name->region : name->raw_symbol;
	struct named_frame named = {
		.frame = frame, .offset = name->offset, .vaddr = name->vaddr, .function_vaddr = name->function_vaddr,
		.has_vaddr = name->has_vaddr, .has_function = name->has_function, .is_jit = name->is_jit,
		.lacks_names = name->file && module_lacks_names(name->file),
		.symbol_bytes = bytes_of(name->symbol), .raw_bytes = bytes_of(raw),
	};
	size_t bytes = sizeof(named) + named.symbol_bytes + named.raw_bytes;

	if (bytes > room)
		return 0;
	memcpy(to, &named, sizeof(named));
	put(put(to + sizeof(named), name->symbol, named.symbol_bytes), raw, named.raw_bytes);
	return bytes;
}

size_t namer_work(void *arg, void *area, size_t bytes, size_t room, struct worker_file *file)
{
	const struct frame_names *names = arg;
	static struct namer_request request;
	struct module *known;
	size_t used = 0;

	(void)file;
	memcpy(&request, area, bytes);
	known = modules_get(names->modules, request.module_id);
	if (request.file.path && (!known || strcmp(known->path, request.path))) {
		request.file.path = request.path;
		modules_limit_names(names->modules, MAX_READ_BYTES, MAX_IDLE_NS);
		modules_adopt(names->modules, request.module_id, &request.file, &request.key);
		known = modules_get(names->modules, request.module_id);
	}
	if (request.module_id && !request.file.path && !known && !modules_adopt_vdso(names->modules, request.module_id))
		known = modules_get(names->modules, request.module_id);
	if (request.fetched[0] && known && !known->fetched)
		module_set_fetched(known, request.fetched);
	if (request.module_id && !request.nr)
		frame_name_find(names, 0, (uint64_t)request.module_id << FRAME_OFFSET_BITS);
	if (!request.module_id && names->jit && !jit_processes_see(names->jit, request.pid))
		jit_processes_update(names->jit, request.pid);
	for (uint32_t i = 0; i < request.nr; i++) {
		struct frame_name name = frame_name_find(names, request.pid, request.frames[i]);
		size_t written = write_name(&name, request.frames[i], (char *)area + used, room - used);

		if (!written)
			break;
		used += written;
	}
	return used;
}
