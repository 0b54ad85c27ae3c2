// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf_off_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "bpf_tasks.h"

#define MAX_STACK_BYTES (256 << 10)

static int read_iterator(struct bpf_object *object, const char *name, char **bytes, size_t *size)
{
	const struct bpf_program *iterator = bpf_object__find_program_by_name(object, name);

	return iterator ? bpf_tasks_read(iterator, 0, bytes, size) : -ENOENT;
}

/* The registers' record with the stack behind it: as much as lies there, the mapping's end ends it. To be freed */
static struct raw_record *with_stack(const struct raw_record *registers)
{
	struct raw_record *raw = malloc(sizeof(*raw) + MAX_STACK_BYTES), *less;
	struct iovec local = { raw + 1, MAX_STACK_BYTES };
	struct iovec remote = { (void *)(uintptr_t)registers->stack_addr, MAX_STACK_BYTES };
	ssize_t done;

	if (!raw)
		return NULL;
	*raw = *registers;
	done = process_vm_readv(raw->key.tid, &local, 1, &remote, 1, 0);
	raw->stack_bytes = done < 0 ? 0 : done;
	less = realloc(raw, sizeof(*raw) + raw->stack_bytes);
	return less ? less : raw;
}

static int by_number(const void *left, const void *right)
{
	uint64_t l = *(const uint64_t *)left, r = *(const uint64_t *)right;

	return l == r ? 0 : l < r ? -1 : 1;
}

/* the stacks of those who have not run meanwhile */
static int take_stacks(struct bpf_object *object, struct stack_store *store, struct raw_record **raws, size_t nr)
{
	uint64_t *begun;
	size_t size;
	int error = read_iterator(object, "list_begun", (char **)&begun, &size);

	if (error)
		return error;
	qsort(begun, size / sizeof(*begun), sizeof(*begun), by_number);
	for (size_t i = 0; i < nr && !error; i++) {
		uint64_t token = raws[i]->value;

		if (bsearch(&token, begun, size / sizeof(*begun), sizeof(*begun), by_number))
			error = stack_store_take(store, raws[i], sizeof(*raws[i]) + raws[i]->stack_bytes);
	}
	free(begun);
	return error;
}

int off_cpu_begin(struct bpf_object *object, struct stack_store *store)
{
	struct raw_record **raws, *begun;
	size_t size, nr = 0;
	int error = read_iterator(object, "begin_stays", (char **)&begun, &size);

	if (error)
		return error;
	free(begun);
	error = read_iterator(object, "begin_stays", (char **)&begun, &size);
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
	int error = read_iterator(object, "end_stays", (char **)&open, &size);

	if (error)
		return error;
	for (size_t i = 0; i < size / sizeof(*open) && !error; i++)
		error = stack_store_take(store, &open[i], sizeof(open[i]));
	free(open);
	return error;
}
