/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files and processes are trusted. Others may be slow or hostile: they must not delay the
 * trusted ones, nor share a worker with them.
 */
#ifndef EHPERF_PROCESS_TRUST_H
#define EHPERF_PROCESS_TRUST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dwarf/regular_file.h"

/*
 * Owners of workers' jobs (process/workers.h). 0: root, the user that runs the tool, and the user
 * that called sudo. Where a server says whose a file is, and not the kernel, the file is nobody's,
 * apart for each whom it names.
 */
uint64_t owner_of_user(uint32_t uid);
uint64_t owner_of_file(const struct file_key *key);
uint64_t owner_of_process(pid_t pid); /* its real user's: */
uint32_t uid_of_process(pid_t pid);   /* UINT32_MAX: not known */

/*
 * Was it found by way of a mount of our own mount namespace? Else others choose its path, also where
 * a process with our root directory has it, who may have been handed a descriptor.
 */
bool file_is_in_our_mount(const struct file_key *key);

#endif
