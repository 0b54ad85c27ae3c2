/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_places, or Go's own table if there is no DWARF, in a bounded child: no file can take more
 * than these limits.
 */
#ifndef EHPERF_DWARF_SOURCE_PLACES_H
#define EHPERF_DWARF_SOURCE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/debug_file.h"
#include "dwarf/dwarf_places.h"

#define PLACES_MAX_BYTES    (1 << 30) /* of memory, for all files that are read at a time */
#define PLACES_PREPARE_MS   10000     /* of CPU time, to list a file's units */
#define PLACES_ANSWER_MS    1000      /* for one address */
#define PLACES_MAX_OVERRUNS 3         /* after so many, the file is not asked any more */
/*
 * of waiting for answers in a report, for trusted files, and for all others; of these, a user's
 * files get half of what other users' files have left
 */
#define PLACES_MAX_MS    60000
#define PLACES_OTHERS_MS 2000

struct source_places;

#define MAX_SOURCE_PLACES DWARF_MAX_INLINED

struct source_place {
	/*
	 * of the inlined function, for people and as in the file; NULL: the function that symbols
	 * name
	 */
	const char *name, *raw_name;
	const char *file; /* NULL: not known */
	unsigned line;    /* 0: not known */
};

/* user: whose file it is; 0: it is trusted (process/trust.h). 0 or -ENOMEM */
int source_places_new(struct source_places **places, uint32_t user, bool no_demangle);
void source_places_free(struct source_places *places);

/*
 * Opens the file, and what may be its debug files, whose key is *debug. All are the caller's to
 * close. False: it cannot be opened now
 */
typedef bool places_open_fn(void *arg, struct opened_elf *opened, struct debug_key *debug);

/*
 * The innermost first; each but the last is an inlined function. *found: valid until the next call
 * for the same places. How many; 0: nothing is known, or it would take more than what is stated
 * above. open(arg) is called when a child is to be started, which parses the files, and can open
 * none but what its DWARF names and everybody may read.
 */
size_t source_places_find(struct source_places *places, uint64_t vaddr, places_open_fn *open,
			  void *arg, const struct source_place **found);

/*
 * Parses a child's reply about vaddr, for source_places_find(). The reply is not trusted: hostile
 * DWARF may have taken over the child
 */
size_t source_places_take(struct source_places *places, uint64_t vaddr, const char *reply,
			  size_t size, const struct source_place **found);

/* Has the file neither DWARF nor Go's table? False where nothing was asked yet */
bool source_places_lacking(const struct source_places *places);

/* A new report begins. */
void source_places_begin(void);

/* how many addresses were given up */
uint64_t source_places_refused(const struct source_places *places);

#endif
