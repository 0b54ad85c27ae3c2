/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modules: the files that contain mapped code. A module is identified by device, inode and time of
 * the last change, and has a number, which frames contain. No file is kept open. A file is opened
 * for each reading, and cannot be read if it is not the identified file any more.
 */
#ifndef EHPERF_UNWIND_MODULES_H
#define EHPERF_UNWIND_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/mapped_file.h"
#include "process/proc_maps.h"
#include "dwarf/source_places.h"
#include "dwarf/symbols.h"
#include "unwind/compiled.h"
#include "unwind/foreign.h"
#include "unwind/runtime.h"

#define MAX_MODULES (1 << 21) /* FRAME_MODULE */

struct module {
	uint32_t id; /* from 1 */
	/* unlike that of an earlier module with the same ID */
	uint32_t serial;
	/*
	 * as a process with the tool's own root sees it; until such a process maps the file, as the
	 * first process sees it
	 */
	char *path;
	uint8_t build_id[MAX_BUILD_ID];
	size_t build_id_bytes;
	int error;      /* -errno: why it has no table; 0: it has one, or is not compiled yet */
	int code_error; /* as .error, for the table of its code that no FDE covers */
	/* set once compiled: only the file's processes see it at its path */
	bool elsewhere;
	bool is_compiled;
	struct runtime_file runtime; /* known once it is compiled */
	uint64_t whole, cut;         /* as of elf_file_as_loaded(): known then, too */
	/* set by the namer: */
	/*
	 * a stack with the module was seen, and its names are read soon, because its file may
	 * vanish
	 */
	bool seen;
	/* what the file says of its debug file; NULL: it was not asked for */
	struct debug_key *debug;
	bool fetch_tried; /* a debuginfod was asked for its debug file, */
	char *fetched;    /* and has sent this one */
	/* private */
	struct file_key key;
	/*
	 * owner_of_file() when the module was new, because its mount may be gone later; 0 for the
	 * vDSO
	 */
	uint64_t owner;
	pid_t tid;           /* the thread in whose mappings the path was found, */
	uint64_t start, end; /* and the mapping */
	void *image;         /* for the vDSO: its bytes, instead of a file */
	size_t image_bytes;
	struct symbols *symbols;
	struct source_places *places;
	bool symbols_tried, entries_tried;
	bool lacks_room; /* for symbols */
	bool debug_used; /* the symbols were read with debug files at hand */
	bool adopted;    /* by modules_adopt() */
	bool unused;     /* it was not in use at the last modules_forget() */
	bool moved; /* no process maps it; tid, start and end will be those of its next mapping */
	uint64_t named_ns; /* when its names were last asked for */
	/* used by tables.c; freed with the module */
	struct module_table *table;
};

struct modules;

/* NULL: no memory */
struct modules *modules_new(void);
/*
 * Lets these workers identify and compile files from now on. They are the caller's and must outlive
 * the modules.
 */
void modules_set_foreign(struct modules *modules, struct foreign *foreign);
struct foreign *modules_foreign(const struct modules *modules); /* NULL: none */
void modules_free(struct modules *modules);
uint32_t modules_last_id(const struct modules *modules); /* the highest one that was given */
uint64_t modules_nr_seen(const struct modules *modules); /* with those that are forgotten */
/* Was there no ID for a file? */
bool modules_were_full(const struct modules *modules);

/*
 * Finds or adds the module of a thread's mapping; *module is NULL for anonymous memory. 0, or
 * -errno if the file cannot be identified, e.g. because the process is gone; -ENOSPC: all of
 * MAX_MODULES - 1 IDs are in use.
 */
int modules_find(struct modules *modules, pid_t tid, const struct proc_mapping *mapping,
		 struct module **module);

/* Compiles the module's file here and now: its CFI, or the code that no FDE covers. */
void module_compile(const struct module *module, bool of_code, struct compiled *compiled);
/* Keeps what was found out in compiling: the build ID, and the error if there was one. */
void module_compiled(struct module *module, const struct compiled *compiled);

/* explains module->error to the user, for a module whose frames ended because it has no table */
const char *module_explain(int error);

struct mapped_file module_file(const struct module *module);

/*
 * Forgets the modules that are not in use now (used[ID]), and were not in use at the last call.
 * Their IDs are given again, but not within a minute: a sample that waits, or a view, may still
 * have them.
 */
void modules_forget(struct modules *modules, const bool *used);

/* the module with this ID, or NULL if there is none, or it is forgotten */
struct module *modules_get(const struct modules *modules, uint32_t id);

/*
 * In a worker: adds a module under the ID that it has in the tool's struct modules; only its names
 * can be found. What was known of another file with this ID, or by another path, is forgotten. 0 or
 * -ENOMEM
 */
int modules_adopt(struct modules *modules, uint32_t id, const struct mapped_file *file,
		  const struct file_key *key);
/* Is this very file known under this ID, by this path? */
bool modules_has_adopted(const struct modules *modules, uint32_t id, const struct mapped_file *file,
			 const struct file_key *key);
/* Adds the vDSO of this process in that way. 0 or -errno */
int modules_adopt_vdso(struct modules *modules, uint32_t id);

/*
 * In a worker: from now on, modules' names are read from these files. opened->fd stays the caller's
 */
void modules_use_opened(struct modules *modules, struct opened_elf *opened);
/* Its debug files are open now: if its symbols were read without them, they are read again. */
void modules_read_again(struct modules *modules, struct module *module);
/* What the module's file says of its debug file. 0 or -errno, if it cannot be read */
int module_debug_key(const struct modules *modules, const struct module *module,
		     struct debug_key *key);

/*
 * A debuginfod has sent this debug file for the module: names and places are searched for there,
 * too. 0 or -ENOMEM
 */
int modules_set_fetched(struct modules *modules, struct module *module, const char *path);
/* Is it root's (process/trust.h), so that reading it may take long? */
bool module_is_trusted(const struct module *module);
/*
 * Has it no full symbol table, though names were asked for; or no places, though one was? A debug
 * file may have these.
 */
bool module_lacks_names(const struct module *module);
bool module_lacks_places(const struct module *module);
/* Does it have names that would take more memory than there is? */
bool module_lacks_room(const struct module *module);
/* Were its symbols not read, as when its file was gone? */
bool module_is_unread(const struct module *module);

/*
 * Sets how names are searched for from now on. Directories are the caller's and must outlive the
 * modules; max_bytes applies to all modules together.
 */
void modules_set_symbol_options(struct modules *modules, const struct symbol_options *options);
const struct symbol_options *modules_symbol_options(const struct modules *modules);

/*
 * Finds the symbol of the code at an offset in the module's file. The first call reads the file
 * that modules_use_opened() was given. False: the file cannot be read, or there is no code. The
 * names are valid until the next call for the same module.
 */
bool modules_symbol(struct modules *modules, struct module *module, uint64_t file_offset,
		    struct symbol *symbol);

/*
 * Forgets symbols of files whose names were not asked for recently; then those of other files, the
 * least recently asked ones first, until all take at most this memory. They are read again when
 * they are needed. Adopted modules are forgotten in the same way.
 */
void modules_limit_names(struct modules *modules, size_t bytes, uint64_t idle_ns);

/*
 * The source places of an address in the module's code: source_places_find(). 0: the module has no
 * DWARF. Strings are valid until the next call for the same module
 */
size_t modules_places(struct modules *modules, struct module *module, uint64_t vaddr,
		      places_open_fn *open, void *arg, const struct source_place **found);

#endif
