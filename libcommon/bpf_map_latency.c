// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf_map_latency.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "../bpf/histograms_abi.h"
#include "bpf_load.h"
#include "bpf_map_calls.h"
#include "bpf_tasks.h"
#include "clock.h"
#include "heatmap.h"
#include "series_report.h"

#define NR_STACKS	5	/* shown of a series */
#define PLAIN_WIDTH	80	/* of what is no terminal */
#define NR_IN_FLIGHT	10	/* shown at the end */

struct map_latency {
	const struct map_latency_options *options;
	struct stack_session *session;
	struct session_hook hook;
	struct bpf_histograms *histograms;
	struct ring_buffer *slow;
	struct kallsyms *kallsyms;
	struct heatmap *heatmaps[MAX_SERIES];
	struct report_options stacks;
	uint64_t intervals, calls, errors;
	struct call_in_flight *in_flight;	/* at the end */
	size_t nr_in_flight;
	uint64_t in_flight_at_ns;
	bool over;		/* all intervals are; what returns now had not when they ended */
};

/* ---- times of day ---- */

static const char *time_of_day(uint64_t monotonic_ns)
{
	static char text[32];
	struct timespec now;
	uint64_t ns;
	time_t seconds;
	char clock[16];

	clock_gettime(CLOCK_REALTIME, &now);
	ns = now.tv_sec * UINT64_C(1000000000) + now.tv_nsec - (clock_ns() - monotonic_ns);
	seconds = ns / 1000000000;
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime(&seconds));
	snprintf(text, sizeof(text), "%s.%06" PRIu64, clock, ns % 1000000000 / 1000);
	return text;
}

/* ---- stacks ---- */

static struct frames_writer writer(const struct map_latency *l)
{
	return (struct frames_writer){
		.options = &l->stacks, .modules = l->session->modules, .kallsyms = l->kallsyms, .out = l->session->out,
	};
}

/* ---- slow calls, as they return ---- */

static void slow_stacks(struct map_latency *l, const struct slow_call *call, struct stack_entry *entries)
{
	for (uint32_t i = 0; i < call->nr_blocked; i++)
		entries[i] = (struct stack_entry){
			.key = { .kernel_stack = call->blocked[i].kernel_stack, .end = END_NOT_TAKEN },
			.value = call->blocked[i].ns,
			.kernel = stack_store_find(l->session->store, call->blocked[i].kernel_stack, false),
		};
	/* who called is told with the first one */
	entries[0].key.end = call->user_end;
	entries[0].user = stack_store_find(l->session->store, call->user_stack, true);
}

static void print_slow(struct map_latency *l, const struct slow_call *call, const struct stack_entry *entries, uint32_t nr)
{
	struct frames_writer frames = writer(l);

	fprintf(frames.out, "%s %s: %s, blocked %s, waiting to run %s%s%s\n", time_of_day(call->ended_ns),
		map_calls_title(&call->key), histogram_time(call->latency_ns).text, histogram_time(call->blocked_ns).text,
		histogram_time(call->waiting_ns).text, call->result < 0 ? ", " : "",
		call->result < 0 ? strerrorname_np(-call->result) : "");
	for (uint32_t i = 0; i < nr; i++)
		series_report_stack(&frames, &entries[i], call->latency_ns);
}

static void print_slow_json(struct map_latency *l, const struct slow_call *call, const struct stack_entry *entries, uint32_t nr)
{
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();
	struct frames_writer frames = writer(l);

	json_object_object_add(object, "type", json_object_new_string("call"));
	json_object_object_add(object, "time", json_object_new_string(time_of_day(call->ended_ns)));
	json_object_object_add(object, "key", map_calls_json(&call->key));
	json_object_object_add(object, "tid", json_object_new_int64(call->tid));
	json_object_object_add(object, "result", json_object_new_int(call->result));
	json_object_object_add(object, "latency_ns", json_object_new_uint64(call->latency_ns));
	json_object_object_add(object, "blocked_ns", json_object_new_uint64(call->blocked_ns));
	json_object_object_add(object, "waiting_ns", json_object_new_uint64(call->waiting_ns));
	for (uint32_t i = 0; i < nr; i++)
		json_object_array_add(list, series_report_json_stack(&frames, &entries[i]));
	json_object_object_add(object, "stacks", list);
	json_print(frames.out, object);
}

