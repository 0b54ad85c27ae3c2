/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where names come from: files, and processes' code in no file. Keeps which names of each are
 * wanted and which are known, and what each has had of a report's time and of the room for names.
 */
#ifndef EHPERF_REPORT_NAME_SOURCES_H
#define EHPERF_REPORT_NAME_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "report/known_names.h"
#include "unwind/modules.h"

/* The share of one owner of files, or of one user whose processes have code in no file. */
struct name_share {
	uint64_t owner;               /* process/trust.h */
	uint64_t waited_ns;           /* in this report */
	struct name_account known[2]; /* [name_source_is_trusted()]: for names that are known */
	size_t nr_sources; /* sources whose names are still to be asked for in this report */
	bool used;         /* by a source: only while shares are forgotten */
	UT_hash_handle hh;
};

/* Each set has its own workers, so that a set cannot delay another. */
enum name_set {
	OTHERS_FILES,    /* a worker for each owner: a file may take its worker over */
	TRUSTED_FILES,   /* module_is_trusted() */
	CODE_IN_NO_FILE, /* a worker for each user */
	NR_NAME_SETS
};

/*
 * One file, or one process's code in no file. All frames of a source are asked for together, and
 * given up together.
 */
struct name_source {
	uint64_t key; /* name_source_key() */
	int error;    /* 0, or why it was given up */
	enum name_set set;
	struct name_share *share;
	uint32_t uid; /* of a process: whose it was; UINT32_MAX: not known */
	/* how often it did not answer in time, though it is trusted: the disk may be slow */
	unsigned slow;
	bool passed_over; /* it lacks names, because there was no time or no room */
	bool gone;        /* its file was gone before it was read; it may be found again */
	bool lacks_names; /* a debuginfod may have a debug file for it */
	bool has_dump;    /* of a process: its jitdump is not to be looked for any more */
	uint64_t *wanted; /* frames to ask for */
	size_t nr, room;
	unsigned nr_followed; /* questions of namer_follow() that are not answered yet */
	UT_hash_handle hh;
};

/*
 * .key of a process: with the PID. Of a file: its module's ID, and above that its serial, because
 * another module may get the ID.
 */
#define NAME_SOURCE_BITS 45
#define PROCESS_SOURCE   (1ULL << (NAME_SOURCE_BITS - 1))

struct name_sources {
	struct modules *modules;
	struct name_source *all;
	unsigned most; /* name_sources_bound() */
	struct name_share *shares;
	struct known_names known[2]; /* [name_source_is_trusted()] */
	bool some_gone;              /* a source was */
	/* how long a report may wait for the sources of the owner that is asked now */
	uint64_t share_ns;
	/* [name_source_is_trusted()]; of trusted ones, only what brought no answer */
	uint64_t waited_ns[2];
	/*
	 * sources without all of their names: given up, out of time, out of room; and the last that
	 * was given up
	 */
	size_t nr_given_up, nr_passed_over, nr_no_room;
	uint64_t given_up_key;
	int given_up_error;
};

void name_sources_init(struct name_sources *sources, struct modules *modules);
void name_sources_free(struct name_sources *sources);

uint64_t name_source_key(const struct name_sources *sources, pid_t pid, uint64_t frame);
uint64_t name_source_of_file(const struct module *module);
/* Can a frame of this source be this one? */
bool name_source_may_have(uint64_t key, uint64_t frame);
/* NULL: the source is a process with code in no file, or the file is forgotten */
struct module *name_sources_module(const struct name_sources *sources, uint64_t key);
/* Is it a file that no process maps any more, and that is in no stack? */
bool name_source_is_forgotten(const struct name_sources *sources, uint64_t key);
/* NULL: there is none */
struct name_source *name_sources_find(const struct name_sources *sources, uint64_t key);
/* NULL: no memory */
struct name_source *name_sources_get(struct name_sources *sources, uint64_t key);
enum name_set name_sources_set_of(const struct name_sources *sources, uint64_t key);
/* in whose name workers are asked */
uint64_t name_sources_owner(const struct name_sources *sources, uint64_t key);
bool name_source_is_trusted(const struct name_source *source);

