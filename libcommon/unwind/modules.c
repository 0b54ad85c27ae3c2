// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/order.h"
#include "base/paged.h"
#include "dwarf/gopclntab.h"
#include "process/trust.h"
#include "process/workers.h"
#include "table/code_entries.h"
#include "table/machine.h"

/*
 * the keys of the two vDSOs: no device has this number. The vDSO of 32-bit programs is another one,
 * and cannot be read here
 */
#define VDSO_KEY(mapping) ((struct file_key){ .dev = UINT64_MAX, .inode = is_32bit(mapping) })

#define REST_S 60 /* before an ID is given again */

struct entry {
	struct module module;
	UT_hash_handle hh;
};

/* an ID that nothing has any more */
struct free_id {
	uint32_t id, since_s;
};

struct modules {
	struct entry *by_file;
	struct paged by_id; /* [id - 1]: struct entry * */
	uint32_t last_id;
	uint64_t nr_seen;
	struct free_id *free; /* [first_free, nr_free): the longest free first */
	size_t first_free, nr_free, free_room;
	bool were_full;
	struct foreign *foreign;
	struct symbol_options symbol_options;
	struct opened_elf *opened;
	size_t symbol_bytes; /* memory of all symbols that were read */
};

static bool is_32bit(const struct proc_mapping *vdso)
{
	return vdso->end <= UINT32_MAX;
}

struct modules *modules_new(void)
{
	struct modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return NULL;
	modules->symbol_options = SYMBOL_OPTIONS_DEFAULT;
	modules->by_id.element_bytes = sizeof(struct entry *);
	return modules;
}

/* by its ID, less 1; NULL: there is none */
static struct entry *entry_at(const struct modules *modules, size_t i)
{
	struct entry **entry = paged_find(&modules->by_id, i);

	return entry ? *entry : NULL;
}

/* 0 or -ENOMEM */
static int set_entry(struct modules *modules, size_t i, struct entry *entry)
{
	struct entry **at = paged_get(&modules->by_id, i);

	if (!at)
		return -ENOMEM;
	*at = entry;
	return 0;
}

void modules_set_foreign(struct modules *modules, struct foreign *foreign)
{
	modules->foreign = foreign;
}

struct foreign *modules_foreign(const struct modules *modules)
{
	return modules->foreign;
}

static void free_entry(struct entry *e)
{
	symbols_free(e->module.symbols);
	source_places_free(e->module.places);
	free(e->module.image);
	free(e->module.path);
	free(e->module.fetched);
	free(e->module.debug);
	free(e->module.table);
	free(e);
}

void modules_free(struct modules *modules)
{
	if (!modules)
		return;
	HASH_CLEAR(hh, modules->by_file);
	for (size_t i = 0; i < modules->last_id; i++)
		if (entry_at(modules, i))
			free_entry(entry_at(modules, i));
	paged_free(&modules->by_id);
	free(modules->free);
	free(modules);
}

uint32_t modules_last_id(const struct modules *modules)
{
	return modules->last_id;
}

uint64_t modules_nr_seen(const struct modules *modules)
{
	return modules->nr_seen;
}

bool modules_were_full(const struct modules *modules)
{
	return modules->were_full;
}

struct mapped_file module_file(const struct module *module)
{
	return (struct mapped_file){
		.tid = module->tid,
		.start = module->start,
		.end = module->end,
		.path = module->path,
		.ours = module->is_compiled && !module->elsewhere,
	};
}

/* The vDSO is read from its image, all others from what modules_use_opened() has. */
static int open_elf(const struct modules *modules, const struct module *module,
		    struct elf_file *file)
{
	int fd = modules->opened ? modules->opened->fd : -EBADF;

	if (module->image)
		return elf_file_open_memory(file, module->image, module->image_bytes);
	return fd < 0 ? fd : elf_file_open_for_names(file, fd);
}

/* ---- IDs ---- */

