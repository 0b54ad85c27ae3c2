/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is read of processes and files that are not ours, by workers (process/workers.h): nothing
 * here waits for another process longer than the workers' limits allow, and a process that kept a
 * worker waiting is not read again for a while.
 *
 * Files are compiled, and processes' mappings and functions read, beside the caller, which asks and
 * takes answers later. The rest is short, and the caller waits for it. Without a struct foreign
 * (NULL), as in tests, all is done in the caller itself, at once.
 */
#ifndef EHPERF_UNWIND_FOREIGN_H
#define EHPERF_UNWIND_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/mapped_file.h"
#include "process/proc_maps.h"
#include "process/process_memory.h"
#include "unwind/compiled.h"

struct foreign;

/* The workers may take so much memory, all together. 0 or -errno */
int foreign_new(struct foreign **foreign, uint64_t bytes);
void foreign_free(struct foreign *foreign);

/*
 * Asks for proc_maps_read() of this user's process, and for which files are mapped: beside the
 * caller; not with NULL. The tag is the caller's, but its lower half is the PID. 0, -ENOMEM, or
 * -EAGAIN: it is left alone
 */
int foreign_ask_maps(struct foreign *foreign, pid_t pid, uint32_t uid, uint64_t tag);
/*
 * The tag of what is there; 0: nothing is. *error is 0 or proc_maps_read()'s, moreover -ETIMEDOUT,
 * -ETIME, -EUSERS (no worker can be started); *maps is the caller's, empty with an error. Call
 * again within 100 ms
 */
uint64_t foreign_take_maps(struct foreign *foreign, int *error, struct proc_maps *maps);
/* mapped_file_identify(). Moreover -ETIMEDOUT, -EAGAIN */
int foreign_identify(struct foreign *foreign, pid_t tid, const struct proc_mapping *mapping,
		     struct file_key *key);

/* where code can be read: the process's memory, else the file */
struct foreign_text {
	pid_t pid;
	uint32_t uid; /* the process's user */
	uint64_t address;
	struct mapped_file file; /* .path NULL: none */
	struct file_key key;
	uint64_t owner; /* owner_of_file() */
	uint64_t file_offset;
};
/* bytes of code, FOREIGN_TEXT_BYTES at most: how many of these there were */
#define FOREIGN_TEXT_BYTES 64
uint32_t foreign_read_text(struct foreign *foreign, const struct foreign_text *text, void *to,
			   uint32_t bytes);

#define FOREIGN_STACKS       64
#define FOREIGN_STACK_BYTES  (256 << 10) /* of one stack, and */
#define FOREIGN_STACKS_BYTES (8 << 20)   /* of all that are read at a time */

struct foreign_stack {
	pid_t tid;
	uint32_t bytes; /* that there were */
	uint64_t address;
};

/*
 * The stacks of some threads of a process, FOREIGN_STACKS at most, and `most` bytes of all: each
 * from its address up to the end of its mapping. Sets .bytes, 0 where there is no answer; *bytes:
 * one stack's after the other's, valid until the next call. Not with NULL
 */
void foreign_read_stacks(struct foreign *foreign, pid_t pid, struct foreign_stack *stacks,
			 size_t nr, size_t most, const char **bytes);

/*
 * Answers a question about a process, in a worker that has nothing but the process's memory: in
 * `room` bytes, aligned to 8, of which it sets how many it has used. The question is aligned, too,
 * and may be trusted. 0 or -errno
 */
typedef int foreign_fn(const void *question, const struct process_memory *memory, void *answer,
		       size_t room, size_t *bytes);
#define FOREIGN_QUESTION_BYTES (16 << 10) /* at most */

/*
 * Calls work() for the caller, who waits. *bytes of *answer may be anything, and are valid until
 * the next call. 0, or what work() has returned; moreover -ETIMEDOUT, -EAGAIN
 */
int foreign_call(struct foreign *foreign, pid_t pid, foreign_fn *work, const void *question,
		 size_t size, const void **answer, size_t *bytes);
/*
 * Calls work() beside the caller; not with NULL. The tag is the caller's, but its lower half is the
 * PID. Only one caller may ask so. 0, -ENOMEM, or -EAGAIN: the process is left alone
 */
int foreign_ask(struct foreign *foreign, pid_t pid, foreign_fn *work, const void *question,
		size_t size, uint64_t tag);
/*
 * The tag of what is there; 0: nothing is. *bytes of *answer may be anything, and are valid until
 * the next call; with an error, there are none. Call again within 100 ms
 */
uint64_t foreign_take(struct foreign *foreign, const void **answer, size_t *bytes);
void foreign_wait_answer(const struct foreign *foreign, int ms);

/*
 * region_table_build() of the process's memory. *hash: of the bytes that were read last; 0: none
 * were. It becomes the hash of these bytes, if they could be read. 0; -EALREADY: they are the same,
 * and there is no new table; or another -errno
 */
int foreign_read_region(struct foreign *foreign, pid_t pid, uint64_t address, uint32_t bytes,
			uint64_t *hash, struct unwind_table *table);

/* ---- compiling, beside the caller; not with NULL ---- */

/*
 * Asks for compiled_from_file(). Most files need little memory; one that failed for want of it can
 * be asked for again with all there is (much), which few have at a time. owner: in whose name
 * (process/workers.h). 0 or -ENOMEM
 */
int foreign_ask_table(struct foreign *foreign, uint32_t id, const struct mapped_file *file,
		      const struct file_key *key, uint64_t owner, bool of_code, bool much);
/* What was asked for is not wanted any more. False: it is being made, or there is no such */
bool foreign_cancel_table(struct foreign *foreign, uint32_t id, bool of_code);
/*
 * The id that it was asked for with, and whether of_code; 0: none is done. Call again within 100 ms
 */
uint32_t foreign_take_table(struct foreign *foreign, bool *of_code, struct compiled *compiled);
/* how many are being made, or read */
size_t foreign_nr_tables(const struct foreign *foreign);
size_t foreign_nr_maps(const struct foreign *foreign);
/* for poll(): readable when one of any kind is done; waits for one, so long at most */
int foreign_fd(const struct foreign *foreign);
void foreign_wait(const struct foreign *foreign, int ms);

#endif
