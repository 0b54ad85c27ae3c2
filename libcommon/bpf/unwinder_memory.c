// SPDX-License-Identifier: GPL-2.0-or-later
/* Frees the memory of processes that are gone, now and then. */
#include <malloc.h>
#include <stdlib.h>

#include "bpf/unwinder_parts.h"
#include "process/clock.h"

#define GIVE_BACK_NS 2000000000
#define PAUSES 100	/* times as long as giving back takes: it looks at all stacks */

/* Forgets the files that no process maps any more, of which there is neither a table nor a stack. */
static void forget_modules(struct unwinder *u)
{
	size_t nr = modules_count(u->modules) + 1;
	bool *used = calloc(nr, sizeof(*used));

	if (!used)
		return;
	publisher_note_modules(u->publisher, used);
	tables_note_modules(u->tables, used);
	stack_store_note_modules(u->store, used, nr);
	modules_forget(u->modules, used);
	tables_forget(u->tables);
	free(used);
}

#define MUCH_FREE (1 << 20)

/* After a burst of events, the kernel gets back what malloc() has no use for. */
static void trim_memory(void)
{
	struct mallinfo2 m = mallinfo2();

	if (m.fordblks > MUCH_FREE && m.fordblks > m.uordblks / 8)
		malloc_trim(0);
}

void unwinder_give_back(struct unwinder *u)
{
	uint64_t began = clock_ns(), pause;

	if (began < u->give_back_ns)
		return;
	forget_modules(u);
	trim_memory();
	pause = PAUSES * (clock_ns() - began);
	u->give_back_ns = began + (pause > GIVE_BACK_NS ? pause : GIVE_BACK_NS);
}
