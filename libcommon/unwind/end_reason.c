// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/end_reason.h"

static const struct {
	const char *name, *meaning;
} reasons[] = {
	[END_COMPLETE] = { "complete",
			   "the outermost frame was reached, where the thread or the program begins" },
	[END_NO_MAPPING] = { "no_mapping", "a pc outside every known executable mapping" },
	[END_NO_ROW] = { "no_row",
			 "no FDE covers a pc, and neither the code nor a frame pointer leads to the caller" },
	[END_NO_TABLE] = { "no_table",
			   "code without unwind tables (JIT, not ELF, or not made in time), and no usable frame pointer" },
	[END_UNREADABLE] = { "unreadable",
			     "the stack could not be read (paged out, no stack, or not in time)" },
	[END_UNKNOWN_REGISTER] = { "unknown_register",
				   "a rule needs a register whose value is not known" },
	[END_UNSUPPORTED] = { "unsupported", "a rule of a kind that is not supported" },
	[END_NO_PROGRESS] = { "no_progress",
			      "the caller's frame would lie below the callee's or has no return address any more, or few frames take too many steps" },
	[END_TOO_DEEP] = { "too_deep", "so many frames that the outermost one was not reached" },
	[END_CUT] = { "cut",
		      "the outermost frame was reached, and frames between are left out: more than --max-depth" },
	[END_32BIT] = { "bits32", "a 32-bit process, of which only the leaf is shown" },
	[END_NO_USER] = { "no_user", "no user registers: a kernel thread, or in execve()" },
	[END_UNKNOWN_PROCESS] = { "unknown_process", "a process whose mappings are not known" },
	[END_STALE] = { "stale", "the process's mappings had just changed" },
	[END_NOT_TAKEN] = { "not_taken", "user stacks were not asked for" },
	[END_LOST] = { "lost",
		       "there was no room for the stack's frames, in the ring buffer or in memory" },
};
_Static_assert(sizeof(reasons) / sizeof(reasons[0]) == NR_END_REASONS,
	       "a name for each end reason");

const char *end_reason_name(enum end_reason end)
{
	return (unsigned)end < NR_END_REASONS ? reasons[end].name : "invalid";
}

const char *end_reason_meaning(enum end_reason end)
{
	return (unsigned)end < NR_END_REASONS ? reasons[end].meaning : "";
}