/* Gives all processes of one user with code in no file the same share. 0 or -ENOMEM */
int name_sources_note_user(struct name_sources *sources, pid_t pid, uint32_t uid);

/*
 * Once there are many more sources than after the last time: forgets those that are gone, and those
 * of which nothing is wanted.
 */
void name_sources_bound(struct name_sources *sources);
/*
 * Forgets the sources that are gone, and what the others have had of the report's time; names as
 * namer_forget() says.
 */
void name_sources_forget(struct name_sources *sources);

/* ---- names ---- */

/* NULL: it is not known */
const struct known_name *name_sources_known(struct name_sources *sources, uint64_t key,
					    uint64_t frame);
/* Adds a name that a worker has found, if there is room. 0 or -ENOMEM */
int name_sources_add(struct name_sources *sources, struct name_source *source,
		     const struct named_frame *found, const char *symbol, const char *raw);
/* Notes that a worker had no room for the source's names. */
void name_sources_lack_room(struct name_sources *sources, struct name_source *source);
/* The source's names are to be asked for again. */
void name_sources_forget_names(struct name_sources *sources, const struct name_source *source);
/*
 * Notes that an unknown name is wanted. again: also one of code in no file that is older than the
 * last name_sources_forget(): the code may have changed. 0 or -ENOMEM
 */
int name_sources_want(struct name_sources *sources, pid_t pid, uint64_t frame, bool again);
/* Sorts the wanted frames, and keeps each of them once. */
void name_source_sort_wanted(struct name_source *source);
void name_source_drop_wanted(struct name_source *source);

/* ---- time ---- */

/*
 * How long a report waits for the names of all untrusted sources together. A limit for each source
 * would not do, because a user may have any number of them. The owners of sources have equal shares
 * of this time; at the end, others get what an owner leaves. For trusted files, only time that
 * brought no answer counts. When the time is over, no new names of that kind are asked for.
 */
#define NAME_WAIT_NS 800000000

/*
 * False: the source is given up or forgotten, or has no time or no room left. No time and no room
 * are counted.
 */
bool name_sources_may_ask(struct name_sources *sources, struct name_source *source);
/* the time from which on an answer is too late */
uint64_t name_sources_end_of_wait(const struct name_sources *sources,
				  const struct name_source *source);
/* A question that was asked at began_ns has its answer; in_vain: it has failed. */
void name_sources_note_wait(struct name_sources *sources, struct name_source *source,
			    uint64_t began_ns, bool in_vain);
/*
 * May a source that has failed with this error be asked again? If it is trusted, its disk or the
 * machine was slow perhaps.
 */
bool name_source_may_try_again(struct name_source *source, int error);
void name_sources_give_up(struct name_sources *sources, struct name_source *source, int error);
/* Gives up a source that was waited for, unless other sources have had most of the time. */
void name_sources_fail(struct name_sources *sources, struct name_source *source, int error);

/* the order in which a report asks the untrusted sources with wanted frames */
struct name_turns {
	size_t nr_owners; /* that are left */
	uint64_t share_ns;
	/* private */
	struct sized_source *order; /* smallest first */
	/* [0, nr_put_off): their owners had used up their shares; [at, nr): not looked at yet */
	size_t nr, at, nr_put_off;
	bool all_had;
};
/* 0 or -ENOMEM */
int name_sources_begin_turns(struct name_sources *sources, struct name_turns *turns);
/*
 * The smallest source whose owner has not used up the share; if all have, the smallest of all. The
 * caller asks it, and drops its wanted frames. NULL: no source, or no time is left. Until the next
 * turn, its owner has no more time than the share, or all if no other owner is left
 */
struct name_source *name_sources_next_turn(struct name_sources *sources, struct name_turns *turns);
void name_sources_end_turns(struct name_sources *sources, struct name_turns *turns);

#endif
