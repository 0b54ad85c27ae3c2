// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/names_count.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/recent.h"
#include "process/mapped_file.h"
#include "report/escape.h"
#include "report/frame_names.h"
#include "report/namer.h"
#include "runtimes/jit/jit_cures.h"
#include "runtimes/runtimes.h"
#include "unwind/modules.h"

struct by_pid {
	uint32_t pid;
	uint64_t unnamed;
	const char *comm, *cure;
	UT_hash_handle hh;
};

/* A thread may have any name, and then the files of its stack tell what runs it. */
static const char *find_cure(const struct frame_names *names, const struct stack_entry *entry)
{
	const char *cure = jit_cure(entry->key.comm);

	for (uint32_t i = 0; !cure && i < entry->user->nr; i++) {
		uint64_t frame = entry->user->frames[i];
		const struct module *module =
			frame & FRAME_ADDRESS ? NULL
					      : modules_get(names->modules, FRAME_MODULE(frame));
		const char *slash = module && module->path ? strrchr(module->path, '/') : NULL;

		cure = slash ? jit_cure(slash + 1) : NULL;
	}
	return cure;
}

static int count_jit(struct by_pid **all, const struct frame_names *names,
		     const struct stack_entry *entry, uint64_t unnamed)
{
	struct by_pid *p;

	HASH_FIND(hh, *all, &entry->key.pid, sizeof(p->pid), p);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->pid = entry->key.pid;
		p->comm = entry->key.comm;
		HASH_ADD(hh, *all, pid, sizeof(p->pid), p);
	}
	p->unnamed += unnamed;
	if (!p->cure)
		p->cure = find_cure(names, entry);
	return 0;
}

/*
 * Is this memory that a runtime may have filled with code? What maps calls it (frame_name.h) tells:
 * a file's name has a slash, but shared memory's too.
 */
static bool may_be_jit(const char *region)
{
	if (!region || !strcmp(region, "[vsyscall]"))
		return false;
	return strncmp(region, "[/", 2) || mapped_file_names_memory(region + 1);
}

enum known { NAMED, UNNAMED, UNNAMED_JIT };

/*
 * Stacks have the same frames again and again: recent has what is known of those of the last ones.
 */
static enum known find_known(const struct frame_names *names, struct recent_pair *recent,
			     uint32_t pid, uint64_t frame)
{
	struct recent_pair *pair;
	struct frame_name name;
	bool known;

	pair = recent_place(recent, frame & FRAME_ADDRESS ? pid : 0, frame, &known);
	if (!known) {
		name = frame_name_user(names, pid, frame);
		pair->value = may_be_jit(name.region) ? UNNAMED_JIT : UNNAMED;
		if (name.symbol)
			pair->value = NAMED;
	}
	return (enum known)pair->value;
}

static int count_entry(struct names_count *count, struct by_pid **all,
		       const struct frame_names *names, struct recent_pair *recent,
		       const struct stack_entry *entry)
{
	uint64_t unnamed = 0;
	enum known known;
	const char *gone;

	for (uint32_t i = 0; entry->user && i < entry->user->nr; i++) {
		uint64_t frame = entry->user->frames[i];

		if (FRAME_IS_MARK(frame))
			continue;
		count->frames += entry->value.count;
		known = find_known(names, recent, entry->key.pid, frame);
		if (known == NAMED) {
			count->named += entry->value.count;
			continue;
		}
		gone = names->namer ? namer_gone(names->namer, frame) : NULL;
		count->gone += gone ? entry->value.count : 0;
		count->gone_path = count->gone_path ? count->gone_path : gone;
		if (known == UNNAMED_JIT &&
		    !(names->namer && namer_lost_code(names->namer, entry->key.pid)))
			unnamed += entry->value.count;
	}
	return unnamed ? count_jit(all, names, entry, unnamed) : 0;
}

int names_count(struct names_count *count, const struct frame_names *names,
		const struct stack_entry *entries, size_t nr)
{
	struct recent_pair *recent = calloc(RECENT_PAIRS, sizeof(*recent));
	struct by_pid *all = NULL, *p, *next;
	int error = recent ? 0 : -ENOMEM;

	for (size_t i = 0; i < nr && !error; i++)
		error = count_entry(count, &all, names, recent, &entries[i]);
	HASH_ITER(hh, all, p, next) {
		if (p->unnamed > count->jit_unnamed) {
			count->jit_unnamed = p->unnamed;
			count->jit_pid = p->pid;
			count->jit_cure = p->cure;
			memcpy(count->jit_comm, p->comm, sizeof(count->jit_comm));
		}
		HASH_DEL(all, p);
		free(p);
	}
	free(recent);
	return error;
}

void names_count_say(FILE *out, const struct names_count *count)
{
	if (count->frames)
		fprintf(out, ", %.1f %% of frames named", 100.0 * count->named / count->frames);
	for (size_t i = 0; all_runtimes[i]; i++)
		if (count->calls[i].all)
			fprintf(out, ", %.2f %% of %s",
				100.0 * count->calls[i].named / count->calls[i].all,
				all_runtimes[i]->calls);
}

/* less than a thousandth is not worth a line */
static bool is_worth_a_line(const struct names_count *count, uint64_t frames)
{
	return frames && frames >= count->frames / 1000;
}

void names_count_print_causes(FILE *out, const char *tool, const struct names_count *count)
{
	if (is_worth_a_line(count, count->jit_unnamed)) {
		fprintf(out, "%s: %.1f %% of frames are unnamed JIT code of PID %" PRIu32 ", ",
			tool, 100.0 * count->jit_unnamed / count->frames, count->jit_pid);
		print_escaped(out, count->jit_comm);
		fprintf(out, ": %s\n",
			count->jit_cure ? count->jit_cure
					: "no perf map in /tmp and no jitdump names it");
	}
	if (is_worth_a_line(count, count->gone)) {
		fprintf(out,
			"%s: %.1f %% of frames are of files that were gone before their names were read, like '",
			tool, 100.0 * count->gone / count->frames);
		print_escaped(out, count->gone_path);
		fputs("'\n", out);
	}
}
