// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#include "base/array.h"
#include "dwarf/gopclntab.h"
#include "table/code_entries.h"

struct file_key {
	uint64_t dev, inode;	/* the vDSO: all ones, 0 */
	int64_t mtime_s, mtime_ns;
};

struct entry {
	struct file_key key;
	struct module module;
	UT_hash_handle hh;
};

struct modules {
	struct entry *by_file;
	struct entry **by_id;	/* [id - 1] */
	size_t nr, room;
	struct symbol_options symbol_options;
	size_t symbol_bytes;	/* of all that were read */
};

struct modules *modules_new(void)
{
	struct modules *modules = calloc(1, sizeof(*modules));

	if (modules)
		modules->symbol_options = SYMBOL_OPTIONS_DEFAULT;
	return modules;
}

static void free_entry(struct entry *e)
{
	symbols_free(e->module.symbols);
	if (e->module.fd >= 0)
		close(e->module.fd);
	free(e->module.image);
	free(e->module.path);
	free(e);
}

void modules_free(struct modules *modules)
{
	if (!modules)
		return;
	HASH_CLEAR(hh, modules->by_file);
	for (size_t i = 0; i < modules->nr; i++)
		free_entry(modules->by_id[i]);
	free(modules->by_id);
	free(modules);
}

size_t modules_count(const struct modules *modules)
{
	return modules->nr;
}

/* Opens the module's path again: an fd, or -errno, which is -ESTALE if the path names another file by now. */
static int reopen(const struct module *module)
{
	const struct file_key
		*key = &((const struct entry *)((const char *)module - offsetof(struct entry, module)))->key;
	int fd = open(module->path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && st.st_dev == key->dev && st.st_ino == key->inode &&
	    st.st_mtim.tv_sec == key->mtime_s && st.st_mtim.tv_nsec == key->mtime_ns)
		return fd;
	close(fd);
	return -ESTALE;
}

static int open_elf(struct module *module, struct elf_file *file)
{
	if (module->image)
		return elf_file_open_memory(file, module->image, module->image_bytes);
	if (module->fd < 0)
		module->fd = reopen(module);
	return module->fd < 0 ? module->fd : elf_file_open(file, module->fd);
}

static int add(struct modules *modules, struct entry *entry)
{
	if (modules->nr + 1 >= MAX_MODULES)
		return -ENOSPC;
	if (array_reserve(&modules->by_id, &modules->room, modules->nr + 1))
		return -ENOMEM;
	modules->by_id[modules->nr++] = entry;
	entry->module.id = modules->nr;
	HASH_ADD(hh, modules->by_file, key, sizeof(entry->key), entry);
	return 0;
}

/* An fd below this is kept open: half of what the process may have. */
static int max_open_fd(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > INT_MAX ? INT_MAX :
									      (int)(limit.rlim_cur / 2);
}

static void close_surplus(struct module *module)
{
	if (module->fd >= max_open_fd()) {
		close(module->fd);
		module->fd = -1;
	}
}

/* the table of its CFI, or of what else is to be known of it. 0 or -errno, as unwind_table_build() */
static int build(struct unwind_table *table, struct elf_file *file)
{
	int error = unwind_table_build(table, file);

	if (error != -ENOENT)
		return error;
	error = unwind_table_build_without_cfi(table, file);
	/* a Go program linked without its CFI: its frame pointers are all there is */
	return error || table->has_other_code ? error : -ENOENT;
}

void module_compile(struct module *module, struct unwind_table *table)
{
	struct elf_file file;

	*table = (struct unwind_table){};
	if (module->error)
		return;
	module->error = open_elf(module, &file);
	if (module->error)
		return;
	module->build_id_bytes = file.build_id_bytes;
	memcpy(module->build_id, file.build_id, file.build_id_bytes);
	module->error = build(table, &file);
	elf_file_close(&file);
	close_surplus(module);
}

void module_compile_code(struct module *module, struct unwind_table *table)
{
	struct elf_file file;

	*table = (struct unwind_table){};
	if (open_elf(module, &file))
		return;
	unwind_table_build_code(table, &file);
	elf_file_close(&file);
	close_surplus(module);
}

int module_open_file(struct module *module)
{
	int fd;

	if (module->image)
		return -1;
	if (module->fd < 0)
		module->fd = reopen(module);
	fd = module->fd < 0 ? -1 : fcntl(module->fd, F_DUPFD_CLOEXEC, 0);
	close_surplus(module);
	return fd;
}

static char *plain_path(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path), tail = sizeof(deleted) - 1;

	if (length > tail && !strcmp(path + length - tail, deleted))
		length -= tail;
	return strndup(path, length);
}