static uint32_t now_s(void)
{
	return clock_ns() / 1000000000;
}

static bool has_rested_id(const struct modules *modules)
{
	return modules->first_free < modules->nr_free &&
	       now_s() - modules->free[modules->first_free].since_s > REST_S;
}

/* 0: there is none */
static uint32_t take_id(struct modules *modules)
{
	if (has_rested_id(modules))
		return modules->free[modules->first_free++].id;
	if (modules->last_id + 1 < MAX_MODULES)
		return ++modules->last_id;
	modules->were_full = true;
	return 0;
}

/* Makes room for nr more, in place of those that were given again. 0 or -ENOMEM */
static int make_room_for_ids(struct modules *modules, size_t nr)
{
	modules->nr_free -= modules->first_free;
	if (modules->first_free && modules->nr_free)
		memmove(modules->free, modules->free + modules->first_free,
			modules->nr_free * sizeof(*modules->free));
	modules->first_free = 0;
	return array_reserve(&modules->free, &modules->free_room, modules->nr_free + nr);
}

/*
 * An ID that something has again, such as a stack that came late, is not given any more: that is
 * rare.
 */
static void drop_used_ids(struct modules *modules, const bool *used)
{
	size_t kept = 0;

	for (size_t i = 0; i < modules->nr_free; i++)
		if (!used[modules->free[i].id])
			modules->free[kept++] = modules->free[i];
	modules->nr_free = kept;
}

/* There is room. */
static void free_id(struct modules *modules, uint32_t id)
{
	modules->free[modules->nr_free++] = (struct free_id){ id, now_s() };
}

static int add(struct modules *modules, struct entry *entry)
{
	uint32_t id = take_id(modules);

	if (!id)
		return -ENOSPC;
	/* without memory, the ID is lost, too */
	if (set_entry(modules, id - 1, entry))
		return -ENOMEM;
	entry->module.id = id;
	entry->module.serial = ++modules->nr_seen;
	HASH_ADD(hh, modules->by_file, module.key, FILE_KEY_BYTES, entry);
	return 0;
}

void module_compile(const struct module *module, bool of_code, struct compiled *compiled)
{
	struct mapped_file file = module_file(module);

	if (module->image)
		compiled_from_memory(compiled, module->image, module->image_bytes, of_code);
	else
		compiled_from_file(compiled, &file, &module->key, of_code);
}

void module_compiled(struct module *module, const struct compiled *compiled)
{
	module->error = compiled->error;
	module->is_compiled = true;
	module->runtime = compiled->runtime;
	module->whole = compiled->whole;
	module->cut = compiled->cut;
	module->elsewhere = compiled->elsewhere;
	module->build_id_bytes = compiled->build_id_bytes;
	memcpy(module->build_id, compiled->build_id, compiled->build_id_bytes);
}

static char *plain_path(const char *path)
{
	return strndup(path, proc_maps_path_length(path));
}

static void set_place(struct module *module, pid_t tid, const struct proc_mapping *mapping)
{
	module->tid = tid;
	module->start = mapping->start;
	module->end = mapping->end;
	module->moved = false;
}

static int read_vdso(struct module *module)
{
	ssize_t bytes = proc_maps_copy_vdso(&module->image);

	if (bytes < 0)
		return bytes;
	module->image_bytes = bytes;
	return 0;
}

static int add_new(struct modules *modules, pid_t tid, const struct proc_mapping *mapping,
		   const struct file_key *key, int error, struct module **module)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	if (!mapping->inode && is_32bit(mapping)) {
		error = -ENOTSUP;
	} else if (!mapping->inode) {
		error = read_vdso(&entry->module);
	}
	entry->module.key = *key;
	entry->module.key.in_our_root = key->in_our_root && file_is_in_our_mount(key);
	entry->module.owner = entry->module.image ? 0 : owner_of_file(key);
	entry->module.error = error;
	set_place(&entry->module, tid, mapping);
	entry->module.path = plain_path(mapping->path);
	error = entry->module.path ? add(modules, entry) : -ENOMEM;
	if (error)
		free_entry(entry);
	else
		*module = &entry->module;
	return error;
}

