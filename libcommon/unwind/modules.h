/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every file that code was seen in, known by its device and inode, numbered for the frames. */
#ifndef EHPERF_UNWIND_MODULES_H
#define EHPERF_UNWIND_MODULES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/proc_maps.h"
#include "dwarf/symbols.h"
#include "table/unwind_table.h"

#define MAX_MODULES (1 << 21)	/* FRAME_MODULE */

struct module {
	uint32_t id;		/* from 1 */
	char *path;		/* as the process that had it first saw it */
	uint8_t build_id[64];
	size_t build_id_bytes;
	int error;		/* why it has no table, -errno; 0: it has one, or nobody has asked for it yet */
	/* private */
	int fd;			/* kept open if there are not too many: the path may name another file by the time symbols are wanted */
	void *image;		/* instead, for a vDSO */
	size_t image_bytes;
	pid_t tid;		/* who had it first */
	struct symbols *symbols;
	bool symbols_tried, entries_tried;
};

struct modules;

struct modules *modules_new(void);
void modules_free(struct modules *modules);
size_t modules_count(const struct modules *modules);

/*
 * The module of this mapping of a thread; NULL for memory that is no file's. 0, or -errno where nothing can be
 * said of the file, as when the process is gone.
 */
int modules_find(struct modules *modules, pid_t tid, const struct proc_mapping *mapping, struct module **module);

/* Makes the module's table, to be freed by the caller; empty where there is none. Touches nothing but this module. */
void module_compile(struct module *module, struct unwind_table *table);

/* its table of the code that no FDE covers, likewise */
void module_compile_code(struct module *module, struct unwind_table *table);

/* the module's file, for another thread to read and to close: an fd, or -1 where there is none, as for a vDSO */
int module_open_file(struct module *module);

/* by id, NULL if there is none */
struct module *modules_get(const struct modules *modules, uint32_t id);

/* bytes of the module's file: how many of these there were, 0 where it cannot be read */
uint32_t modules_read(struct module *module, void *to, uint32_t bytes, uint64_t file_offset);

/*
 * How names are looked for from now on: directories and debuginfod are the caller's and must stay. max_bytes is
 * for all modules together.
 */
void modules_set_symbol_options(struct modules *modules, const struct symbol_options *options);

/*
 * What is known of the code at an offset in the module's file; false: it cannot be read, or there is no code. The names are
 * valid until the next call for the same module.
 */
bool modules_symbol(struct modules *modules, struct module *module, uint64_t file_offset, struct symbol *symbol);

#endif
