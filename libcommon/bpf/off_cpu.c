// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf/off_cpu.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/object.h"
#include "bpf/tasks.h"
#include "off_cpu_abi.h"
#include "process/kallsyms.h"
#include "process/process_memory.h"
#include "records_abi.h"

#define MAX_STACK_BYTES (256 << 10)

/* A copy of the record, with the thread's stack up to the end of its mapping appended; the caller frees it */
static struct raw_record *with_stack(const struct raw_record *registers)
{
	struct raw_record *raw = malloc(sizeof(*raw) + MAX_STACK_BYTES), *less;
	ssize_t done;

	if (!raw)
		return NULL;
	*raw = *registers;
	done = process_memory_read(raw->key.tid, registers->stack_addr, raw + 1, MAX_STACK_BYTES);
	raw->stack_bytes = done < 0 ? 0 : done;
	less = realloc(raw, sizeof(*raw) + raw->stack_bytes);
	return less ? less : raw;
}

static int by_number(const void *left, const void *right)
{
	uint64_t l = *(const uint64_t *)left, r = *(const uint64_t *)right;

	return l == r ? 0 : l < r ? -1 : 1;
}

/* Takes the stacks of the threads that have not run since their period was begun: others' may be mixed up. */
static int take_stacks(struct bpf_object *object, struct stack_store *store, struct raw_record **raws,
		       size_t nr)
{
	uint64_t *begun;
	size_t size;
	int error = bpf_tasks_read_named(object, "list_begun", (void **)&begun, &size);

	if (error)
		return error;
	qsort(begun, size / sizeof(*begun), sizeof(*begun), by_number);
	for (size_t i = 0; i < nr && !error; i++) {
		uint64_t token = raws[i]->token;

		if (bsearch(&token, begun, size / sizeof(*begun), sizeof(*begun), by_number))
			error = stack_store_take(store, raws[i], sizeof(*raws[i]) + raws[i]->stack_bytes);
	}
	free(begun);
	return error;
}

int off_cpu_configure(struct bpf_object *object)
{
	static const char *const names[] = {
		"__start_orc_unwind_ip", "__stop_orc_unwind_ip", "__start_orc_unwind", "_stext", "_etext",
		"arch_rethook_trampoline", "return_to_handler", "__schedule", "try_to_wake_up", "schedule",
		"asm_common_interrupt", "__irqentry_text_end",
	};
	enum { IPS, IPS_END, ENTRIES, TEXT, TEXT_END, RETHOOK, GRAPH, SCHEDULE, WAKE, FUNCTION, INTERRUPTS, INTERRUPTS_END,
	       NR };
	struct kernel_range at[NR];
	const struct {
		const char *name;
		const uint64_t *value;
	} constants[] = {
		{ "orc_ips", &at[IPS].start },
		{ "orc_entries", &at[ENTRIES].start },
		{ "kernel_text", &at[TEXT].start },
		{ "kernel_text_end", &at[TEXT_END].start },
		{ "rethook", &at[RETHOOK].start },
		{ "graph_hook", &at[GRAPH].start },
		{ "function_begin", &at[FUNCTION].start },
	};
	struct kernel_function functions[NR_KERNEL_STARTS], interrupts;
	uint32_t nr_orc = 0;
	int error;

	if (kallsyms_ranges(names, at, NR))
		return 0;
	if (at[IPS].start && at[IPS_END].start > at[IPS].start && at[ENTRIES].start && at[TEXT].start &&
	    at[TEXT_END].start)
		nr_orc = (at[IPS_END].start - at[IPS].start) / sizeof(int32_t);
	functions[START_AT_SWITCH] = (struct kernel_function){ at[SCHEDULE].start, at[SCHEDULE].end };
	functions[START_AT_WAKING] = (struct kernel_function){ at[WAKE].start, at[WAKE].end };
	error = object_set(object, "start_functions", functions, sizeof(functions));
	interrupts = (struct kernel_function){ at[INTERRUPTS].start, at[INTERRUPTS_END].start };
	if (!error)
		error = object_set(object, "interrupt_entries", &interrupts, sizeof(interrupts));
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]) && !error; i++)
		error = object_set(object, constants[i].name, constants[i].value,
				   sizeof(*constants[i].value));
	return error ? error : object_set(object, "nr_orc", &nr_orc, sizeof(nr_orc));
}

const struct kernel_start *off_cpu_starts(struct bpf_object *object)
{
	struct bpf_map *map;
	size_t size;

	bpf_object__for_each_map(map, object)
		if (strstr(bpf_map__name(map), ".data.starts"))
			return bpf_map__initial_value(map, &size);
	return NULL;
}

int off_cpu_begin(struct bpf_object *object, struct stack_store *store, bool command)
{
	struct raw_record **raws, *begun;
	size_t size, nr = 0;
	int error = bpf_tasks_read_named(object, "begin_periods", (void **)&begun, &size);

	if (error)
		return error;
	free(begun);
	if (command)	/* it waits at our gate: its own periods come later */
		return 0;
	error = bpf_tasks_read_named(object, "begin_periods", (void **)&begun, &size);
	if (error)
		return error;
	raws = calloc(size / sizeof(*begun) + 1, sizeof(*raws));
	if (!raws)
		error = -ENOMEM;
	while (!error && nr < size / sizeof(*begun)) {
		raws[nr] = with_stack(&begun[nr]);
		if (raws[nr])
			nr++;
		else
			error = -ENOMEM;
	}
	if (!error)
		error = take_stacks(object, store, raws, nr);
	while (nr)
		free(raws[--nr]);
	free(raws);
	free(begun);
	return error;
}

int off_cpu_end(struct bpf_object *object, struct stack_store *store)
{
	struct value_record *open;
	size_t size;
	int error = bpf_tasks_read_named(object, "end_periods", (void **)&open, &size);

	if (error)
		return error;
	for (size_t i = 0; i < size / sizeof(*open) && !error; i++)
		error = stack_store_take(store, &open[i], sizeof(open[i]));
	free(open);
	return error;
}