/*
 * Takes the path of a process with the tool's own root. The path until now was chosen by a process
 * in another root or mount namespace; it must not decide any longer how the file is called, and
 * where its debug files are looked for.
 */
static void take_path(struct module *module, pid_t tid, const struct proc_mapping *mapping)
{
	char *path = plain_path(mapping->path);

	if (!path)
		return;
	free(module->path);
	module->path = path;
	module->key.in_our_root = true;
	set_place(module, tid, mapping);
}

int modules_find(struct modules *modules, pid_t tid, const struct proc_mapping *mapping,
		 struct module **module)
{
	struct file_key key = VDSO_KEY(mapping);
	struct entry *known;
	int error;

	*module = NULL;
	if (!mapping->inode && strcmp(mapping->path, "[vdso]"))
		return 0;
	error = mapping->inode ? foreign_identify(modules->foreign, tid, mapping, &key) : 0;
	if (error == -ENOEXEC)
		return 0;
	/*
	 * the process or file is gone, or resources are short: a later call may succeed, so do not
	 * add the module
	 */
	if (error == -ESRCH || error == -ENOENT || error == -ENOMEM || error == -EMFILE ||
	    error == -ENFILE || error == -EAGAIN)
		return error;
	if (error) /* its code cannot be unwound, but its frames can be named */
		key = (struct file_key){ .dev = ~mapping->dev,
					 .inode = mapping->inode,
					 .owner = UINT64_MAX };
	HASH_FIND(hh, modules->by_file, &key, FILE_KEY_BYTES, known);
	if (known) {
		known->module.unused = false;
		if (key.in_our_root && !known->module.key.in_our_root && file_is_in_our_mount(&key))
			take_path(&known->module, tid, mapping);
		else if (known->module.moved)
			set_place(&known->module, tid, mapping);
		*module = &known->module;
		return 0;
	}
	return add_new(modules, tid, mapping, &key, error, module);
}

const char *module_explain(int error)
{
	switch (error) {
	case 0:
		return "its tables were not ready";
	case -ETIMEDOUT:
		return "its file system did not answer within 100 ms";
	case -ETIME:
		return "its table takes too much time to make";
	case -ECHILD:
		return "the worker process died while it read the file";
	case -ESTALE:
		return "it was not found any more: its processes have ended";
	case -ENOSPC:
		return "no room for its table, see --max-memory";
	case -EDQUOT:
		return "no room for more tables of its user's files, see --max-memory";
	case -ENOMEM:
		return "its table takes too much memory to make, see --max-memory";
	default:
		return elf_file_explain(error);
	}
}

struct module *modules_get(const struct modules *modules, uint32_t id)
{
	struct entry *entry = id ? entry_at(modules, id - 1) : NULL;

	return entry ? &entry->module : NULL;
}

void modules_forget(struct modules *modules, const bool *used)
{
	struct entry *entry, *next;
	size_t nr = HASH_COUNT(modules->by_file);

	if (make_room_for_ids(modules, nr))
		return;
	drop_used_ids(modules, used);
	HASH_ITER(hh, modules->by_file, entry, next) {
		uint32_t id = entry->module.id;

		if (!used[id] && entry->module.unused) {
			HASH_DEL(modules->by_file, entry);
			free_entry(entry);
			set_entry(modules, id - 1, NULL);
			free_id(modules, id);
		} else {
			entry->module.unused = !used[id];
		}
	}
	paged_give_back(&modules->by_id);
}

void modules_set_symbol_options(struct modules *modules, const struct symbol_options *options)
{
	modules->symbol_options = *options;
}

const struct symbol_options *modules_symbol_options(const struct modules *modules)
{
	return &modules->symbol_options;
}