/* opens the mapped file: its key, and what entry->module needs to read it */
static int identify(struct entry *entry, pid_t tid, const struct proc_mapping *mapping)
{
	struct stat st;

	entry->module.fd = -1;
	if (!mapping->inode) {
		entry->key = (struct file_key){ .dev = UINT64_MAX };
		return 0;
	}
	entry->module.fd = proc_maps_open(tid, mapping);
	if (entry->module.fd < 0)
		return entry->module.fd;
	if (fstat(entry->module.fd, &st))
		return -errno;
	entry->key = (struct file_key){
		.dev = st.st_dev,
		.inode = st.st_ino,
		.mtime_s = st.st_mtim.tv_sec,
		.mtime_ns = st.st_mtim.tv_nsec,
	};
	return 0;
}

int modules_find(struct modules *modules, pid_t tid, const struct proc_mapping *mapping,
		 struct module **module)
{
	struct entry *entry, *known;
	int error;

	*module = NULL;
	if (!mapping->inode && strcmp(mapping->path, "[vdso]"))
		return 0;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	error = identify(entry, tid, mapping);
	/*
	 * the process or file is gone, or resources are short at the moment: not the module's fault, so do
	 * not add it
	 */
	if (error == -ESRCH || error == -ENOENT || error == -ENOMEM || error == -EMFILE || error == -ENFILE) {
		free_entry(entry);
		return error;
	}
	if (error)	/* its code cannot be unwound, but its frames can be named */
		entry->key = (struct file_key){ .dev = ~mapping->dev, .inode = mapping->inode };
	HASH_FIND(hh, modules->by_file, &entry->key, sizeof(entry->key), known);
	if (known) {
		free_entry(entry);
		*module = &known->module;
		return 0;
	}
	if (!mapping->inode) {
		ssize_t bytes = proc_maps_copy_vdso(&entry->module.image);

		entry->module.image_bytes = bytes < 0 ? 0 : bytes;
		error = bytes < 0 ? (int)bytes : 0;
	}
	entry->module.error = error;
	entry->module.tid = tid;
	entry->module.path = plain_path(mapping->path);
	error = entry->module.path ? add(modules, entry) : -ENOMEM;
	if (error) {
		free_entry(entry);
		return error;
	}
	*module = &entry->module;
	return 0;
}

struct module *modules_get(const struct modules *modules, uint32_t id)
{
	return id && id <= modules->nr ? &modules->by_id[id - 1]->module : NULL;
}

uint32_t modules_read(struct module *module, void *to, uint32_t bytes, uint64_t file_offset)
{
	ssize_t done;

	if (module->image) {
		if (file_offset >= module->image_bytes)
			return 0;
		if (bytes > module->image_bytes - file_offset)
			bytes = module->image_bytes - file_offset;
		memcpy(to, (const char *)module->image + file_offset, bytes);
		return bytes;
	}
	if (module->fd < 0)
		module->fd = reopen(module);
	done = module->fd < 0 ? 0 : pread(module->fd, to, bytes, file_offset);
	close_surplus(module);
	return done < 0 ? 0 : done;
}

void modules_set_symbol_options(struct modules *modules, const struct symbol_options *options)
{
	modules->symbol_options = *options;
}

/*
 * the root directory of the process that had the file: debug files of its container are there. -1: it is gone
 */
static int open_root(const struct module *module)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/root", module->tid);
	return module->tid ? open(name, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

static void read_symbols(struct modules *modules, struct module *module)
{
	struct symbol_options options = modules->symbol_options;
	struct elf_file file;

	module->symbols_tried = true;
	if (open_elf(module, &file))
		return;
	options.path = module->path;
	options.search.root = open_root(module);
	options.max_bytes -= modules->symbol_bytes < options.max_bytes ? modules->symbol_bytes :
									 options.max_bytes;
	if (symbols_read(&module->symbols, &file, &options))
		module->symbols = NULL;
	else
		modules->symbol_bytes += symbols_bytes(module->symbols);
	if (options.search.root >= 0)
		close(options.search.root);
	elf_file_close(&file);
}

/*
 * where functions begin that have neither a symbol nor an FDE: some ms of decoding, so only when one was met
 */
static void read_entries(struct module *module)
{
	struct elf_file file;
	uint64_t *vaddrs;
	size_t nr;

	module->entries_tried = true;
	if (open_elf(module, &file))
		return;
	if (!gopclntab_is_go(&file) && !code_entries(&file, &vaddrs, &nr)) {
		symbols_add_entries(module->symbols, vaddrs, nr);
		free(vaddrs);
	}
	elf_file_close(&file);
}

bool modules_symbol(struct modules *modules, struct module *module, uint64_t file_offset,
		    struct symbol *symbol)
{
	if (!module->symbols_tried)
		read_symbols(modules, module);
	if (!module->symbols || !symbols_find(module->symbols, file_offset, symbol))
		return false;
	if (symbol->has_function || module->entries_tried)
		return true;
	read_entries(module);
	return symbols_find(module->symbols, file_offset, symbol);
}
