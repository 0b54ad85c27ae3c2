// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * unwind [SECONDS]: what a sample's user stack costs in the kernel, by its own statistics of BPF
 * programs (run_time_ns): our unwinder on a program without frame pointers, and bpf_get_stack() on
 * the same program with them, at several depths on one hot stack, and on 1,000 stacks in turn.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/load.h"
#include "kernel/unwinder.h"
#include "run/cli.h"
#include "unwind/foreign.h"
#include "unwind.skel.h"
#include "stacks_abi.h"

#define WARM_UP_US 200000

struct cost {
	double ns; /* a sample */
	double frames;
	double complete; /* share */
};

static pid_t start(const char *program, int depth, bool many)
{
	char number[16];
	pid_t pid = fork();

	snprintf(number, sizeof(number), "%d", depth);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* it would run for ever */
		execl(program, program, number, many ? "many" : NULL, NULL);
		_exit(127);
	}
	usleep(WARM_UP_US);
	return pid;
}

static void read_stats(struct bpf_program *program, double *ns, double *runs)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size);
	*ns = info.run_time_ns;
	*runs = info.run_cnt;
}

static struct cost measure(const char *workload, bool by_fp, int depth, bool many, double seconds)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 200000,
		.size = sizeof(attr),
		.disabled = 1,
	};
	pid_t pid = start(workload, depth, many);
	struct unwinder_options options = {
		.user_stacks = true, .pids = &pid, .nr_pids = 1, .max_depth = DEFAULT_DEPTH
	};
	struct unwind_bpf *bpf = unwind_bpf__open_and_load();
	struct modules *modules = modules_new();
	struct stack_store *store;
	struct unwinder *unwinder;
	struct foreign *foreign;
	struct bpf_program *program;
	double ns, runs, ns_before, runs_before, frames, complete;
	int event, error;

	if (!bpf || !modules || foreign_new(&foreign, 256 << 20) ||
	    stack_store_new(&store, bpf->obj))
		cli_die(1, "cannot load: run as root");
	modules_set_foreign(modules, foreign);
	error = unwinder_new(&unwinder, bpf->obj, modules, store, &options);
	if (!error)
		error = unwinder_start(unwinder);
	program = by_fp ? bpf->progs.by_frame_pointers : bpf->progs.by_eh_frame;
	event = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (error || event < 0 || !bpf_program__attach_perf_event(program, event))
		cli_die(1, "cannot measure: %s", strerror(error ? -error : errno));
	ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
	/* child processes make the tables */
	for (int us = 0; us < WARM_UP_US && !error; us += 1000) {
		error = unwinder_follow(unwinder, false);
		usleep(1000);
	}
	read_stats(program, &ns_before, &runs_before);
	frames = bpf->bss->frames;
	complete = bpf->bss->complete;
	usleep(seconds * 1e6);
	read_stats(program, &ns, &runs);
	frames = bpf->bss->frames - frames;
	complete = bpf->bss->complete - complete;
	runs -= runs_before;
	ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
	unwinder_free(unwinder);
	stack_store_free(store);
	modules_free(modules);
	foreign_free(foreign);
	unwind_bpf__destroy(bpf);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return (struct cost){ .ns = (ns - ns_before) / runs,
			      .frames = frames / runs,
			      .complete = complete / runs };
}

static void compare(const char *directory, int depth, bool many, double seconds, struct cost *ours,
		    struct cost *theirs)
{
	char without[4096], with[4096];

	snprintf(without, sizeof(without), "%s/depth", directory);
	snprintf(with, sizeof(with), "%s/depth-fp", directory);
	*ours = measure(without, false, depth, many, seconds);
	*theirs = measure(with, true, depth, many, seconds);
	printf("%5d functions deep, %5s  ours %8.0f ns for %6.1f frames, %5.1f %% complete;  frame pointers %8.0f ns for %6.1f frames\n",
	       depth, many ? "1,000 stacks" : "one stack  ", ours->ns, ours->frames,
	       ours->complete * 100, theirs->ns, theirs->frames);
	fflush(stdout);
}

/* the line through two points: cost of a further frame, and what is left for the sample */
static void slope(const char *what, struct cost shallow, struct cost deep)
{
	double frame = (deep.ns - shallow.ns) / (deep.frames - shallow.frames);

	printf("%s: %.0f ns + %.1f ns a frame\n", what, shallow.ns - shallow.frames * frame, frame);
}

int main(int argc, char **argv)
{
	static const int depths[] = { 1, 10, 30, 60, 120, 900 };
	enum { NR = sizeof(depths) / sizeof(depths[0]) };
	const char *directory = argc > 1 ? argv[1] : ".";
	double seconds = argc > 2 ? atof(argv[2]) : 1;
	struct cost ours[NR], theirs[NR];
	int stats;

	cli_init();
	bpf_load_init(NULL);
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0)
		cli_die(1, "cannot enable BPF statistics: %s", strerror(-stats));
	for (int i = 0; i < NR; i++)
		compare(directory, depths[i], false, seconds, &ours[i], &theirs[i]);
	slope("ours, one stack, 1 to 120", ours[0], ours[4]);
	slope("frame pointers, one stack, 1 to 120", theirs[0], theirs[4]);
	compare(directory, 1, true, seconds, &ours[0], &theirs[0]);
	compare(directory, 60, true, seconds, &ours[1], &theirs[1]);
	slope("ours, 1,000 stacks, 1 to 60", ours[0], ours[1]);
	slope("frame pointers, 1,000 stacks, 1 to 60", theirs[0], theirs[1]);
	return 0;
}
