// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/off_cpu.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/order.h"
#include "kernel/kernel_names.h"
#include "kernel/object.h"
#include "kernel/tasks.h"
#include "off_cpu_abi.h"
#include "records_abi.h"

/*
 * of all threads of a process, which may have chosen where their stacks seem to be; and what is
 * taken at a time
 */
#define MAX_PROCESS_BYTES (32 << 20)
#define BATCH_BYTES       (16 << 20)
#define MAX_NS            500000000 /* that this may take */

/* what some threads' stacks may add to a batch */
#define MAX_ADDED (FOREIGN_STACKS_BYTES + FOREIGN_STACKS * (sizeof(struct raw_record) + 8))

/* records with the stacks behind them, one after the other */
struct batch {
	char *bytes;
	size_t used;
};

static int by_process(const void *left, const void *right)
{
	const struct raw_record *l = left, *r = right;

	return order_of(l->key.pid, r->key.pid);
}

static size_t size_of(const struct raw_record *raw)
{
	return (sizeof(*raw) + raw->stack_bytes + 7) & ~7ULL;
}

/*
 * Adds the records of some threads of a process, with `most` bytes of their stacks at most. How
 * many bytes there were
 */
static size_t add_threads(struct batch *batch, struct foreign *foreign,
			  const struct raw_record *threads, size_t nr, size_t most)
{
	struct foreign_stack stacks[FOREIGN_STACKS] = {};
	const char *bytes = NULL;
	size_t sum = 0;

	for (size_t i = 0; i < nr; i++)
		stacks[i] = (struct foreign_stack){ .tid = threads[i].key.tid,
						    .address = threads[i].stack_addr };
	if (most)
		foreign_read_stacks(foreign, threads->key.pid, stacks, nr,
				    most < FOREIGN_STACKS_BYTES ? most : FOREIGN_STACKS_BYTES,
				    &bytes);
	for (size_t i = 0; i < nr; i++) {
		struct raw_record *raw = (struct raw_record *)(batch->bytes + batch->used);

		*raw = threads[i];
		raw->stack_bytes = stacks[i].bytes;
		if (stacks[i].bytes)
			memcpy(raw + 1, bytes + sum, stacks[i].bytes);
		batch->used += size_of(raw);
		sum += stacks[i].bytes;
	}
	return sum;
}

/*
 * Takes the stacks of the threads that have not run since their period was begun: others' may be
 * mixed up.
 */
static int take_batch(struct batch *batch, struct bpf_object *object, struct stack_store *store)
{
	const struct raw_record *raw;
	uint64_t *begun;
	size_t size;
	int error = bpf_tasks_read_named(object, "list_begun", (void **)&begun, &size);

	if (error)
		return error;
	qsort(begun, size / sizeof(*begun), sizeof(*begun), order_numbers);
	for (size_t at = 0; at < batch->used && !error; at += size_of(raw)) {
		raw = (const struct raw_record *)(batch->bytes + at);
		if (bsearch(&raw->token, begun, size / sizeof(*begun), sizeof(*begun),
			    order_numbers))
			error = stack_store_take(store, raw, sizeof(*raw) + raw->stack_bytes);
	}
	free(begun);
	batch->used = 0;
	return error;
}

int off_cpu_find_kernel(struct bpf_object *object)
{
	struct kernel_layout *layout = object_section(object, ".data.layout"), l = {};
	__u64 end = 0, ignored;
	const struct {
		const char *symbol;
		__u64 *begin, *end;
	} symbols[] = {
		{ "__start_orc_unwind", &l.orc_entries, &ignored },
		{ "__start_orc_unwind_ip", &l.orc_ips, &ignored },
		{ "__stop_orc_unwind_ip", &end, &ignored },
		{ "_stext", &l.text.begin, &ignored },
		{ "_etext", &l.text.end, &ignored },
		{ "__schedule", &l.starts[START_AT_SWITCH].begin, &l.starts[START_AT_SWITCH].end },
		{ "try_to_wake_up", &l.starts[START_AT_WAKING].begin,
		  &l.starts[START_AT_WAKING].end },
		/* arm64 has no other */
		{ "__irqentry_text_start", &l.interrupt_entries.begin, &ignored },
		{ "asm_common_interrupt", &l.interrupt_entries.begin, &ignored },
		{ "__irqentry_text_end", &l.interrupt_entries.end, &ignored },
		{ "schedule", &l.any_function, &ignored },
		{ "arch_rethook_trampoline", &l.rethook, &ignored },
		{ "return_to_handler", &l.graph_hook, &ignored },
	};
	int error = layout ? 0 : -EINVAL;

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]) && (!error || error == -ENOENT);
	     i++)
		error = kernel_names_find(object, symbols[i].symbol, symbols[i].begin,
					  symbols[i].end);
	if (error && error != -ENOENT)
		return error;
	if (!l.interrupt_entries.begin)
		l.interrupt_entries.end = 0;
	if (l.orc_entries && l.orc_ips && end > l.orc_ips && l.text.begin && l.text.end)
		l.nr_orc = (end - l.orc_ips) / sizeof(int32_t);
	*layout = l;
	return 0;
}

