// SPDX-License-Identifier: GPL-2.0-or-later
#include "map_latency.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "histograms_abi.h"
#include "map_calls.h"
#include "map_losses.h"
#include "process/clock.h"
#include "report/heatmap.h"
#include "report/series_report.h"
#include "stacks_abi.h"

#define NR_STACKS	5	/* shown of a series */
#define PLAIN_WIDTH	80	/* of what is no terminal */

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
	struct map_losses losses;
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
			.value = { .count = 1, .blocked_ns = call->blocked[i].ns },
			.kernel = stack_store_find(l->session->store, call->blocked[i].kernel_stack, false),
		};
	/* who called is told with the first one */
	entries[0].key.end = call->user_end;
	entries[0].user = stack_store_find(l->session->store, call->user_stack, true);
}

static void print_slow(struct map_latency *l, const struct slow_map_call *slow, const struct stack_entry *entries, uint32_t nr)
{
	const struct slow_call *call = &slow->call;
	struct frames_writer frames = writer(l);

	fprintf(frames.out, "%s %s: %s, blocked %s, waiting to run %s%s%s\n", time_of_day(call->ended_ns),
		map_calls_title(&slow->key), histogram_time(call->latency_ns).text, histogram_time(call->blocked_ns).text,
		histogram_time(call->waiting_ns).text, call->result < 0 ? ", " : "",
		call->result < 0 ? errno_name(-call->result).text : "");
	for (uint32_t i = 0; i < nr; i++)
		series_report_stack(&frames, &entries[i], call->latency_ns);
}

static void print_slow_json(struct map_latency *l, const struct slow_map_call *slow, const struct stack_entry *entries,
			    uint32_t nr)
{
	const struct slow_call *call = &slow->call;
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();
	struct frames_writer frames = writer(l);

	json_object_object_add(object, "type", json_object_new_string("call"));
	json_object_object_add(object, "time", json_object_new_string(time_of_day(call->ended_ns)));
	json_object_object_add(object, "key", map_calls_json(&slow->key));
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
	struct slow_map_call *slow = bytes;
	const struct slow_call *call = &slow->call;
	struct stack_entry entries[MAX_BLOCKED_STACKS] = {};
	struct map_latency *l = arg;
	uint32_t nr = call->nr_blocked;

	if (size < sizeof(*slow) || nr > MAX_BLOCKED_STACKS)
		return -EBADMSG;
	memcpy(slow->key.comm, call->comm, sizeof(slow->key.comm));
	slow_stacks(l, call, entries);
	if (!nr && entries[0].key.end != END_NOT_TAKEN) {	/* not blocked, but there is a user stack to show */
		entries[0].value = (struct stack_value){ .count = 1, .waiting_ns = call->latency_ns };
		nr = 1;
	}
	(l->options->json ? print_slow_json : print_slow)(l, slow, entries, nr);
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
		error = stack_store_hand_out(l->session->store, BPF_HISTOGRAMS_TURN_MASK, bpf_histograms_stack_flags(l->histograms),
					 &entries, &report.nr_entries);
	if (error)
		return error;
	report.entries = entries;
	if (l->over)
		return 0;
	map_losses_warn(&l->losses, l->session->object);
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

static int interval(void *arg)
{
	struct map_latency *l = arg;
	bool last = l->intervals + 1 == l->options->nr_intervals;
	int error;

	if (last) {
		*l->options->measuring = false;
		map_losses_list(&l->losses, l->session->object);
	}
	error = print_interval(l);
	l->over = last;
	return error ? error : last;
}

/* ---- the end ---- */

static void print_summary(struct map_latency *l)
{
	struct json_object *object;

	if (!l->options->json)
		return;
	object = json_object_new_object();
	json_object_object_add(object, "type", json_object_new_string("summary"));
	json_object_object_add(object, "tool", json_object_new_string(program_invocation_short_name));
	json_object_object_add(object, "seconds", json_object_new_double(l->session->seconds));
	json_object_object_add(object, "intervals", json_object_new_uint64(l->intervals));
	json_object_object_add(object, "calls", json_object_new_uint64(l->calls));
	json_object_object_add(object, "errors", json_object_new_uint64(l->errors));
	map_losses_json(&l->losses, object);
	json_print(l->session->out, object);
}

int map_latency_finish(struct map_latency *l)
{
	const char *output = l->session->options->output;
	int error;

	l->session->doing = "read what was gathered";
	error = unwinder_follow(l->session->unwinder, true);
	if (!error)
		error = look(l);
	if (!error)
		error = print_interval(l);
	if (!l->over)
		map_losses_list(&l->losses, l->session->object);
	if (!error)
		error = map_losses_read(&l->losses, l->session->object, l->session->store, l->calls);
	if (!error && l->options->heatmap)
		error = print_heatmaps(l);
	if (error)
		return error;
	print_summary(l);
	cli_finish(l->session->out, output ? output : "standard output");
	cli_warn("%" PRIu64 " calls in %.1f s, %" PRIu64 " of them failed", l->calls, l->session->seconds, l->errors);
	map_losses_say(&l->losses);
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
	map_losses_free(&l->losses);
	free(l);
}
