// SPDX-License-Identifier: GPL-2.0-or-later
#include "run/timed_calls.h"

#include <stdlib.h>

#include "base/clock.h"
#include "kernel/object.h"
#include "kernel/tasks.h"
#include "report/counted.h"
#include "report/histogram.h"
#include "run/cli.h"
#include "run/kernel.h"

#define NR_SHOWN 10 /* calls in flight that are printed */

/*
 * Ends measuring and lists the calls in flight, unless that is done already. If it fails, they are
 * still counted.
 */
static void stop(void *arg)
{
	struct timed_calls *c = arg;
	size_t bytes;

	*c->measuring = false;
	if (c->in_flight ||
	    bpf_tasks_read_named(c->stacks.object, "list_calls", &c->in_flight, &bytes))
		return;
	c->nr_in_flight = bytes / (sizeof(struct call_in_flight) + c->key_bytes);
	c->listed_ns = clock_ns();
}

void timed_calls_open(struct timed_calls *c, struct bpf_object *object,
		      const struct histogram_options *options, const struct stacks_wanted *stacks,
		      const struct histogram_tool *tool, size_t key_bytes, bool *measuring)
{
	*c = (struct timed_calls){ .tool = *tool, .measuring = measuring, .key_bytes = key_bytes };
	c->tool.counted = "calls";
	c->tool.off_cpu = true;
	c->tool.stop = stop;
	c->tool.arg = c;
	stack_session_open(&c->stacks, object, &options->run, stacks);
	kernel_check(slow_calls_open(&c->slow, &c->stacks, &c->tool, key_bytes,
				     options->run.outputs[0].json),
		     "set up the histograms");
	histogram_session_open(&c->histograms, &c->stacks, object, options, &c->tool);
}

void timed_calls_measure(struct timed_calls *c, const struct links *links)
{
	static const char *const programs[] = { "thread_switches", "thread_wakes", "thread_dies" };

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		kernel_check(links_attach_named(&c->scheduler, c->stacks.object, programs[i]),
			     "attach to the scheduler's tracepoints");
	*c->measuring = true;
	run_measure(&c->stacks.run);
	*c->measuring = false;
	c->missed = kernel_missed(links);
	c->missed.count += links_missed(&c->scheduler);
}

void timed_calls_finish(struct timed_calls *c)
{
	stack_session_drain(&c->stacks);
	cli_check(slow_calls_print(&c->slow), "read the results");
	histogram_session_finish(&c->histograms);
	stop(c);
	cli_check(object_sum_counts(c->stacks.object, "call_counts", &c->counts, sizeof(c->counts)),
		  "read the results");
}

static void say_in_flight(const struct timed_calls *c, uint64_t count)
{
	const char *record = c->in_flight;

	if (!count)
		return;
	cli_warn("%s had not returned at the end: not in any histogram",
		 counted(count, "calls").text);
	for (size_t i = 0; i < c->nr_in_flight && i < NR_SHOWN; i++) {
		const struct call_in_flight *call = (const void *)record;

		cli_warn("since %s: %s, thread %u",
			 histogram_time(c->listed_ns - call->start_ns).text,
			 c->tool.title(call + 1).text, call->tid);
		record += sizeof(*call) + c->key_bytes;
	}
}

void timed_calls_report(struct timed_calls *c, uint64_t lost_calls, const struct loss *own,
			size_t nr_own)
{
	const struct call_counts *n = &c->counts;
	const struct stack_stats stacks = stack_session_stats(&c->stacks);
	const struct loss shared[] = {
		/* say_in_flight() prints this one */
		{ "in_flight", n->entered - c->histograms.count - n->died - lost_calls },
		/* who had no memory is among them, unless the thread has died in the call */
		{ "begun_before", n->unseen > n->no_memory ? n->unseen - n->no_memory : 0,
		  "calls that began before the start, or whose entry was not seen: not in any histogram" },
		{ "died", n->died, "calls whose thread died: not in any histogram" },
		{ "lost_no_memory", n->no_memory, "calls lost: no memory to track them",
		  .lost = true },
		{ "ends_unseen", n->ends_unseen,
		  "times that the kernel did not report when a thread got the CPU back within a call: the time since its "
		  "wake-up, or since the call's beginning if that is unknown too, counts as on the CPU" },
		{ "slow_lost", n->slow_lost, "slow calls not printed: too many at a time" },
		{ "stacks_no_room", stacks.no_room, "stacks of calls lost: no room in the maps" },
		{ "stacks_lost", stacks.stacks_lost,
		  "failed attempts to send a stack's frames: the ring buffer was full" },
		{ "stacks_untold", n->stacks_dropped,
		  "times that a call was blocked in more different stacks than are kept" },
		{ "forks_lost", stacks.forks_lost,
		  "tasks not measured: too many at a time, or no memory" },
	};
	struct loss all[MAX_LOSSES];
	size_t nr = losses_join(all, shared, sizeof(shared) / sizeof(shared[0]), own, nr_own);

	histogram_session_report(&c->histograms, all, nr);
	say_in_flight(c, shared[0].count);
}

int timed_calls_close(struct timed_calls *c, struct links *links)
{
	links_detach(links);
	links_detach(&c->scheduler);
	free(c->in_flight);
	histogram_session_close(&c->histograms);
	slow_calls_close(&c->slow);
	return stack_session_close(&c->stacks);
}