const struct kernel_start *off_cpu_starts(struct bpf_object *object)
{
	return object_section(object, ".data.starts");
}

#define CREATE_TRIES 5
#define CREATE_US    500

/*
 * Creates the threads' task storages. A CPU that has no memory at hand for one has some a little
 * later.
 */
static int create_storages(struct bpf_object *object)
{
	struct periods_begin *begin = object_section(object, ".data.begin");
	int tries = 0, error;
	void *nothing;
	size_t size;

	if (!begin)
		return -EINVAL;
	begin->only_create = true;
	do {
		if (tries)
			usleep(CREATE_US << tries);
		begin->not_created = 0;
		error = bpf_tasks_read_named(object, "begin_periods", &nothing, &size);
		if (!error)
			free(nothing);
	} while (!error && begin->not_created && ++tries < CREATE_TRIES);
	begin->only_create = false;
	return error;
}

int off_cpu_begin(struct bpf_object *object, bool command, struct off_cpu_begun *begun)
{
	size_t size = 0;
	int error = create_storages(object);

	*begun = (struct off_cpu_begun){};
	if (error || command) /* a command waits at our gate: its own periods come later */
		return error;
	error = bpf_tasks_read_named(object, "begin_periods", (void **)&begun->threads, &size);
	begun->nr = error ? 0 : size / sizeof(*begun->threads);
	return error;
}

int off_cpu_take_stacks(struct off_cpu_begun *begun, struct bpf_object *object,
			struct stack_store *store, struct foreign *foreign,
			struct unwinder *unwinder)
{
	uint64_t end = clock_ns() + MAX_NS;
	struct batch batch = { .bytes = begun->nr ? malloc(BATCH_BYTES) : NULL };
	size_t left = 0, some;
	int error = begun->nr && !batch.bytes ? -ENOMEM : 0;

	if (begun->nr)
		qsort(begun->threads, begun->nr, sizeof(*begun->threads), by_process);
	for (size_t i = 0; i < begun->nr && !error; i += some) {
		const struct raw_record *threads = &begun->threads[i];

		if (!i || by_process(threads, threads - 1))
			left = MAX_PROCESS_BYTES;
		for (some = 1; some < FOREIGN_STACKS && i + some < begun->nr &&
			       !by_process(threads, threads + some);)
			some++;
		left -= add_threads(&batch, foreign, threads, some, clock_ns() < end ? left : 0);
		if (i + some < begun->nr && BATCH_BYTES - batch.used >= MAX_ADDED)
			continue;
		error = take_batch(&batch, object, store);
		if (!error)
			error = unwinder_follow(unwinder, false);
	}
	free(batch.bytes);
	free(begun->threads);
	*begun = (struct off_cpu_begun){};
	return error;
}

static int take_open(struct bpf_object *object, const char *iterator, struct stack_store *store)
{
	struct value_record *open;
	size_t size;
	int error = bpf_tasks_read_named(object, iterator, (void **)&open, &size);

	if (error)
		return error;
	for (size_t i = 0; i < size / sizeof(*open) && !error; i++)
		error = stack_store_take(store, &open[i], sizeof(open[i]));
	free(open);
	return error;
}

int off_cpu_take_open(struct bpf_object *object, struct stack_store *store, uint64_t until_ns)
{
	int fd = bpf_object__find_map_fd_by_name(object, ".data.interval");
	__u32 zero = 0;

	if (fd < 0)
		return fd;
	if (bpf_map_update_elem(fd, &zero, &until_ns, BPF_ANY))
		return -errno;
	return take_open(object, "report_periods", store);
}

int off_cpu_end(struct bpf_object *object, struct stack_store *store)
{
	return take_open(object, "end_periods", store);
}