static void read_symbols(struct modules *modules, struct module *module)
{
	struct symbol_options options = modules->symbol_options;
	struct elf_file file;
	int error;

	module->symbols_tried = true;
	error = open_elf(modules, module, &file);
	module->lacks_room = error == -ENOMEM;
	if (error)
		return;
	options.opened = modules->opened;
	options.max_bytes -= modules->symbol_bytes < options.max_bytes ? modules->symbol_bytes
								       : options.max_bytes;
	error = symbols_read(&module->symbols, &file, &options);
	module->lacks_room = error == -ENOMEM;
	if (error)
		module->symbols = NULL;
	else
		modules->symbol_bytes += symbols_bytes(module->symbols);
	elf_file_close(&file);
}

/*
 * Finds where functions begin that have neither a symbol nor an FDE. It decodes instructions for
 * some ms, so it is called only when an address in such a function is asked for.
 */
static void read_entries(const struct modules *modules, struct module *module)
{
	struct elf_file file;
	uint64_t *vaddrs;
	size_t nr;

	module->entries_tried = true;
	if (open_elf(modules, module, &file))
		return;
	if (file.header.e_machine == MACHINE && !gopclntab_is_go(&file) &&
	    !code_entries(&file, &vaddrs, &nr)) {
		symbols_add_entries(module->symbols, vaddrs, nr);
		free(vaddrs);
	}
	elf_file_close(&file);
}

void modules_use_opened(struct modules *modules, struct opened_elf *opened)
{
	modules->opened = opened;
}

int module_debug_key(const struct modules *modules, const struct module *module,
		     struct debug_key *key)
{
	struct elf_file file;
	int error;

	*key = (struct debug_key){};
	error = open_elf(modules, module, &file);
	if (error)
		return error;
	debug_key_read(key, &file);
	elf_file_close(&file);
	return 0;
}

/* memory of the module that can be freed */
static size_t name_bytes(const struct entry *entry)
{
	const struct module *module = &entry->module;

	return (module->symbols ? symbols_bytes(module->symbols) : 0) +
	       (module->adopted ? sizeof(*entry) + strlen(module->path) : 0);
}

static void drop_symbols(struct module *module)
{
	symbols_free(module->symbols);
	module->symbols = NULL;
	module->symbols_tried = module->entries_tried = false;
}

/* They may take more than when they were counted: names that were asked for. */
static void drop_counted(struct modules *modules, struct module *module)
{
	size_t bytes = module->symbols ? symbols_bytes(module->symbols) : 0;

	modules->symbol_bytes -= clamped(bytes, 0, modules->symbol_bytes);
	drop_symbols(module);
}

void modules_read_again(struct modules *modules, struct module *module)
{
	if (!module->debug_used)
		drop_counted(modules, module);
	module->debug_used = true;
}

static void forget_names(struct modules *modules, struct entry *entry)
{
	struct module *module = &entry->module;

	if (module->adopted) {
		set_entry(modules, module->id - 1, NULL);
		free_entry(entry);
		return;
	}
	drop_symbols(module);
}

bool modules_has_adopted(const struct modules *modules, uint32_t id, const struct mapped_file *file,
			 const struct file_key *key)
{
	const struct module *module = modules_get(modules, id);

	return module && !memcmp(&module->key, key, FILE_KEY_BYTES) &&
	       !strcmp(module->path, file->path);
}

