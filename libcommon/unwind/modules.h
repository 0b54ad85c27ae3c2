/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules: the files that contain mapped code, identified by device and inode, numbered so that frames can
 * name them.
 */
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
	char *path;		/* as seen by the process that it was first found in */
	uint8_t build_id[64];
	size_t build_id_bytes;
	int error;		/* -errno: why it has no table; 0: it has one, or is not compiled yet */
	/* private */
	/* kept open if possible: the path may name another file by the time symbols are read */
	int fd;
	void *image;		/* for the vDSO: its bytes, instead of a file */
	size_t image_bytes;
	pid_t tid;		/* the thread in whose mappings it was found first */
	struct symbols *symbols;
	bool symbols_tried, entries_tried;
};

struct modules;

struct modules *modules_new(void);
void modules_free(struct modules *modules);
size_t modules_count(const struct modules *modules);

/*
 * Finds or adds the module of a thread's mapping; *module is NULL for anonymous memory. 0, or -errno if the
 * file cannot be identified, e.g. because the process is gone.
 */
int modules_find(struct modules *modules, pid_t tid, const struct proc_mapping *mapping,
		 struct module **module);

/*
 * Compiles the module's CFI into a table, which the caller frees; it is empty if there is no CFI. Touches
 * nothing but this module, so that threads may compile different modules at once.
 */
void module_compile(struct module *module, struct unwind_table *table);

/* likewise a table of the code that no FDE covers */
void module_compile_code(struct module *module, struct unwind_table *table);

/* the module's file, for another thread to read and to close: an fd, or -1 where there is none, as for a vDSO */
int module_open_file(struct module *module);

/* by id, NULL if there is none */
struct module *modules_get(const struct modules *modules, uint32_t id);

/* bytes of the module's file: how many of these there were, 0 where it cannot be read */
uint32_t modules_read(struct module *module, void *to, uint32_t bytes, uint64_t file_offset);

/*
 * Sets how names are looked for from now on. Directories and debuginfod are the caller's and must outlive the
 * modules; max_bytes applies to all modules together.
 */
void modules_set_symbol_options(struct modules *modules, const struct symbol_options *options);

/*
 * Finds what is known of the code at an offset in the module's file. False: the file cannot be read, or there
 * is no code. The names are valid until the next call for the same module.
 */
bool modules_symbol(struct modules *modules, struct module *module, uint64_t file_offset,
		    struct symbol *symbol);

#endif
