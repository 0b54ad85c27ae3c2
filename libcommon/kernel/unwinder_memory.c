// SPDX-License-Identifier: GPL-2.0-or-later
/* Frees the memory of processes that are gone, now and then. */
#include <malloc.h>
#include <stdlib.h>

#include "base/clock.h"
#include "kernel/unwinder_parts.h"

#define GIVE_BACK_NS 2000000000
#define PAUSES       100 /* times as long as giving back takes: it looks at all stacks */

struct used {
	const struct unwinder_options *options;
	bool *modules; /* by ID */
	size_t nr_modules;
};

static void use(void *arg, const uint64_t *frames, uint32_t nr)
{
	struct used *used = arg;

	for (uint32_t i = 0; i < nr; i++)
		if (!(frames[i] & FRAME_ADDRESS) && FRAME_MODULE(frames[i]) < used->nr_modules)
			used->modules[FRAME_MODULE(frames[i])] = true;
	if (used->options->use)
		used->options->use(used->options->names, frames, nr);
}

/*
 * Forgets the files that no process maps any more, of which there is neither a table nor a stack,
 * and what else no stack names.
 */
static void forget_unused(struct unwinder *u)
{
	struct used used = { .options = &u->options,
			     .nr_modules = modules_last_id(u->modules) + 1 };

	used.modules = calloc(used.nr_modules, sizeof(*used.modules));
	if (!used.modules)
		return;
	publisher_note_modules(u->publisher, used.modules);
	tables_note_modules(u->tables, used.modules);
	raw_samples_note_modules(&u->raw_samples, used.modules);
	stack_store_each_stack(u->store, use, &used);
	modules_forget(u->modules, used.modules);
	if (u->options.forget)
		u->options.forget(u->options.names);
	free(used.modules);
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
	forget_unused(u);
	trim_memory();
	pause = PAUSES * (clock_ns() - began);
	u->give_back_ns = began + (pause > GIVE_BACK_NS ? pause : GIVE_BACK_NS);
}