int modules_adopt(struct modules *modules, uint32_t id, const struct mapped_file *file,
		  const struct file_key *key)
{
	struct entry *entry = id ? entry_at(modules, id - 1) : NULL;
	char *path;

	if (!id || id >= MAX_MODULES || modules_has_adopted(modules, id, file, key))
		return 0;
	path = strdup(file->path);
	if (!path)
		return -ENOMEM;
	if (entry)
		/* they may be from debug files that this path does not lead to */
		forget_names(modules, entry);
	if (!modules_get(modules, id)) {
		entry = calloc(1, sizeof(*entry));
		if (!entry || set_entry(modules, id - 1, entry)) {
			free(entry);
			free(path);
			return -ENOMEM;
		}
		entry->module = (struct module){ .id = id, .key = *key, .adopted = true };
	}
	free(entry->module.path);
	entry->module.path = path;
	entry->module.tid = file->tid;
	entry->module.start = file->start;
	entry->module.end = file->end;
	entry->module.named_ns = clock_ns();
	if (modules->last_id < id)
		modules->last_id = id;
	return 0;
}

int modules_adopt_vdso(struct modules *modules, uint32_t id)
{
	int error = modules_adopt(modules, id, &(struct mapped_file){ .path = "[vdso]" },
				  &(struct file_key){ .dev = UINT64_MAX });
	struct module *module = error ? NULL : modules_get(modules, id);

	return module && !module->image ? read_vdso(module) : error;
}

int modules_set_fetched(struct modules *modules, struct module *module, const char *path)
{
	char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	free(module->fetched);
	module->fetched = copy;
	drop_counted(modules, module);
	source_places_free(module->places);
	module->places = NULL;
	return 0;
}

bool module_is_trusted(const struct module *module)
{
	return !module->owner;
}

bool module_lacks_names(const struct module *module)
{
	return module->symbols && symbols_lack_names(module->symbols);
}

bool module_lacks_room(const struct module *module)
{
	return module->lacks_room || (module->symbols && symbols_lack_room(module->symbols));
}

bool module_is_unread(const struct module *module)
{
	return !module->symbols && !module->image;
}

bool module_lacks_places(const struct module *module)
{
	return module->places && source_places_lacking(module->places);
}

/* Forgets what was not asked for since idle_ns, and sums up the rest in symbol_bytes. */
static void forget_idle(struct modules *modules, uint64_t idle_ns)
{
	uint64_t now = clock_ns();

	modules->symbol_bytes = 0;
	for (size_t i = 0; i < modules->last_id; i++) {
		struct entry *entry = entry_at(modules, i);

		if (entry && name_bytes(entry) && now - entry->module.named_ns > idle_ns)
			forget_names(modules, entry);
		else if (entry)
			modules->symbol_bytes += name_bytes(entry);
	}
	paged_give_back(&modules->by_id);
}

void modules_limit_names(struct modules *modules, size_t bytes, uint64_t idle_ns)
{
	struct entry *oldest = NULL;

	forget_idle(modules, idle_ns);
	for (; modules->symbol_bytes > bytes; oldest = NULL) {
		for (size_t i = 0; i < modules->last_id; i++) {
			struct entry *entry = entry_at(modules, i);

			if (entry && name_bytes(entry) &&
			    (!oldest || entry->module.named_ns < oldest->module.named_ns))
				oldest = entry;
		}
		modules->symbol_bytes -= name_bytes(oldest);
		forget_names(modules, oldest);
	}
}

bool modules_symbol(struct modules *modules, struct module *module, uint64_t file_offset,
		    struct symbol *symbol)
{
	module->named_ns = clock_ns();
	if (!module->symbols_tried)
		read_symbols(modules, module);
	if (!module->symbols || !symbols_find(module->symbols, file_offset, symbol))
		return false;
	if (symbol->has_function || module->entries_tried)
		return true;
	read_entries(modules, module);
	return symbols_find(module->symbols, file_offset, symbol);
}

size_t modules_places(struct modules *modules, struct module *module, uint64_t vaddr,
		      places_open_fn *open, void *arg, const struct source_place **found)
{
	const struct symbol_options *options = &modules->symbol_options;

	if (!module->places &&
	    source_places_new(&module->places, options->chosen ? 0 : OWNERS_UID(module->owner),
			      options->no_demangle))
		return 0;
	return source_places_find(module->places, vaddr, open, arg, found);
}