static int take_slow(void *arg, void *bytes, size_t size)
{
	const struct slow_call *call = bytes;
	struct stack_entry entries[MAX_BLOCKED_STACKS] = {};
	struct map_latency *l = arg;
	uint32_t nr = call->nr_blocked;

	if (size < sizeof(*call) || nr > MAX_BLOCKED_STACKS)
		return -EBADMSG;
	slow_stacks(l, call, entries);
	if (!nr && entries[0].key.end != END_NOT_TAKEN) {	/* not blocked, but there is a user stack to show */
		entries[0].value = call->latency_ns;
		nr = 1;
	}
	(l->options->json ? print_slow_json : print_slow)(l, call, entries, nr);
	fflush(l->session->out);
	return 0;
}

static int look(void *arg)
{
	struct map_latency *l = arg;
	int taken = ring_buffer__consume(l->slow);

	return taken < 0 ? taken : 0;
}

/* ---- intervals ---- */

static void print_series(struct map_latency *l, const struct series_report *report, const struct series *series)
{
	struct json_object *object;

	if (!l->options->json) {
		series_report_text(report, series, map_calls_title(series->key));
		return;
	}
	object = json_object_new_object();
	json_object_object_add(object, "type", json_object_new_string("histogram"));
	json_object_object_add(object, "interval", json_object_new_uint64(l->intervals));
	if (l->options->timestamps)
		json_object_object_add(object, "time", json_object_new_string(time_of_day(clock_ns())));
	json_object_object_add(object, "key", map_calls_json(series->key));
	series_report_json(report, series, object);
	json_print(l->session->out, object);
}

static int add_to_heatmap(struct map_latency *l, const struct series *series)
{
	struct heatmap **map = &l->heatmaps[series->number];

	if (!*map) {
		int error;

		*map = calloc(1, sizeof(**map));
		if (!*map)
			return -ENOMEM;
		error = heatmap_init(*map, map_calls_title(series->key), l->options->unit, l->options->interval_ns / 1e9);
		if (error)
			return error;
	}
	return heatmap_add(*map, l->intervals, &series->histogram);
}

