/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of frames that were asked for (report/namer.h), by the frame and where it is from. */
#ifndef EHPERF_REPORT_KNOWN_NAMES_H
#define EHPERF_REPORT_KNOWN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/user_room.h"
#include "report/namer_work.h"

/* who pays for names */
struct name_account {
	size_t bytes;
	struct room_user *user; /* of the memory that all share; NULL: of none */
};

struct known_name {
	struct {
		uint64_t source, frame;
	} key;
	struct named_frame found;
	char *symbol, *raw; /* as in struct named_frame, shared with other names; NULL: none */
	struct name_account *account;
	/* the rounds in which it was asked for last, and in which its name was added last */
	uint32_t asked, named;
	UT_hash_handle hh;
};

struct known_names {
	struct known_name *all;
	size_t bytes;   /* what they take, about */
	uint32_t round; /* how often known_names_forget() was called */
	/* of the last name that was added: the next frame often has the same function */
	char *last_symbol, *last_raw;
};

/* NULL: it is not known */
struct known_name *known_names_find(struct known_names *names, uint64_t source, uint64_t frame);
/*
 * Adds a name, which replaces one that the frame has, if it has a symbol. The strings are copied,
 * and may be NULL. What the name takes is charged to *account until it is forgotten: all accounts
 * together are names->bytes. 0 or -ENOMEM
 */
int known_names_add(struct known_names *names, uint64_t source, const struct named_frame *found,
		    const char *symbol, const char *raw, struct name_account *account);
/*
 * Forgets the names of sources that are gone, and, while they take more bytes than this, those that
 * were not found in this round nor in the one before.
 */
void known_names_forget(struct known_names *names, bool (*gone)(void *arg, uint64_t source),
			void *arg, size_t bytes);
/* Forgets the names of a source. */
void known_names_forget_source(struct known_names *names, uint64_t source);
void known_names_free(struct known_names *names);

#endif
