// SPDX-License-Identifier: GPL-2.0-or-later
#include "map_losses.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "histograms_abi.h"
#include "bpf/load.h"
#include "map_calls.h"
#include "bpf/tasks.h"
#include "run/cli.h"
#include "process/clock.h"
#include "report/histogram.h"
#include "stacks_abi.h"

#define NR_SHOWN	10	/* of the calls in flight */

void map_losses_list(struct map_losses *l, struct bpf_object *object)
{
	const struct bpf_program *list = bpf_object__find_program_by_name(object, "list_calls");
	size_t bytes;
	void *records;

	if (!list || bpf_tasks_read(list, 0, &records, &bytes))
		return;
	l->calls = records;
	l->nr_calls = bytes / sizeof(*l->calls);
	for (size_t i = 0; i < l->nr_calls; i++)
		memcpy(l->calls[i].key.comm, l->calls[i].call.comm, sizeof(l->calls[i].key.comm));
	l->listed_ns = clock_ns();
}

static int read_counts(struct bpf_object *object, struct call_counts *sum)
{
	int nr = libbpf_num_possible_cpus(), fd = bpf_object__find_map_fd_by_name(object, "call_counts");
	struct call_counts *cpus = nr > 0 ? calloc(nr, sizeof(*cpus)) : NULL;
	__u32 zero = 0;

	if (!cpus)
		return nr < 0 ? nr : -ENOMEM;
	if (bpf_map_lookup_elem(fd, &zero, cpus)) {
		free(cpus);
		return -errno;
	}
	memset(sum, 0, sizeof(*sum));
	for (int i = 0; i < nr; i++)
		for (size_t j = 0; j < sizeof(*sum) / sizeof(__u64); j++)
			((__u64 *)sum)[j] += ((__u64 *)&cpus[i])[j];
	free(cpus);
	return 0;
}

void map_losses_warn(struct map_losses *l, struct bpf_object *object)
{
	struct call_counts counts;

	if (l->warned || read_counts(object, &counts) || !counts.no_series)
		return;
	l->warned = true;
	cli_warn("%d histograms are as many as there may be in a run: calls that would need more are lost", MAX_SERIES);
}

/*
 * Calls of which neither beginning nor return was seen, at most: all programs that would have told must have been
 * skipped for preemption, which newer kernels count.
 */
static uint64_t not_seen(struct bpf_object *object)
{
	static const char *const programs[] = { "call_begins", "call_returns", "call_begins_raw", "call_returns_raw" };
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		const struct bpf_program *program = bpf_object__find_program_by_name(object, programs[i]);
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);

		if (!program || bpf_program__fd(program) < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) && info.recursion_misses < least)
			least = info.recursion_misses;
	}
	return least == UINT64_MAX ? 0 : least;
}

/* what of the stacks was lost, summed over the CPUs */
static int read_stack_losses(struct stack_store *store, struct stack_stats *sum)
{
	struct stack_stats *cpus;
	size_t nr;
	int error = stack_store_stats(store, &cpus, &nr);

	if (error)
		return error;
	*sum = (struct stack_stats){};
	for (size_t i = 0; i < nr; i++) {
		sum->no_room += cpus[i].no_room;
		sum->stacks_lost += cpus[i].stacks_lost;
		sum->forks_lost += cpus[i].forks_lost;
	}
	free(cpus);
	return 0;
}

static bool uses_raw(struct bpf_object *object)
{
	return bpf_program__autoload(bpf_object__find_program_by_name(object, "call_begins_raw"));
}

int map_losses_read(struct map_losses *l, struct bpf_object *object, struct stack_store *store, uint64_t calls)
{
	const struct call_counts *c = &l->counts;
	int error = read_counts(object, &l->counts);

	if (!error)
		error = read_stack_losses(store, &l->stacks);
	if (error)
		return error;
	l->in_flight = c->entered - calls - c->no_series - c->died - c->returns_unseen;
	l->not_seen = not_seen(object);
	l->uncounted = c->preempted && !uses_raw(object) && bpf_load_kernel_is_older_than(6, 7);
	return 0;
}

static void say_in_flight(const struct map_losses *l)
{
	cli_warn("%" PRIu64 " calls had not returned at the end, and are in no histogram", l->in_flight);
	for (size_t i = 0; i < l->nr_calls && i < NR_SHOWN; i++)
		cli_warn("since %s: %s, thread %u", histogram_time(l->listed_ns - l->calls[i].call.start_ns).text,
			 map_calls_title(&l->calls[i].key), l->calls[i].call.tid);
}

void map_losses_say(const struct map_losses *l)
{
	const struct call_counts *c = &l->counts;
	const struct {
		uint64_t count;
		const char *what;
	} counts[] = {
		{ c->unseen - c->no_memory, "calls had begun before the start, or unseen, and are in no histogram" },
		{ c->returns_unseen, "calls lost: their return was not seen" },
		{ l->not_seen, "calls at most not seen: other threads had been preempted inside map operations on their CPU" },
		{ l->uncounted ? c->preempted : 0, "calls were preempted inside the map operation: those that others made on their "
						   "CPU may not have been seen, and this kernel does not count them" },
		{ c->no_memory, "calls lost: no memory to remember them" },
		{ c->died, "threads died inside a call, which is in no histogram" },
		{ c->no_series, "calls lost: too many histograms" },
		{ c->slow_lost, "slow calls not printed: too many at a time" },
		{ l->stacks.no_room, "stacks of calls lost: no room in the maps" },
		{ l->stacks.stacks_lost, "stacks' frames found no room in the ring buffer at first" },
		{ l->stacks.forks_lost, "processes or threads not measured: too many at a time, or no memory" },
		{ c->stacks_untold, "times a call blocked in more stacks than are told apart" },
	};

	if (l->in_flight)
		say_in_flight(l);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (counts[i].count)
			cli_warn("%" PRIu64 " %s", counts[i].count, counts[i].what);
}

void map_losses_json(const struct map_losses *l, struct json_object *object)
{
	const struct call_counts *c = &l->counts;
	const struct {
		const char *name;
		uint64_t count;
	} counts[] = {
		{ "in_flight", l->in_flight }, { "begun_before", c->unseen - c->no_memory }, { "died", c->died },
		{ "lost", c->no_memory + c->no_series + c->returns_unseen }, { "lost_no_memory", c->no_memory },
		{ "lost_no_series", c->no_series }, { "lost_returns", c->returns_unseen }, { "preempted", c->preempted },
		{ "not_seen", l->not_seen }, { "slow_lost", c->slow_lost }, { "stacks_untold", c->stacks_untold },
		{ "stacks_no_room_ns", l->stacks.no_room }, { "stacks_lost", l->stacks.stacks_lost },
		{ "forks_lost", l->stacks.forks_lost },
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		json_object_object_add(object, counts[i].name, json_object_new_uint64(counts[i].count));
}

void map_losses_free(struct map_losses *l)
{
	free(l->calls);
}