static int print_heatmaps(struct map_latency *l)
{
	FILE *out = l->session->out;
	bool terminal = isatty(fileno(out));
	struct winsize size = {};

	for (size_t i = 0; i < MAX_SERIES; i++)	/* all are as long as the run */
		if (l->heatmaps[i] && heatmap_add(l->heatmaps[i], l->intervals - 1, NULL))
			return -ENOMEM;
	if (out != stdout) {
		heatmap_svg(out, (const struct heatmap *const *)l->heatmaps, MAX_SERIES);
		return 0;
	}
	if (!terminal || ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		size.ws_col = PLAIN_WIDTH;
	for (size_t i = 0; i < MAX_SERIES; i++)
		if (l->heatmaps[i])
			heatmap_print(out, l->heatmaps[i], size.ws_col, terminal);
	return 0;
}

static int print_interval(struct map_latency *l)
{
	struct stack_entry *entries;
	struct series_report report = { .what = "calls", .frames = writer(l), .nr_stacks = NR_STACKS };
	struct series *series;
	size_t nr;
	int error = bpf_histograms_take(l->histograms, &series, &nr);

	if (!error)
		error = stack_store_take(l->session->store, BPF_HISTOGRAMS_TURN_MASK, bpf_histograms_stack_flags(l->histograms),
					 &entries, &report.nr_entries);
	if (error)
		return error;
	report.entries = entries;
	if (l->over)
		return 0;
	if (l->options->timestamps && !l->options->json && !l->options->heatmap)
		fprintf(l->session->out, "%.8s\n", time_of_day(clock_ns()));
	for (size_t i = 0; i < nr; i++) {
		if (l->options->heatmap)
			error = add_to_heatmap(l, &series[i]);
		else
			print_series(l, &report, &series[i]);
		if (error)
			return error;
		l->calls += series[i].histogram.count;
		l->errors += series[i].errors;
	}
	fflush(l->session->out);
	l->intervals++;
	return 0;
}

/* that it cannot be told is no reason to fail: they are counted too */
static void list_in_flight(struct map_latency *l)
{
	const struct bpf_program *list = bpf_object__find_program_by_name(l->session->object, "list_calls");
	size_t bytes;
	void *records;

	if (!list || bpf_tasks_read(list, 0, &records, &bytes))
		return;
	l->in_flight = records;
	l->nr_in_flight = bytes / sizeof(*l->in_flight);
	l->in_flight_at_ns = clock_ns();
}

static int interval(void *arg)
{
	struct map_latency *l = arg;
	bool last = l->intervals + 1 == l->options->nr_intervals;
	int error;

	if (last) {
		*l->options->measuring = false;
		list_in_flight(l);
	}
	error = print_interval(l);
	l->over = last;
	return error ? error : last;
}

/* ---- the end ---- */

static int read_counts(const struct map_latency *l, struct map_call_counts *sum)
{
	int nr = libbpf_num_possible_cpus(), fd = bpf_object__find_map_fd_by_name(l->session->object, "call_counts");
	struct map_call_counts *cpus = nr > 0 ? calloc(nr, sizeof(*cpus)) : NULL;
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

static void say_in_flight(const struct map_latency *l, uint64_t nr)
{
	const struct call_in_flight *calls = l->in_flight;

	cli_warn("%" PRIu64 " calls had not returned at the end, and are in no histogram", nr);
	for (size_t i = 0; i < l->nr_in_flight && i < NR_IN_FLIGHT; i++)
		cli_warn("since %s: %s, thread %u", histogram_time(l->in_flight_at_ns - calls[i].start_ns).text,
			 map_calls_title(&calls[i].key), calls[i].tid);
}

/*
 * Calls of which neither beginning nor return was seen, at most: all programs that would have told must have been
 * skipped for preemption, which newer kernels count.
 */
static uint64_t not_seen(const struct map_latency *l)
{
	static const char *const programs[] = { "call_begins", "call_returns", "call_begins_raw", "call_returns_raw" };
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		const struct bpf_program *program = bpf_object__find_program_by_name(l->session->object, programs[i]);
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
static int read_stack_losses(const struct map_latency *l, struct stack_stats *sum)
{
	struct stack_stats *cpus;
	size_t nr;
	int error = stack_store_stats(l->session->store, &cpus, &nr);

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

static bool uses_raw(const struct map_latency *l)
{
	return bpf_program__autoload(bpf_object__find_program_by_name(l->session->object, "call_begins_raw"));
}

static void say_losses(struct map_latency *l, const struct map_call_counts *c, const struct stack_stats *stacks, uint64_t in_flight)
{
	uint64_t calls_not_seen = not_seen(l);

	cli_warn("%" PRIu64 " calls in %.1f s, %" PRIu64 " of them failed", l->calls, l->session->seconds, l->errors);
	if (in_flight)
		say_in_flight(l, in_flight);
	if (c->unseen > c->no_memory)
		cli_warn("%" PRIu64 " calls had begun before the start, or unseen, and are in no histogram",
			 (uint64_t)(c->unseen - c->no_memory));
	if (c->returns_unseen)
		cli_warn("%" PRIu64 " calls lost: their return was not seen", (uint64_t)c->returns_unseen);
	if (calls_not_seen)
		cli_warn("up to %" PRIu64 " calls not seen: another thread had been preempted inside a map operation on their CPU", calls_not_seen);
	else if (c->preempted && !uses_raw(l) && bpf_load_kernel_is_older_than(6, 7))
		cli_warn("%" PRIu64 " calls were preempted inside the map operation: those that others made on their CPU may not have been seen, "
			 "and this kernel does not count them", (uint64_t)c->preempted);
	if (c->no_memory)
		cli_warn("%" PRIu64 " calls lost: no memory to remember them", (uint64_t)c->no_memory);
	if (c->died)
		cli_warn("%" PRIu64 " threads died inside a call, which is in no histogram", (uint64_t)c->died);
	if (c->no_series)
		cli_warn("%" PRIu64 " calls lost: too many histograms", (uint64_t)c->no_series);
	if (c->slow_lost)
		cli_warn("%" PRIu64 " slow calls not printed: too many at a time", (uint64_t)c->slow_lost);
	if (stacks->no_room)
		cli_warn("%s of all stacks' time lost: no room in the maps", histogram_time(stacks->no_room).text);
	if (stacks->stacks_lost)
		cli_warn("the frames of %" PRIu64 " stacks found no room in the ring buffer at first", (uint64_t)stacks->stacks_lost);
	if (stacks->forks_lost)
		cli_warn("%" PRIu64 " processes of the command not measured: too many at a time", (uint64_t)stacks->forks_lost);
	if (c->stacks_untold)
		cli_warn("%" PRIu64 " times a call blocked in more stacks than are told apart", (uint64_t)c->stacks_untold);
}

static void print_summary_json(struct map_latency *l, const struct map_call_counts *c, const struct stack_stats *stacks,
			       uint64_t in_flight)
{
	const struct {
		const char *name;
		uint64_t count;
	} counts[] = {
		{ "calls", l->calls }, { "errors", l->errors }, { "in_flight", in_flight },
		{ "begun_before", c->unseen - c->no_memory }, { "died", c->died }, { "lost", c->no_memory + c->no_series + c->returns_unseen },
		{ "lost_no_memory", c->no_memory }, { "lost_no_series", c->no_series }, { "lost_returns", c->returns_unseen },
		{ "preempted", c->preempted }, { "not_seen", not_seen(l) }, { "slow_lost", c->slow_lost },
		{ "stacks_untold", c->stacks_untold }, { "stacks_no_room_ns", stacks->no_room },
		{ "stacks_lost", stacks->stacks_lost }, { "forks_lost", stacks->forks_lost }, { "intervals", l->intervals },
	};
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "type", json_object_new_string("summary"));
	json_object_object_add(object, "tool", json_object_new_string(program_invocation_short_name));
	json_object_object_add(object, "seconds", json_object_new_double(l->session->seconds));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		json_object_object_add(object, counts[i].name, json_object_new_uint64(counts[i].count));
	json_print(l->session->out, object);
}

int map_latency_finish(struct map_latency *l)
{
	struct map_call_counts counts;
	struct stack_stats stacks;
	uint64_t in_flight;
	int error;

	l->session->doing = "read what was gathered";
	error = unwinder_follow(l->session->unwinder, true);
	if (!error)
		error = look(l);
	if (!error)
		error = print_interval(l);
	if (!l->over)
		list_in_flight(l);
	if (!error)
		error = read_counts(l, &counts);
	if (!error)
		error = read_stack_losses(l, &stacks);
	if (error)
		return error;
	in_flight = counts.entered - l->calls - counts.no_series - counts.died - counts.returns_unseen;
	if (l->options->heatmap && print_heatmaps(l))
		return -ENOMEM;
	if (l->options->json)
		print_summary_json(l, &counts, &stacks, in_flight);
	cli_finish(l->session->out, l->session->options->output ? l->session->options->output : "standard output");
	say_losses(l, &counts, &stacks, in_flight);
	return 0;
}

/* ---- the whole ---- */

int map_latency_new(struct map_latency **latency, struct stack_session *session, const struct map_latency_options *options)
{
	struct map_latency *l = calloc(1, sizeof(*l));
	int error;

	if (!l)
		return -ENOMEM;
	l->options = options;
	l->session = session;
	l->stacks = (struct report_options){ .delimiter = true, .switched = true };
	l->hook = (struct session_hook){ .look = look, .interval = interval, .interval_ns = options->interval_ns, .arg = l };
	if (kallsyms_read(&l->kallsyms))
		l->kallsyms = NULL;	/* not permitted: the frames stay without names */
	session->doing = "set up the histograms";
	error = bpf_histograms_new(&l->histograms, session->object, options->unit);
	if (!error) {
		l->slow = ring_buffer__new(bpf_object__find_map_fd_by_name(session->object, "slow_calls"), take_slow, l, NULL);
		error = l->slow ? 0 : -errno;
	}
	if (error) {
		map_latency_free(l);
		return error;
	}
	session->hook = &l->hook;
	*latency = l;
	return 0;
}

void map_latency_free(struct map_latency *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < MAX_SERIES; i++) {
		if (l->heatmaps[i])
			heatmap_free(l->heatmaps[i]);
		free(l->heatmaps[i]);
	}
	bpf_histograms_free(l->histograms);
	ring_buffer__free(l->slow);
	kallsyms_free(l->kallsyms);
	free(l->in_flight);
	free(l);
}
