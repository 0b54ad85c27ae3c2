// SPDX-License-Identifier: GPL-2.0-or-later
/* biohist: how long block I/O takes, and how large it is. */
#include "base/clock.h"
#include "biohist.skel.h"
#include "kernel/object.h"
#include "io_names.h"
#include "report/json.h"
#include "run/histogram_session.h"
#include "run/kernel.h"
#include "run/slow_calls.h"
#include "run/stack_session.h"
#include "slow_ios.h"

enum { OPTION_SIZE = 0x100, OPTION_STACKS, OPTION_SLOW };

struct options {
	struct histogram_options histograms;
	struct stacks_wanted stacks;
	bool with_stacks;
	bool by_size, by_part, by_disk, by_flags;
	const char *disk; /* NULL: all */
	bool is_partition;
	uint32_t dev;
};

static const char doc[] =
	"Measure how long block I/Os take, from their insertion into the disk's queue to their completion, or how "
	"large they are. INTERVAL is in seconds; the default is one interval until Ctrl-C or SIGTERM, or "
	"COMMAND's end."
	"\vExamples:\n"
	"  biohist -D 1 10                   # each disk, each second, ten times\n"
	"  biohist --slow 20ms -- make       # I/Os of a command that take longer\n";

static const struct argp_option option_list[] = {
	{ "disk", 'd', "DISK", 0, "only this disk or partition, as lsblk names it", OF_MEASURE },
	{ "size", OPTION_SIZE, NULL, 0, "sizes instead of times", OF_MEASURE },
	{ "queued", 'Q', NULL, 0, "separate time in the queue and on the device", OF_MEASURE },
	{ "per-disk", 'D', NULL, 0, "a histogram for each disk", OF_OUTPUT },
	{ "per-flags", 'F', NULL, 0, "a histogram for each operation and its flags", OF_OUTPUT },
	{ "stacks", OPTION_STACKS, NULL, 0, "print the stacks that start the most I/Os",
	  OF_OUTPUT },
	{ "slow", OPTION_SLOW, "TIME", 0, "print I/Os slower than TIME (20ms), with stacks",
	  OF_OUTPUT },
	{},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'd':
		if (o->disk)
			argp_failure(state, EXIT_USAGE, 0, "-d may be given only once");
		if (!io_names_find_disk(arg, &o->dev, &o->is_partition))
			argp_failure(state, EXIT_FAILURE, 0,
				     "no disk and no partition has this name: '%s'", arg);
		o->disk = arg;
		break;
	case OPTION_SIZE:
		o->by_size = true;
		break;
	case 'Q':
		o->by_part = true;
		break;
	case 'D':
		o->by_disk = true;
		break;
	case 'F':
		o->by_flags = true;
		break;
	case OPTION_STACKS:
		o->with_stacks = true;
		o->histograms.stacks = "--stacks";
		break;
	case OPTION_SLOW:
		o->histograms.slow_ns = slow_calls_parse_time(arg, state);
		break;
	case ARGP_KEY_END:
		if (o->by_size && o->by_part)
			argp_failure(state, EXIT_USAGE, 0, "-Q and --size exclude each other");
		if (o->by_size && o->histograms.unit_given)
			argp_failure(state, EXIT_USAGE, 0,
				     "-n, -u and -m are units of time: sizes are in KiB");
		/* without user stacks, no process is read */
		o->stacks.only_kernel = !o->with_stacks && !o->histograms.slow_ns;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void configure(struct biohist_bpf *bpf, struct options *o)
{
	if (o->by_size)
		o->histograms.unit = &histogram_kbytes;
	bpf->rodata->by_size = o->by_size;
	bpf->rodata->by_part = o->by_part;
	bpf->rodata->by_disk = o->by_disk;
	bpf->rodata->by_flags = o->by_flags;
	bpf->rodata->by_process = o->histograms.per_process;
	bpf->rodata->only_one_disk = o->disk;
	bpf->rodata->only_one_partition = o->disk && o->is_partition;
	bpf->rodata->wanted_dev = o->dev;
	bpf->rodata->with_stacks = o->with_stacks;
	bpf->rodata->with_idle = true; /* an interrupt's I/O may begin on an idle CPU */
	bpf->rodata->slow_ns = o->histograms.slow_ns;
	stack_session_configure(bpf->obj, &o->histograms.run, &o->stacks);
	histogram_session_configure(bpf->obj, &o->histograms);
}

#define NR_IO_LOSSES 10

/* besides the first one, which is there already */
static void read_losses(struct loss losses[NR_IO_LOSSES], const struct biohist_bpf *bpf,
			const struct stack_session *stacks)
{
	struct stack_stats s = stack_session_stats(stacks);
	struct io_counts c;

	cli_check(object_sum_counts(bpf->obj, "io_counts", &c, sizeof(c)), "read the results");
	losses[1] = (struct loss){ "in_flight", c.begun - c.done - c.merged - c.ends_unseen,
				   "I/Os not done at the end" };
	losses[2] =
		(struct loss){ "begun_before", c.begun_before, "I/Os had begun before the start" };
	losses[3] = (struct loss){ "lost_no_room", c.no_room, "I/Os lost: too many in flight",
				   .lost = true };
	losses[4] = (struct loss){ "ends_unseen", c.ends_unseen,
				   "I/Os lost: the kernel did not report their end", .lost = true };
	losses[5] = (struct loss){ "slow_lost", c.slow_lost,
				   "slow I/Os not printed: too many at a time" };
	losses[6] = (struct loss){
		"stacks_not_taken", bpf->bss->lost_preempting,
		"I/Os without stacks: their CPU was taking the stacks of another I/O"
	};
	losses[7] = (struct loss){ "stacks_no_room", s.no_room,
				   "I/Os without stacks: no room in the maps" };
	losses[8] = (struct loss){
		"stacks_lost", s.stacks_lost,
		"failed attempts to send a stack's frames: the ring buffer was full"
	};
	losses[9] = (struct loss){ "forks_lost", s.forks_lost,
				   "processes not followed: too many at a time" };
}

int main(int argc, char **argv)
{
	const struct argp argp = { option_list, parse, HISTOGRAM_ARGS_DOC, doc };
	const struct histogram_tool tool = {
		.counted = "ios",
		.named = "I/Os",
		.errors = true,
		.title = io_names_title,
		.json = io_names_json,
	};
	struct options o = { .histograms = HISTOGRAM_OPTIONS_DEFAULT,
			     .stacks = STACKS_WANTED_DEFAULT };
	struct histogram_session histograms;
	struct stack_session stacks;
	struct slow_ios slow;
	struct loss losses[NR_IO_LOSSES];
	struct biohist_bpf *bpf;
	struct links links = {};

	histogram_options_parse(&o.histograms, &argp, &o, argc, argv);

	bpf = kernel_opened(biohist_bpf__open());
	configure(bpf, &o);
	kernel_loaded(bpf->skeleton, biohist_bpf__load(bpf));
	stack_session_open(&stacks, bpf->obj, &o.histograms.run, &o.stacks);
	kernel_check(slow_ios_open(&slow, &stacks, o.histograms.run.outputs[0].json),
		     "set up the histograms");
	histogram_session_open(&histograms, &stacks, bpf->obj, &o.histograms, &tool);

	/* completions first: an I/O that is seen to begin is seen to end */
	kernel_attach(&links, "the block tracepoints", bpf->progs.request_completed,
		      bpf->progs.bio_completed, bpf->progs.request_merged,
		      bpf->progs.request_issued, bpf->progs.request_inserted,
		      bpf->progs.bio_queued);
	bpf->data->attached_ns = clock_ns();
	run_doing(&stacks.run, "Measuring block I/O");
	json_add_name(stacks.run.filters, "disk", o.disk);
	run_measure(&stacks.run);
	losses[0] = kernel_missed(&links);
	links_detach(&links);

	stack_session_drain(&stacks);
	cli_check(slow_ios_finish(&slow), "read the results");
	histogram_session_finish(&histograms);
	if (o.by_part) { /* each I/O is in two */
		histograms.count /= 2;
		histograms.errors /= 2;
	}
	read_losses(losses, bpf, &stacks);
	histogram_session_report(&histograms, losses, NR_IO_LOSSES);

	histogram_session_close(&histograms);
	slow_ios_close(&slow);
	return stack_session_close(&stacks);
}
