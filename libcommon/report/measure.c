// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/measure.h"

#include <inttypes.h>

#include "process/thread_state.h"
#include "report/counted.h"
#include "report/json.h"
#include "report/stack_summary.h"

uint64_t measure_count(const struct stack_value *value)
{
	return value->count;
}

uint64_t measure_sum(const struct stack_value *value)
{
	return value->sum < JSON_MAX_NUMBER ? value->sum : JSON_MAX_NUMBER;
}

uint64_t measure_in_text(const struct measure *measure, uint64_t value)
{
	return measure->is_time ? (value + 500) / 1000 : value;
}

const char *measure_unit(const struct measure *measure)
{
	if (measure->is_time)
		return "us";
	return measure->sum_unit ? measure->sum_unit : measure->counted;
}

struct counted measure_say(const struct measure *measure, uint64_t value)
{
	struct counted said;

	if (!measure->is_time)
		return counted(value, measure_unit(measure));
	snprintf(said.text, sizeof(said.text), "%" PRIu64 " us", measure_in_text(measure, value));
	return said;
}

double percent_of(uint64_t value, uint64_t sum)
{
	return sum ? 100.0 * value / sum : 0;
}

/* ---- off-CPU times ---- */

static uint64_t blocked_and_waiting(const struct stack_value *value)
{
	return value->blocked_ns + value->waiting_ns;
}

static uint64_t blocked(const struct stack_value *value)
{
	return value->blocked_ns;
}

static uint64_t waiting(const struct stack_value *value)
{
	return value->waiting_ns;
}

static void say(FILE *out, const struct stack_summary *s)
{
	fprintf(out, "off the CPU %s in %.1f s, blocked for %.3f s and waiting to run for %.3f s",
		counted(s->sum.count, "times").text, s->seconds, s->sum.blocked_ns / 1e9,
		s->sum.waiting_ns / 1e9);
}

static void stack_json(struct json_object *stack, const struct stack_entry *entry)
{
	char state[] = { thread_state_letter(STACK_STATE(entry->key.flags)), 0 };

	json_object_object_add(stack, "blocked_ns", json_number(entry->value.blocked_ns));
	json_object_object_add(stack, "waiting_ns", json_number(entry->value.waiting_ns));
	json_object_object_add(stack, "state", json_object_new_string(state));
	if (entry->key.flags & STACK_OPEN)
		json_object_object_add(stack, "open", json_object_new_boolean(true));
	if (entry->idle)
		json_object_object_add(stack, "idle", json_object_new_boolean(true));
}

static void summary_json(struct json_object *object, const struct stack_summary *s)
{
	json_object_object_add(object, "blocked_ns", json_number(s->sum.blocked_ns));
	json_object_object_add(object, "waiting_ns", json_number(s->sum.waiting_ns));
}

#define OFF_CPU_MEASURE(of, waits)                                                      \
	{                                                                               \
		.value = of, .of_waits = waits, .is_time = true, .value_ns = 1,         \
		.counted = "samples",                                                   \
		.unfollowed = "threads not measured: too many at a time, or no memory", \
		.say = say, .stack_json = stack_json, .summary_json = summary_json,     \
	}

const struct measure off_cpu_measures[NR_OFF_CPU_PARTS] = {
	[OFF_CPU_ALL] = OFF_CPU_MEASURE(blocked_and_waiting, true),
	[OFF_CPU_BLOCKED] = OFF_CPU_MEASURE(blocked, true),
	[OFF_CPU_WAITING] = OFF_CPU_MEASURE(waiting, false),
};
