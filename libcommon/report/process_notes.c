// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/process_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void free_note(struct process_note *note)
{
	free(note->cmdline);
	free(note->cgroup);
	free(note);
}

int process_notes_add(struct process_notes *notes, uint32_t pid, const char *cmdline,
		      const char *cgroup)
{
	struct process_note *note = process_notes_find(notes, pid);

	if (note)
		return 0;
	note = calloc(1, sizeof(*note));
	if (!note)
		return -ENOMEM;
	note->pid = pid;
	note->cmdline = cmdline ? strdup(cmdline) : NULL;
	note->cgroup = cgroup ? strdup(cgroup) : NULL;
	if ((cmdline && !note->cmdline) || (cgroup && !note->cgroup)) {
		free_note(note);
		return -ENOMEM;
	}
	HASH_ADD(hh, notes->all, pid, sizeof(note->pid), note);
	return 0;
}

struct process_note *process_notes_find(const struct process_notes *notes, uint32_t pid)
{
	struct process_note *note = NULL;

	if (notes)
		HASH_FIND(hh, notes->all, &pid, sizeof(pid), note);
	return note;
}

void process_notes_begin(const struct process_notes *notes)
{
	for (struct process_note *note = notes ? notes->all : NULL; note; note = note->hh.next)
		note->printed = false;
}

void process_notes_free(struct process_notes *notes)
{
	struct process_note *note, *next;

	HASH_ITER(hh, notes->all, note, next) {
		HASH_DEL(notes->all, note);
		free_note(note);
	}
}
