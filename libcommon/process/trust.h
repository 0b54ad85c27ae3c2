/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and processes that may take time, or lie: other users' ones must not delay these, nor take over what reads them. */
#ifndef EHPERF_PROCESS_TRUST_H
#define EHPERF_PROCESS_TRUST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dwarf/regular_file.h"

/* Is it root, the user that runs the tool, or the user that called sudo? */
bool is_trusted_owner(uint64_t owner);

/*
 * Does the file belong to such a user, and is it on a file system whose
 * owners come from the kernel and not from a server?
 */
bool is_trusted_file(const struct file_key *key);

/* Owners of workers' jobs (process/workers.h). Where a server says whose a file is, it is nobody's, apart for each whom it names. */
uint64_t owner_of_user(uint32_t uid);
uint64_t owner_of_process(pid_t pid);	/* its real user: */
uint32_t uid_of_process(pid_t pid);	/* UINT32_MAX: not known */
uint64_t owner_of_file(const struct file_key *key);

#endif
